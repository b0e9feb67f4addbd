//! `cargo xtask size`: how much flash and memory the crates take on small processors.

use std::{env, fs, path::Path, process::ExitCode};

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

/// A whole program, whose size is not compared with that of another one.
const EMBASSY: (&str, &str, &str) = (
    "rp2350-embassy",
    "rp2350-embassy: all of it, with embassy; compiled, not run",
    "thumbv8m.main-none-eabihf",
);

/// What four more calls with closures of their own add to a program of `benches/calls`.
const CALLS: [(&str, &str); 2] = [
    ("ours", "pool-std: a join, install, scope and spawn more"),
    ("rayon", "rayon-core: the same"),
];

/// What the crate of such a program has itself, besides that of the pool.
const OWN: [(&str, &str); 2] = [
    (
        "ours",
        "pool-std: a crate with one of each, without the pool's own",
    ),
    ("rayon", "rayon-core: the same"),
];

/// How many more of these calls one program of a pool has than the other one.
const MORE_CALLS: u64 = 199;

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
            sizes.push(beyond);
        }
    }
    let (program, about, target) = EMBASSY;
    let Size { flash, memory } = measure_embassy()?;
    sizes.push(figures::Size {
        program: program.to_owned(),
        about: about.to_owned(),
        target: target.to_owned(),
        flash,
        memory,
    });
    for (pool, about) in CALLS {
        sizes.push(measure_calls(pool, about)?);
    }
    for (pool, about) in OWN {
        sizes.push(measure_own(pool, about)?);
    }
    for size in &sizes {
        let [flash, memory] = [size.flash, size.memory].map(|bytes| bytes.to_string());
        table.add_row([&size.about, &size.target, &flash, &memory]);
    }
    println!("{table}");
    println!(
        "bytes beyond {}, without stacks; {} in all; of a call more on this machine, as far as \
         its closures make it",
        PROGRAMS[0].1, EMBASSY.0
    );
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
    size_of(&target::program(build, program)?)
}

fn measure_embassy() -> Result<Size> {
    let build = || {
        Step::cargo(&["build", "--quiet", "--release", "--locked"])
            .directory(&root().join("pool-spin/boards/rp2350-embassy"))
            .env("CARGO_TARGET_DIR", target::directory("embassy"))
    };
    size_of(&target::program(build, EMBASSY.0)?)
}

/// Measures what calls add to a program for this machine.
fn measure_calls(pool: &str, about: &str) -> Result<figures::Size> {
    let [few, many] = ["few", "many"].map(|calls| {
        let program = format!("{pool}_{calls}");
        let build = || {
            Step::cargo(&["build", "--quiet", "--release", "--bin", &program])
                .directory(&root().join("benches/calls"))
                .env("CARGO_TARGET_DIR", target::directory("benches"))
        };
        size_of(&target::program(build, &program)?)
    });
    let (few, many) = (few?, many?);
    Ok(figures::Size {
        program: format!("calls-{pool}"),
        about: about.to_owned(),
        target: this_machine(),
        flash: (many.flash - few.flash) / MORE_CALLS,
        // Padding, which is less in some programs.
        memory: many.memory.saturating_sub(few.memory) / MORE_CALLS,
    })
}

/// Measures what the crate of a program with one call of each kind has before it is linked.
fn measure_own(pool: &str, about: &str) -> Result<figures::Size> {
    let directory = target::directory("benches");
    let object = directory.join(format!("own-{pool}.o"));
    let emit = format!("--emit=obj={}", object.display());
    Step::cargo(&["rustc", "--quiet", "--release"])
        .args(["--bin", &format!("{pool}_few")])
        .args(["--", &emit, "-Ccodegen-units=1"])
        .directory(&root().join("benches/calls"))
        .env("CARGO_TARGET_DIR", &directory)
        .run()?;
    let Size { flash, memory } = size_of(&object)?;
    Ok(figures::Size {
        program: format!("own-{pool}"),
        about: about.to_owned(),
        target: this_machine(),
        flash,
        memory,
    })
}

fn this_machine() -> String {
    format!("{}-{}", env::consts::ARCH, env::consts::OS)
}

fn size_of(path: &Path) -> Result<Size> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
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
