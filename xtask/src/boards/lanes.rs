//! The lanes that run the boards: each program, in both of QEMU's ways to run several cores.

use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::{
    BOARDS, Board, DROP_IPI, NO_ROUNDS,
    machine::{Clock, Image, Outcome},
};
use crate::{command::last_lines, rustup, speaker::say};

/// A program that passes takes a few seconds, and a minute where four cores that spin share a busy
/// processor. The limit only ends one that hangs, so it leaves a slow machine ten times as long.
const LIMIT: Duration = Duration::from_secs(600);
/// One that loses an interrupt from core to core is given as long as this to notice it, which it
/// cannot, and [`TIMES_AS_LONG`] as the same program took that lost none.
const LEAST_LIMIT_OF_LOSSY: Duration = Duration::from_secs(10);
const TIMES_AS_LONG: u32 = 4;
/// How often it is run, until one run hangs.
const RUNS_OF_LOSSY: u32 = 5;
/// How often each program is run in each way, to see flakes.
const REPEATS: u32 = 3;
/// Of three seconds asleep on all cores: QEMU itself needs some hundredths.
const MOST_WHEN_IDLE: Duration = Duration::from_millis(1500);

pub(crate) fn aarch64(quick: bool) -> Result<u64> {
    lane(
        &[
            "aarch64-virt",
            "aarch64-virt-wfe",
            "aarch64-virt-classic",
            "aarch64-kernel",
        ],
        quick,
    )
}

pub(crate) fn riscv(quick: bool) -> Result<u64> {
    lane(
        &[
            "riscv64-virt",
            "riscv64-virt-trace",
            "riscv32-virt",
            "riscv64-sbi",
        ],
        quick,
    )
}

pub(crate) fn cortex_m(quick: bool) -> Result<u64> {
    lane(&["mps2-an521", "mps2-an521-hints", "microbit"], quick)
}

pub(crate) fn x86_64(quick: bool) -> Result<u64> {
    lane(&["x86_64-pvh"], quick)
}

/// Runs some boards; each test of each run counts.
fn lane(names: &[&str], quick: bool) -> Result<u64> {
    let boards: Vec<_> = names.iter().map(|name| named(name)).collect();
    let targets: Vec<_> = boards.iter().map(|board| board.target).collect();
    rustup::add_targets(&targets)?;
    let mut tests = 0;
    for board in boards {
        let image = Image::build(board, &[])?;
        let (passed, longest) = all_tests(board, &image, quick)?;
        tests += passed;
        if !board.has_modes {
            continue;
        }
        if board.halts {
            idle(board, &image)?;
            tests += 1;
        }
        if board.halts && board.cores > 1 && !quick {
            // What hangs by itself would hang with lost interrupts too, and prove nothing.
            without_rounds(board)?;
            lossy(board, longest)?;
            tests += 2;
        }
    }
    Ok(tests)
}

fn named(name: &str) -> &'static Board {
    let mut boards = BOARDS.iter();
    let board = boards.find(|board| board.name == name);
    board.expect("there is")
}

/// Returns how many tests have passed, and the time of the longest run with a thread for each core.
fn all_tests(board: &Board, image: &Image, quick: bool) -> Result<(u64, Duration)> {
    let mut tests = 0;
    let mut longest = Duration::ZERO;
    for clock in [Clock::Multi, Clock::Single] {
        // Cores that do not sleep in QEMU take turns with those that have something to do.
        let repeats = if quick || !board.halts { 1 } else { REPEATS };
        for repeat in 0..repeats {
            // The others only where they differ.
            let show = repeat == 0;
            let run = image.run(clock, "test", LIMIT, show)?;
            if run.outcome != Outcome::Passed && !show {
                run.lines.iter().for_each(|line| say!("{line}"));
            }
            let passed = run.lines.iter().filter(|line| line.starts_with("test "));
            let passed = passed.filter(|line| line.contains(": ok")).count() as u64;
            match run.outcome {
                Outcome::Passed if board.has_modes => {
                    ensure!(passed > 0, "{}: no test was run", board.name);
                }
                // It checks its own result.
                Outcome::Passed => tests += 1,
                Outcome::Failed(status) => {
                    bail!("{}: failed, {status}{}", board.name, last_lines(&run.lines))
                }
                Outcome::Hung => bail!(
                    "{}: timed out after {} s{}",
                    board.name,
                    LIMIT.as_secs(),
                    last_lines(&run.lines)
                ),
            }
            tests += passed;
            if clock == Clock::Multi {
                longest = longest.max(run.time);
            }
        }
    }
    Ok((tests, longest))
}

/// Checks that all cores sleep, so that QEMU has nothing to do.
fn idle(board: &Board, image: &Image) -> Result<()> {
    let run = image.run(Clock::Multi, "idle", LIMIT, true)?;
    ensure!(
        run.outcome == Outcome::Passed,
        "{}: does not sleep{}",
        board.name,
        last_lines(&run.lines)
    );
    if let Some(time) = run.processor_time {
        say!(
            "{}: QEMU used {:.2} s of processor time for {} ms asleep",
            board.name,
            time.as_secs_f64(),
            run.number("idle:").unwrap_or_default()
        );
        ensure!(
            time < MOST_WHEN_IDLE,
            "{}: its cores do not sleep",
            board.name
        );
    } else {
        say!(
            "{}: the system does not tell QEMU's processor time",
            board.name
        );
    }
    Ok(())
}

/// Lets all cores sleep and wake, in a pool whose workers sleep after their first fruitless search.
fn without_rounds(board: &Board) -> Result<()> {
    let image = Image::build(board, &[NO_ROUNDS])?;
    let run = image.run(Clock::Multi, "cycles1000", LIMIT, true)?;
    ensure!(
        run.outcome == Outcome::Passed,
        "{}: a worker that sleeps at once was not woken{}",
        board.name,
        last_lines(&run.lines)
    );
    Ok(())
}

/// Checks that the program hangs if one of a thousand interrupts is lost: otherwise the tests would
/// not notice a core that sleeps on. `longest` is the time of a run that loses none.
///
/// A run passes if the cores were awake for which the lost ones were. So the workers sleep after
/// their first fruitless search, and there are several runs.
fn lossy(board: &Board, longest: Duration) -> Result<()> {
    let image = Image::build(board, &[DROP_IPI, NO_ROUNDS])?;
    for _ in 0..RUNS_OF_LOSSY {
        let run = image.run(Clock::Multi, "test", limit_of_lossy(longest), false)?;
        match run.outcome {
            Outcome::Hung => {
                say!("{}: hangs if interrupts are lost, as it must", board.name);
                return Ok(());
            }
            Outcome::Passed => {}
            Outcome::Failed(status) => bail!(
                "{}: fails if interrupts are lost, {status}{}",
                board.name,
                last_lines(&run.lines)
            ),
        }
    }
    bail!(
        "{}: interrupts were lost, and none of {RUNS_OF_LOSSY} runs hung",
        board.name
    )
}

/// Returns when a program that loses interrupts counts as one that hangs. On a slow machine, every
/// program would hang if that did not depend on the time of one that loses none.
fn limit_of_lossy(longest: Duration) -> Duration {
    LEAST_LIMIT_OF_LOSSY.max(longest * TIMES_AS_LONG).min(LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproduces a bug: where a program took more than ten seconds, it counted as one that hangs
    /// because interrupts were lost.
    #[test]
    fn a_slow_machine_is_no_lost_interrupt() {
        let seconds = Duration::from_secs;
        assert_eq!(limit_of_lossy(seconds(2)), seconds(10));
        assert_eq!(limit_of_lossy(seconds(60)), seconds(240));
        assert_eq!(limit_of_lossy(seconds(599)), LIMIT);
    }
}
