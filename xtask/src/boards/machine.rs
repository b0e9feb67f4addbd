//! A board's program in QEMU.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{Board, features};
use crate::{
    command::{ProcessTree, Step, shown},
    debian, root,
    speaker::{Speaker, say},
    target,
};

/// How QEMU runs the cores, and what their clock counts.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Clock {
    /// A thread for each core.
    Multi,
    /// One thread for all cores, in turns.
    Single,
    /// One thread, and time passes by instructions: the same in every run.
    Icount,
}

impl Clock {
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Multi => &["-accel", "tcg,thread=multi"],
            Self::Single => &["-accel", "tcg,thread=single"],
            Self::Icount => &["-icount", "shift=3,sleep=off"],
        }
    }
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed(ExitStatus),
    /// It did not end within its time limit.
    Hung,
}

/// What a program did.
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    /// What it printed.
    pub(crate) lines: Vec<String>,
    /// From its start to its end.
    pub(crate) time: Duration,
    /// How long QEMU kept processors busy, if the system tells.
    pub(crate) processor_time: Option<Duration>,
}

impl Run {
    /// Returns the number behind this word in what the program printed.
    pub(crate) fn number(&self, word: &str) -> Option<u64> {
        let rest = self.lines.iter().find_map(|line| line.strip_prefix(word))?;
        rest.split_whitespace().next()?.parse().ok()
    }
}

/// A board's program, built.
pub(crate) struct Image {
    /// QEMU, with all options of the machine but the clock and the mode.
    runner: Vec<String>,
    path: PathBuf,
}

/// A program that passed says so to QEMU by this status: on x86 an exit device, whose status is
/// odd.
const PASSED: [i32; 2] = [0, 33];

impl Image {
    /// Builds a board's program for release, with these features and the board's own.
    pub(crate) fn build(board: &Board, with: &[&str]) -> Result<Self> {
        let directory = root().join("pool-spin/boards").join(board.directory);
        let build = || {
            Step::cargo(&["build", "--quiet", "--release", "--target", board.target])
                .args(features(&[board.features]))
                .args(features(with))
                .directory(&directory)
        };
        let path = target::program(build, board.directory)?;
        let runner = runner(board, &configuration(board))?;
        debian::need(&runner[0], board.package)?;
        Ok(Self { runner, path })
    }

    /// Runs the program. What it prints is shown if it is to be, or if it does not pass.
    pub(crate) fn run(&self, clock: Clock, mode: &str, limit: Duration, show: bool) -> Result<Run> {
        let mut command = self.command(clock, mode);
        let shown = shown(&command);
        if show {
            say!("$ {shown}");
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let tree = ProcessTree::spawn(command)
            .with_context(|| format!("`{shown}` could not be started"))?;
        // Semihosting prints here or there, depending on the request.
        let out = read_lines(tree.take_stdout(), show);
        let err = read_lines(tree.take_stderr(), show);
        let start = Instant::now();
        let status = tree.wait_until(start + limit)?;
        let processor_time = tree.usage().map(|usage| usage.own);
        let time = start.elapsed();
        let outcome = match status {
            None => {
                tree.kill()?;
                Outcome::Hung
            }
            Some(status) if self.has_passed(status) => Outcome::Passed,
            Some(status) => Outcome::Failed(status),
        };
        let lines = [out, err].map(|lines| lines.join().expect("a reader does not panic"));
        let lines = lines.concat();
        Ok(Run {
            outcome,
            lines,
            time,
            processor_time,
        })
    }

    fn has_passed(&self, status: ExitStatus) -> bool {
        // On x86, 0 is how a machine ends that resets itself after a fault.
        let passed = PASSED[usize::from(self.is_x86())];
        status.code() == Some(passed)
    }

    fn is_x86(&self) -> bool {
        self.runner[0].ends_with("x86_64")
    }

    fn command(&self, clock: Clock, mode: &str) -> Command {
        let mut command = Command::new(&self.runner[0]);
        command.args(&self.runner[1..]).args(clock.options());
        // The kernel's command line on x86; elsewhere semihosting hands it over, behind the
        // kernel's name.
        command.args(["-append", mode, "-kernel"]).arg(&self.path);
        command
    }
}

/// Collects what is printed, and shows it at once if it is to be shown.
fn read_lines(output: impl Read + Send + 'static, show: bool) -> JoinHandle<Vec<String>> {
    let speaker = Speaker::here();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let shown = lines.inspect(|line| {
            if show {
                speaker.say(line);
            }
        });
        shown.collect()
    })
}

/// Returns the file that tells cargo how to run a board's program.
fn configuration(board: &Board) -> PathBuf {
    root()
        .join("pool-spin/boards")
        .join(board.directory)
        .join(".cargo/config.toml")
}

/// Returns the command by which cargo would run the program, without the kernel at its end.
fn runner(board: &Board, configuration: &PathBuf) -> Result<Vec<String>> {
    let read = || -> Option<Vec<String>> {
        let text = fs::read_to_string(configuration).ok()?;
        let table: toml::Table = text.parse().ok()?;
        // For cargo, a dot in a target's name begins a table within the table.
        let mut target = table.get("target")?;
        for part in board.target.split('.') {
            target = target.get(part)?;
        }
        let words = target.get("runner")?.as_str()?.split_whitespace();
        Some(words.map(str::to_owned).collect())
    };
    let mut runner = read().with_context(|| {
        format!(
            "{} has no runner for {}",
            configuration.display(),
            board.target
        )
    })?;
    anyhow::ensure!(
        runner.len() > 1 && runner.pop().as_deref() == Some("-kernel"),
        "the runner must end with -kernel"
    );
    Ok(runner)
}

#[cfg(test)]
mod tests {
    use super::{super::BOARDS, *};

    // A machine's default network card wants a boot ROM from a package that QEMU for another
    // architecture may not bring.
    #[test]
    fn no_board_has_a_network_card() {
        for board in BOARDS {
            let runner = runner(board, &configuration(board)).unwrap();
            assert!(
                runner.windows(2).any(|pair| pair == ["-nic", "none"]),
                "{}: `{}` has no `-nic none`",
                board.name,
                runner.join(" ")
            );
        }
    }
}
