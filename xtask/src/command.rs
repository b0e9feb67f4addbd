//! Runs cargo and rustup: shows their output as it comes, counts tests, and ends a command that
//! hangs, with all processes that it started.

mod process_tree;

use std::{
    borrow::Cow,
    ffi::OsStr,
    io::{BufRead, BufReader},
    num::NonZeroUsize,
    path::Path,
    process::{ChildStdout, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::root;
pub(crate) use process_tree::ProcessTree;
use process_tree::lock;

/// No single command of a lane should take longer, even on a slow machine.
const TIME_LIMIT: Duration = Duration::from_secs(25 * 60);

/// When the output of a command is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    AsItComes,
    /// In one piece, because other commands print as well.
    AtTheEnd,
}

/// A command in the workspace's directory.
pub(crate) struct Step {
    command: Command,
    time_limit: Duration,
}

impl Step {
    pub(crate) fn new(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(root());
        // This process was started by cargo, whose variables would confuse another toolchain's.
        for variable in ["CARGO", "RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC"] {
            command.env_remove(variable);
        }
        Self {
            command,
            time_limit: TIME_LIMIT,
        }
    }

    /// Creates a step that runs cargo, of the default toolchain.
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

    /// Runs the command in another directory than the workspace's.
    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Returns the command as a user would type it.
    fn shown(&self) -> String {
        shown(&self.command)
    }

    /// Runs the command to its end.
    ///
    /// # Errors
    /// If the command cannot be started, fails, or takes longer than its time limit.
    pub(crate) fn run(self) -> Result<()> {
        self.run_counting(Show::AsItComes).map(drop)
    }

    /// Runs a command that runs tests, as [`run`](Self::run) does, and returns how many passed.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if there was no test at all.
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

    /// Whether the command succeeds. Its output is not shown.
    pub(crate) fn succeeds(mut self) -> bool {
        self.command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Returns what the command prints.
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

    /// Returns what the command prints to its standard error, as valgrind does with its results.
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
    /// use only one, as Miri does. The output of each is shown when it has ended.
    ///
    /// # Errors
    /// The first error, after the commands that had started have ended; no other command starts.
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
        // A process group in the background may not read from the terminal.
        self.command.stdin(Stdio::null()).stdout(Stdio::piped());
        let tree = ProcessTree::spawn(self.command)
            .with_context(|| format!("`{shown}` could not be started"))?;
        let output = show_lines(tree.take_stdout(), show);
        let deadline = Instant::now() + self.time_limit;
        let ended = tree.wait_until(deadline)?.and_then(|status| {
            // A process that the command started may hold the output open for longer.
            let remaining = deadline.saturating_duration_since(Instant::now());
            Some((status, output.recv_timeout(remaining).ok()?))
        });
        let Some((status, (passed, lines))) = ended else {
            tree.kill()?;
            bail!(
                "`{shown}` timed out after {} s",
                self.time_limit.as_secs_f64()
            );
        };
        if show == Show::AtTheEnd {
            println!("$ {shown}: {status}\n{}", lines.join("\n"));
        }
        if !status.success() {
            bail!("`{shown}` failed: {status}");
        }
        Ok(passed)
    }
}

/// Returns a command with its variables as a user would type it into a shell.
pub(crate) fn shown(command: &Command) -> String {
    let quoted = |word: &OsStr| {
        let word = word.to_string_lossy();
        // A word with a zero byte has no quoted form, and no system runs it.
        shlex::try_quote(&word).map_or_else(|_| word.to_string(), Cow::into_owned)
    };
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// Counts the passed tests in an output, and shows or collects its lines. Sends both at its end.
fn show_lines(output: ChildStdout, show: Show) -> mpsc::Receiver<(u64, Vec<String>)> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut passed = 0;
        let mut lines = Vec::new();
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            passed += passed_tests(&line);
            if show == Show::AsItComes {
                println!("{line}");
            } else {
                lines.push(line);
            }
        }
        // After a time-out there is no receiver.
        let _ = sender.send((passed, lines));
    });
    receiver
}

/// Returns the number of passed tests in a line of a test program's summary.
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
    fn counts_the_tests_of_a_summary() {
        let line = "test result: ok. 26 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(passed_tests(line), 26);
        assert_eq!(passed_tests("test result: FAILED. 3 passed; 1 failed"), 0);
        assert_eq!(passed_tests("test smoke ... ok"), 0);
    }

    #[test]
    fn reports_a_failing_command() {
        assert!(Step::cargo(&["no-such-subcommand"]).run().is_err());
        assert!(Step::new("no-such-program", &[]).run().is_err());
    }

    #[test]
    #[cfg(unix)]
    fn runs_commands_at_once_and_reports_the_first_error() {
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
    fn reports_a_run_without_tests() {
        let error = Step::cargo(&["--version"]).run_tests().unwrap_err();
        assert!(error.to_string().ends_with("ran no test"), "{error}");
    }

    #[test]
    fn shows_commands_with_quotes() {
        let step =
            Step::new("echo", &["--cfg", "two words", "it's"]).env("RUSTFLAGS", "-D warnings");
        assert_eq!(
            step.shown(),
            r#"RUSTFLAGS='-D warnings' echo --cfg 'two words' "it's""#
        );
    }

    /// Fails by hanging if only the shell is killed: `sleep` holds the pipe then.
    #[test]
    #[cfg(unix)]
    fn ends_a_command_with_its_descendants() {
        for script in ["sleep 1000 & wait", "sleep 1000 &"] {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::piped());
            let tree = ProcessTree::spawn(command).unwrap();
            let output = show_lines(tree.take_stdout(), Show::AtTheEnd);
            tree.kill().unwrap();
            output.recv().unwrap();
        }
    }

    #[test]
    #[cfg(unix)]
    fn times_out_although_a_descendant_holds_the_output() {
        for script in ["sleep 1000 & wait", "sleep 1000 &"] {
            let mut step = Step::new("sh", &["-c", script]);
            step.time_limit = Duration::from_millis(200);
            let error = step.run().unwrap_err().to_string();
            assert!(error.ends_with("timed out after 0.2 s"), "{error}");
        }
    }
}
