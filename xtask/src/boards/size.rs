//! `cargo xtask size`: how much flash and memory the crates take on small processors.

use std::{fs, process::ExitCode};

use anyhow::{Context, Result};
use comfy_table::Table;
use object::{Object, ObjectSection, SectionKind};

use crate::{command::Step, figures, root, rustup, target};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Keep the sizes in docs/figures, for the pages that show them
    #[arg(long)]
    keep: bool,
}

/// Where it is measured.
const TARGETS: [&str; 3] = [
    "thumbv6m-none-eabi",
    "thumbv8m.main-none-eabihf",
    "riscv32imac-unknown-none-elf",
];

/// A program of `pool-spin/boards/size`, and what it has that the first one has not.
const PROGRAMS: [(&str, &str); 7] = [
    ("nothing", "a program that does nothing"),
    (
        "sleep",
        "sleep-core: search, sleep, post, wake; two workers",
    ),
    ("fixed", "the same with a policy that is fixed"),
    ("classic", "the same with the classic protocol"),
    ("hints", "the same with the protocol hints"),
    ("join", "pool-spin: run_worker, install, join; two workers"),
    ("all", "pool-spin: scope, spawn, broadcast, restart as well"),
];

/// Bytes of one program.
struct Size {
    flash: u64,
    memory: u64,
}

/// Builds the programs and prints what each has beyond the one that does nothing.
pub(crate) fn size(arguments: &Arguments) -> Result<ExitCode> {
    rustup::add_targets(&TARGETS)?;
    let mut sizes = Vec::new();
    let mut table = Table::new();
    table.set_header(["program", "target", "flash", "RAM"]);
    for (program, about) in &PROGRAMS[1..] {
        for target in TARGETS {
            let base = measure(target, PROGRAMS[0].0)?;
            let size = measure(target, program)?;
            let beyond = figures::Size {
                program: (*program).to_owned(),
                about: (*about).to_owned(),
                target: target.to_owned(),
                flash: size.flash - base.flash,
                memory: size.memory - base.memory,
            };
            table.add_row([
                beyond.about.clone(),
                beyond.target.clone(),
                beyond.flash.to_string(),
                beyond.memory.to_string(),
            ]);
            sizes.push(beyond);
        }
    }
    println!("{table}");
    println!("bytes beyond {}, without stacks", PROGRAMS[0].1);
    if arguments.keep {
        figures::keep_sizes(&sizes)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(target: &str, program: &str) -> Result<Size> {
    let directory = root().join("pool-spin/boards/size");
    let features = if target.starts_with("thumbv6m") {
        "critical-section"
    } else {
        ""
    };
    let build = || {
        Step::cargo(&["build", "--quiet", "--profile", "size", "--target", target])
            .args(["--bin", program])
            .args(super::features(&[features]))
            .directory(&directory)
    };
    let path = target::program(build, program)?;
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    let file = object::File::parse(&*bytes)?;
    let mut size = Size {
        flash: 0,
        memory: 0,
    };
    for section in file.sections() {
        match section.kind() {
            SectionKind::Text | SectionKind::ReadOnlyData => size.flash += section.size(),
            // Kept in flash, and copied to memory at the start.
            SectionKind::Data => {
                size.flash += section.size();
                size.memory += section.size();
            }
            SectionKind::UninitializedData => size.memory += section.size(),
            _ => {}
        }
    }
    Ok(size)
}
