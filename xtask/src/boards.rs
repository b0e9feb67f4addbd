//! `cargo xtask board`: runs the program of one board in QEMU; and the lanes that run all of them.

mod lanes;
mod machine;
mod size;

use std::{process::ExitCode, time::Duration};

use anyhow::{Result, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::{command::Step, root, rustup};
pub(crate) use lanes::{aarch64, cortex_m, riscv, x86_64};
use machine::{Clock, Image, Outcome};
pub(crate) use size::{Arguments as SizeArguments, size};

/// A board, in one of its variants.
#[derive(Clone, Copy)]
pub(crate) struct Board {
    pub(crate) name: &'static str,
    /// Below `pool-spin/boards`; also the program's name.
    directory: &'static str,
    target: &'static str,
    features: &'static str,
    /// The Debian package with its QEMU.
    package: &'static str,
    /// Whether its cores sleep in QEMU, too, because interrupts wake them: not with `Spin`, and not
    /// with `Wfe`.
    halts: bool,
    /// The number of cores that work.
    cores: usize,
    /// Whether it runs the program that boards share, which has modes.
    has_modes: bool,
}

/// The feature that loses interrupts from core to core.
const DROP_IPI: &str = "drop-ipi";
/// The feature whose pool has no idle rounds.
const NO_ROUNDS: &str = "no-rounds";

const AARCH64: Board = Board {
    name: "aarch64-virt",
    directory: "aarch64-virt",
    target: "aarch64-unknown-none",
    features: "",
    package: "qemu-system-arm",
    halts: true,
    cores: 4,
    has_modes: true,
};

const RISCV64: Board = Board {
    name: "riscv64-virt",
    directory: "riscv-virt",
    target: "riscv64gc-unknown-none-elf",
    // Also the name of what is in `qemu-system-misc` before Debian 13.
    package: "qemu-system-riscv64",
    ..AARCH64
};

const BOARDS: &[Board] = &[
    AARCH64,
    Board {
        name: "aarch64-virt-wfe",
        features: "wfe",
        // QEMU takes WFE for a hint and goes on.
        halts: false,
        ..AARCH64
    },
    Board {
        name: "aarch64-virt-classic",
        features: "classic",
        ..AARCH64
    },
    Board {
        name: "aarch64-kernel",
        directory: "aarch64-kernel",
        has_modes: false,
        ..AARCH64
    },
    RISCV64,
    Board {
        name: "riscv64-virt-trace",
        features: "trace",
        ..RISCV64
    },
    Board {
        name: "riscv32-virt",
        target: "riscv32imac-unknown-none-elf",
        ..RISCV64
    },
    Board {
        name: "riscv64-sbi",
        directory: "riscv64-sbi",
        ..RISCV64
    },
    Board {
        name: "mps2-an521",
        directory: "mps2-an521",
        target: "thumbv8m.main-none-eabihf",
        cores: 2,
        ..AARCH64
    },
    Board {
        name: "mps2-an521-hints",
        directory: "mps2-an521",
        target: "thumbv8m.main-none-eabihf",
        features: "hints",
        cores: 2,
        ..AARCH64
    },
    Board {
        name: "microbit",
        directory: "microbit",
        target: "thumbv6m-none-eabi",
        cores: 1,
        ..AARCH64
    },
    Board {
        name: "x86_64-pvh",
        directory: "x86_64-pvh",
        target: "x86_64-unknown-none",
        package: "qemu-system-x86",
        ..AARCH64
    },
];

/// Returns the steps that check the formatting, and run clippy for each board's target.
pub(crate) fn lints() -> Result<Vec<Step>> {
    let targets: Vec<_> = BOARDS.iter().map(|board| board.target).collect();
    rustup::add_targets(&targets)?;
    let boards = root().join("pool-spin/boards");
    let mut steps = vec![Step::cargo(&["fmt", "--all", "--check"]).directory(&boards)];
    for board in BOARDS {
        let clippy = Step::cargo(&["clippy", "--release", "--target", board.target])
            .args(features(&[board.features]))
            .args(["--", "-D", "warnings"])
            .directory(&boards.join(board.directory));
        steps.push(clippy);
    }
    let size = Step::cargo(&["clippy", "--release", "--target", AARCH64.target]);
    steps.push(
        size.args(["--", "-D", "warnings"])
            .directory(&boards.join("size")),
    );
    Ok(steps)
}

/// Returns the options that choose these features, of which some may be empty.
fn features(names: &[&str]) -> Vec<String> {
    let names = names.iter().filter(|name| !name.is_empty());
    names.map(|name| format!("--features={name}")).collect()
}

/// The first argument of `cargo xtask board`.
#[derive(Clone, Copy)]
enum Choice {
    List,
    Run(&'static Board),
}

/// Parses `list` or the name of a board.
fn choice_parser() -> impl TypedValueParser<Value = Choice> {
    let boards = BOARDS
        .iter()
        .map(|board| PossibleValue::new(board.name).help(board.description()));
    let list = PossibleValue::new("list").help("print the names of all boards");
    PossibleValuesParser::new(std::iter::once(list).chain(boards)).map(|name| {
        let named = BOARDS.iter().find(|board| board.name == name);
        named.map_or(Choice::List, Choice::Run)
    })
}

impl Board {
    /// Whether a core sleeps on if an interrupt from another core is lost.
    const fn needs_interrupts(&self) -> bool {
        self.halts && self.cores > 1
    }

    fn description(&self) -> String {
        let cores = if self.cores == 1 { "core" } else { "cores" };
        format!("{} {cores}, {}", self.cores, self.target)
    }
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which board; `list` for all names
    #[arg(value_name = "BOARD", value_parser = choice_parser())]
    choice: Choice,

    /// What its program does: test, idle (three seconds asleep), cyclesN (all cores sleep and wake
    /// N times, such as cycles1000), or treeN (a fork-join tree on N cores, such as tree4)
    #[arg(long, default_value = "test", value_parser = parse_mode)]
    mode: String,

    /// How QEMU runs the cores: on a thread each, on one thread, or on one with a clock that
    /// counts instructions
    #[arg(long, value_enum, default_value_t = Clock::Multi)]
    clock: Clock,

    /// How often to run it, until one run fails
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,

    /// Lose one of a thousand interrupts from core to core: the program must not end within the
    /// time limit, which should be several times as long as it takes otherwise
    #[arg(long)]
    drop_ipi: bool,

    /// Let idle cores sleep at once, without searching for some rounds before
    #[arg(long)]
    no_rounds: bool,

    /// Seconds until a program counts as one that hangs
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time_limit: u64,
}

/// Checks that the program has a mode, whose number, if it takes one, is at least 1.
fn parse_mode(mode: &str) -> Result<String, &'static str> {
    let number = ["cycles", "tree"]
        .iter()
        .find_map(|word| mode.strip_prefix(word))
        .and_then(|number| number.parse::<u32>().ok());
    if ["test", "idle"].contains(&mode) || number.is_some_and(|number| number > 0) {
        return Ok(mode.to_owned());
    }
    Err("the modes are test, idle, cyclesN and treeN, where N is a number from 1")
}

/// Runs one board's program.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Choice::Run(board) = arguments.choice else {
        for board in BOARDS {
            println!("{:21} {}", board.name, board.description());
        }
        return Ok(ExitCode::SUCCESS);
    };
    ensure!(
        board.has_modes
            || (arguments.mode == "test" && !arguments.drop_ipi && !arguments.no_rounds),
        "{} does one thing only: it knows neither modes nor --drop-ipi nor --no-rounds",
        board.name
    );
    rustup::add_targets(&[board.target])?;
    let with = [
        if arguments.drop_ipi { DROP_IPI } else { "" },
        if arguments.no_rounds { NO_ROUNDS } else { "" },
    ];
    let image = Image::build(board, &with)?;
    let limit = Duration::from_secs(arguments.time_limit);
    for _ in 0..arguments.repeat {
        let run = image.run(arguments.clock, &arguments.mode, limit, true)?;
        match run.outcome {
            Outcome::Passed if arguments.drop_ipi && !board.needs_interrupts() => {
                println!("no wake-up of this board depends on the interrupts that were lost");
            }
            Outcome::Passed if arguments.drop_ipi => {
                bail!("interrupts were lost, and the program did not notice")
            }
            Outcome::Passed => {}
            Outcome::Failed(status) => bail!("the program failed: {status}"),
            Outcome::Hung if arguments.drop_ipi => {
                let limit = limit.as_secs();
                println!("interrupts were lost, and the program hung for {limit} s, as it must");
            }
            Outcome::Hung => bail!("the program timed out after {} s", limit.as_secs()),
        }
        if let Some(time) = run.processor_time {
            println!("QEMU used {:.2} s of processor time", time.as_secs_f64());
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        _arguments: Arguments,
    }

    /// Reproduces a bug: a program that was run no times had passed.
    #[test]
    fn a_program_is_run_at_least_once() {
        let parse = |repeat: &str| {
            let words = ["board", "microbit", "--repeat", repeat];
            CommandLine::try_parse_from(words).map(drop)
        };
        assert!(parse("1").is_ok());
        let error = parse("0").unwrap_err().to_string();
        assert!(error.contains("'--repeat <REPEAT>'"), "{error}");
    }
}
