//! Running cargo and rustup: what they print is shown as it comes, tests are counted, and a
//! command that hangs is ended.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    num::NonZeroUsize,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use wait_timeout::ChildExt;

use crate::root;

/// No single command of a lane should take longer, also on a slow machine.
const TIME_LIMIT: Duration = Duration::from_secs(25 * 60);

/// When the output of a command is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    AsItComes,
    /// In one piece: other commands print as well.
    AtTheEnd,
}

/// A command in the workspace's directory.
pub(crate) struct Step {
    command: Command,
}

impl Step {
    pub(crate) fn new(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(root());
        // This process was started by cargo, whose variables would confuse another toolchain's.
        for variable in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC"] {
            command.env_remove(variable);
        }
        Self { command }
    }

    /// The toolchain that runs this program.
    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        Self::new("cargo", arguments)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.command.args(arguments);
        self
    }

    /// In another directory than the workspace's.
    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// The command as one would type it.
    fn shown(&self) -> String {
        let words = |command: &Command| {
            std::iter::once(command.get_program())
                .chain(command.get_args())
                .map(|word| word.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        let variables = self.command.get_envs().filter_map(|(name, value)| {
            Some(format!(
                "{}='{}'",
                name.to_string_lossy(),
                value?.to_string_lossy()
            ))
        });
        variables
            .chain(words(&self.command))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Runs the command to its end.
    ///
    /// # Errors
    /// If it cannot be started, fails, or hangs.
    pub(crate) fn run(self) -> Result<()> {
        self.run_counting(Show::AsItComes).map(drop)
    }

    /// As [`run`](Self::run), for a command that runs tests: returns how many passed.
    ///
    /// # Errors
    /// Also if there was no test at all.
    pub(crate) fn run_tests(self) -> Result<u64> {
        self.run_tests_showing(Show::AsItComes)
    }

    /// Runs the command with our input and output, and returns how it ended.
    pub(crate) fn status(mut self) -> Result<ExitStatus> {
        let shown = self.shown();
        self.command
            .status()
            .with_context(|| format!("`{shown}` could not be started"))
    }

    /// Whether the command succeeds; what it prints is not shown.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// What the command prints.
    pub(crate) fn read(mut self) -> Result<String> {
        let shown = self.shown();
        let output = self
            .command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("`{shown}` could not be started"))?;
        if !output.status.success() {
            bail!("`{shown}` failed: {}", output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What the command prints as errors, of which valgrind's results are some.
    pub(crate) fn read_errors(mut self) -> Result<String> {
        let shown = self.shown();
        let output = self
            .command
            .output()
            .with_context(|| format!("`{shown}` could not be started"))?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            bail!("`{shown}` failed: {}\n{errors}", output.status);
        }
        Ok(errors)
    }

    /// Runs commands that run tests, as many at a time as there are processors: for programs that
    /// use only one, as Miri does. What each prints is shown when it has ended.
    ///
    /// # Errors
    /// The first, when those that have begun have ended; no other command is begun then.
    pub(crate) fn run_tests_at_once(steps: Vec<Self>) -> Result<u64> {
        let places = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let passed = Mutex::new(Ok(0));
        let steps = Mutex::new(steps.into_iter());
        let runner = || {
            loop {
                let step = lock(&steps).next();
                let Some(step) = step.filter(|_| lock(&passed).is_ok()) else {
                    return;
                };
                let result = step.run_tests_showing(Show::AtTheEnd);
                let mut passed = lock(&passed);
                match (&mut *passed, result) {
                    (Ok(passed), Ok(tests)) => *passed += tests,
                    (Ok(_), Err(error)) => *passed = Err(error),
                    // The first error is returned.
                    (Err(_), _) => {}
                }
            }
        };
        thread::scope(|threads| {
            for _ in 0..places {
                threads.spawn(runner);
            }
        });
        passed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_tests_showing(self, show: Show) -> Result<u64> {
        let shown = self.shown();
        match self.run_counting(show)? {
            0 => bail!("`{shown}` ran no test"),
            tests => Ok(tests),
        }
    }

    fn run_counting(mut self, show: Show) -> Result<u64> {
        let shown = self.shown();
        println!("$ {shown}");
        let mut child = self
            .command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("`{shown}` could not be started"))?;
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let printer = thread::spawn(move || {
            let mut passed = 0;
            let mut lines = Vec::new();
            for line in output.lines().map_while(Result::ok) {
                passed += passed_tests(&line);
                if show == Show::AsItComes {
                    println!("{line}");
                } else {
                    lines.push(line);
                }
            }
            (passed, lines)
        });
        let Some(status) = child.wait_timeout(TIME_LIMIT)? else {
            child.kill()?;
            bail!("`{shown}` made no end in {TIME_LIMIT:?}");
        };
        let (passed, lines) = printer.join().expect("the printer does not panic");
        if show == Show::AtTheEnd {
            println!("$ {shown}: {status}\n{}", lines.join("\n"));
        }
        if !status.success() {
            bail!("`{shown}` failed: {status}");
        }
        Ok(passed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The passed tests in a line of a test program's summary.
fn passed_tests(line: &str) -> u64 {
    let number = || {
        let rest = line.trim_start().strip_prefix("test result: ok. ")?;
        rest.split(" passed").next()?.parse().ok()
    };
    number().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_counted() {
        let line = "test result: ok. 26 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(passed_tests(line), 26);
        assert_eq!(passed_tests("test result: FAILED. 3 passed; 1 failed"), 0);
        assert_eq!(passed_tests("test smoke ... ok"), 0);
    }

    #[test]
    fn a_failing_command_is_an_error() {
        assert!(Step::cargo(&["no-such-subcommand"]).run().is_err());
        assert!(Step::new("no-such-program", &[]).run().is_err());
    }

    #[test]
    #[cfg(unix)]
    fn commands_at_once_are_counted_and_fail_together() {
        let summary = |passed: u32| {
            let line = format!("test result: ok. {passed} passed; 0 failed");
            Step::new("echo", &[&line])
        };
        let steps = (1..=4).map(summary).collect();
        assert_eq!(Step::run_tests_at_once(steps).unwrap(), 10);

        let steps = vec![summary(1), Step::new("no-such-program", &[]), summary(2)];
        let error = Step::run_tests_at_once(steps).unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }

    #[test]
    fn a_run_without_tests_is_an_error() {
        let error = Step::cargo(&["--version"]).run_tests().unwrap_err();
        assert!(error.to_string().ends_with("ran no test"), "{error}");
    }
}
