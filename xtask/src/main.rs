//! The commands of this workspace.

mod api;
mod bench;
mod beside;
mod boards;
mod book;
mod command;
mod comments;
mod crossbeam;
mod debian;
mod decisions;
mod demo;
mod dependencies;
mod figures;
mod lanes;
mod links;
mod litmus;
mod model;
mod mutants;
mod packages;
mod phrases;
mod published;
mod rayon;
mod reader;
mod rustup;
mod scenarios;
mod simulate;
mod speaker;
mod target;
mod test_all;
mod tools;
#[cfg(unix)]
mod top;
mod trace;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

/// The commands of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Hash and de-duplicate the files of a directory tree on all processors, and report.
    Demo(demo::Arguments),
    /// Run all tests for all targets, installing what they need.
    TestAll(test_all::Arguments),
    /// Compare what the libraries offer with the lists that are kept of it.
    Api(api::Arguments),
    /// Measure our crates against their peers, and show the ratios.
    Bench(bench::Arguments),
    /// Run the program of a board in QEMU.
    Board(boards::Arguments),
    /// Build the book as HTML, and print where it is.
    Book(book::Arguments),
    /// Print how much flash and memory the crates take on small processors.
    Size(boards::SizeArguments),
    /// Write the measured numbers on all pages anew, from the files that hold them.
    Figures,
    /// Run a published program that uses rayon, as published and on our pool, and compare.
    RayonRun(rayon::Arguments),
    /// Run the demo, or a published program that uses rayon, and draw what its workers did.
    Trace(trace::Arguments),
    /// Show what the workers of a running program do, in the terminal.
    #[cfg(unix)]
    Top(top::Arguments),
    /// Go through all executions of a small program of a few threads, under the memory model of
    /// Rust.
    Litmus(litmus::Arguments),
    /// Go through all executions of a small pool with a sleep protocol, and leave parts of it out.
    Model(model::Arguments),
    /// Leave out each fence and each ordering of the core crates, and run the test that must fail.
    Mutants(mutants::Arguments),
    /// Run the pool on up to 4,096 virtual workers, and report what waking and searching cost.
    Simulate(simulate::Arguments),
}

fn main() -> ExitCode {
    reader::end_with_the_reader();
    let result = match Arguments::parse().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::TestAll(arguments) => test_all::run(&arguments),
        Command::Api(arguments) => api::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Board(arguments) => boards::run(&arguments),
        Command::Book(arguments) => book::run(&arguments),
        Command::Size(arguments) => boards::size(&arguments),
        Command::Figures => figures::run(),
        Command::RayonRun(arguments) => rayon::run(&arguments),
        Command::Litmus(arguments) => litmus::run(&arguments),
        #[cfg(unix)]
        Command::Top(arguments) => top::run(&arguments),
        Command::Model(arguments) => model::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Returns the workspace's own directory.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is in the workspace")
        .to_owned()
}
