//! Runs cargo and rustup: shows their output as it comes, counts tests, and ends a command that
//! hangs, with all processes that it started.

mod first_failure;
mod process_tree;
mod processor_time;
mod transcript;

use std::{
    borrow::Cow,
    env,
    ffi::OsStr,
    io::{self, IsTerminal},
    num::NonZeroUsize,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Error, Result, anyhow, bail};

use crate::{
    root,
    speaker::{Speaker, say},
};
pub(crate) use first_failure::TestRun;
pub(crate) use process_tree::{ProcessTree, end_all, lock};
pub(crate) use processor_time::Stopwatch;
pub(crate) use transcript::{LEFT_OUT, last_lines};
use transcript::{Show, Transcript};

/// No single command of a lane should take longer, even on a slow machine and in the background.
const TIME_LIMIT: Duration = Duration::from_secs(40 * 60);

/// The toolchain of steps that name none, as rust-toolchain.toml has it.
const TOOLCHAIN: &str = "stable";

/// What every run of cargo has in its environment, if the user has nothing else there. A lane
/// builds most things once: what a second build could reuse, and tables of lines for backtraces,
/// take nearly half of the time.
const BUILT_ONCE: [(&str, &str); 2] = [
    ("CARGO_INCREMENTAL", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
];

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
        for variable in ["CARGO", "RUSTC", "RUSTDOC"] {
            command.env_remove(variable);
        }
        // A step may run where no file of ours says it.
        command.env("RUSTUP_TOOLCHAIN", TOOLCHAIN);
        Self {
            command,
            time_limit: TIME_LIMIT,
        }
    }

    /// Creates a step that runs cargo, of the default toolchain.
    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        let absent = BUILT_ONCE
            .iter()
            .filter(|(name, _)| env::var_os(name).is_none());
        absent.fold(Self::new("cargo", arguments), |step, (name, value)| {
            step.env(name, value)
        })
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
    pub(crate) fn shown(&self) -> String {
        shown(&self.command)
    }

    /// Returns the directory in which the command runs.
    #[cfg(test)]
    pub(crate) fn current_directory(&self) -> Option<&Path> {
        self.command.get_current_dir()
    }

    /// Runs the command to its end.
    ///
    /// # Errors
    /// If the command cannot be started, fails, or takes longer than its time limit.
    pub(crate) fn run(self) -> Result<()> {
        self.run_showing(Show::AsItComes).map(drop)
    }

    /// Runs a command that runs tests, as [`run`](Self::run) does, and returns how many passed.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if there was no test at all, or none whose name contains one of
    /// the [filters](Self::filters): it was renamed, and is not run any more.
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

    /// Runs the command without input, and returns how it ended.
    ///
    /// # Errors
    /// If the command cannot be started, or takes longer than this.
    pub(crate) fn status_within(mut self, limit: Duration) -> Result<ExitStatus> {
        let shown = self.shown();
        self.command.stdin(Stdio::null());
        let tree = ProcessTree::spawn(self.command)
            .with_context(|| format!("`{shown}` could not be started"))?;
        let status = tree.wait_until(Instant::now() + limit)?;
        if status.is_none() {
            tree.kill()?;
        }
        status.with_context(|| format!("`{shown}` timed out after {} s", limit.as_secs_f64()))
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
    /// The errors of all commands that failed; the others run all the same.
    pub(crate) fn run_tests_at_once(steps: Vec<Self>) -> Result<u64> {
        let places = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let results = Mutex::new(Vec::new());
        let steps = Mutex::new(steps.into_iter());
        let speaker = Speaker::here();
        let runner = || {
            speaker.speak();
            loop {
                let Some(step) = lock(&steps).next() else {
                    return;
                };
                let result = step.run_tests_showing(Show::AtTheEnd);
                lock(&results).push(result);
            }
        };
        thread::scope(|threads| {
            for _ in 0..places {
                threads.spawn(runner);
            }
        });
        sum(results.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn run_tests_showing(self, show: Show) -> Result<u64> {
        let shown = self.shown();
        let filters = self.filters();
        let transcript = self.run_showing(show)?;
        let tests = transcript.passed_tests();
        if tests == 0 {
            bail!("`{shown}` ran no test");
        }
        let unused = filters.iter().find(|name| !transcript.has_passed(name));
        if let Some(name) = unused {
            bail!("`{shown}` ran no test `{name}`");
        }
        Ok(tests)
    }

    /// Returns the arguments that tell a program of tests which ones to run: those after `--`,
    /// without options and their values.
    fn filters(&self) -> Vec<String> {
        let arguments = self.command.get_args().map(OsStr::to_string_lossy);
        let mut own = arguments.skip_while(|argument| argument != "--").skip(1);
        let mut filters = Vec::new();
        while let Some(argument) = own.next() {
            match &*argument {
                "--skip" | "--test-threads" => drop(own.next()),
                option if option.starts_with('-') => {}
                filter => filters.push(filter.to_owned()),
            }
        }
        filters
    }

    fn run_showing(mut self, show: Show) -> Result<Transcript> {
        let shown = self.shown();
        say!("$ {shown}");
        let stopwatch = Stopwatch::start();
        // A process group in the background may not read from the terminal.
        self.command.stdin(Stdio::null());
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if show == Show::AsItComes && io::stderr().is_terminal() {
            // Cargo sees a pipe, but a user sees its output.
            self.command.env("CARGO_TERM_COLOR", "always");
        }
        let tree = ProcessTree::spawn(self.command)
            .with_context(|| format!("`{shown}` could not be started"))?;
        let transcript = Transcript::begin(&tree, show);
        let deadline = Instant::now() + self.time_limit;
        let status = tree.wait_until(deadline)?.filter(|_| {
            // A process that the command started may hold the output open for longer.
            transcript.wait(deadline.saturating_duration_since(Instant::now()))
        });
        if status.is_none() {
            tree.kill()?;
        }
        let end = status.map_or("timed out".to_owned(), |status| status.to_string());
        let time = stopwatch.read_with(tree.usage().map(|usage| usage.total()));
        match show {
            Show::AsItComes => say!("took {time}"),
            Show::AtTheEnd => say!("$ {shown}: {end} after {time}\n{}", transcript.whole()),
        }
        match status {
            Some(status) if status.success() => Ok(transcript),
            Some(status) => bail!("`{shown}` failed: {status}{}", transcript.quote()),
            None => bail!(
                "`{shown}` timed out after {} s{}",
                self.time_limit.as_secs_f64(),
                transcript.quote()
            ),
        }
    }
}

/// Adds up the tests that passed. If anything failed, returns all errors in one.
fn sum(results: Vec<Result<u64>>) -> Result<u64> {
    let (passed, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let mut errors: Vec<Error> = failed.into_iter().filter_map(Result::err).collect();
    match errors.len() {
        0 => Ok(passed.into_iter().flatten().sum()),
        1 => Err(errors.remove(0)),
        count => {
            let errors: Vec<_> = errors.iter().map(|error| format!("{error:#}")).collect();
            Err(anyhow!("{count} commands failed\n{}", errors.join("\n")))
        }
    }
}

/// Whether a variable is one that [every run of cargo](BUILT_ONCE) has, which says nothing of this
/// one.
fn is_in_every(name: &OsStr, value: Option<&OsStr>) -> bool {
    let of_all = BUILT_ONCE.iter().chain([&("RUSTUP_TOOLCHAIN", TOOLCHAIN)]);
    of_all
        .into_iter()
        .any(|(of_all, its)| name == *of_all && value.is_some_and(|value| value == *its))
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
        .filter(|(name, value)| !is_in_every(name, *value))
        .filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_a_failing_command() {
        assert!(Step::cargo(&["no-such-subcommand"]).run().is_err());
        assert!(Step::new("no-such-program", &[]).run().is_err());
    }

    #[test]
    #[cfg(unix)]
    fn runs_commands_at_once_and_reports_all_errors() {
        let summary = |passed: u32| {
            let line = format!("test result: ok. {passed} passed; 0 failed");
            Step::new("echo", &[&line])
        };
        let steps = (1..=4).map(summary).collect();
        assert_eq!(Step::run_tests_at_once(steps).unwrap(), 10);

        let failing = |name: &str| Step::new(name, &[]);
        let steps = vec![failing("no-such-program"), summary(1), failing("nor-this")];
        let error = Step::run_tests_at_once(steps).unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
        assert!(error.contains("nor-this"), "{error}");
    }

    #[test]
    fn steps_use_the_toolchain_of_the_workspace() {
        let file = std::fs::read_to_string(root().join("rust-toolchain.toml")).unwrap();
        assert!(file.contains(&format!("\nchannel = \"{TOOLCHAIN}\"\n")));
    }

    #[test]
    fn reports_a_run_without_tests() {
        let error = Step::cargo(&["--version"]).run_tests().unwrap_err();
        assert!(error.to_string().ends_with("ran no test"), "{error}");
    }

    /// Without it, a test that is renamed would no longer run in a lane that names it.
    #[test]
    #[cfg(unix)]
    fn reports_a_filter_that_no_test_matches() {
        let script = "echo 'test one::two ... ok'; echo 'test result: ok. 1 passed; 0 failed'";
        let step = |filters: &[&str]| {
            let options = ["-c", script, "--", "--test-threads", "1", "--skip", "four"];
            Step::new("sh", &options).args(filters).run_tests()
        };
        assert_eq!(step(&[]).unwrap(), 1);
        assert_eq!(step(&["one::", "two"]).unwrap(), 1);
        let error = step(&["one::", "three"]).unwrap_err().to_string();
        assert!(error.ends_with("ran no test `three`"), "{error}");
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

    #[test]
    fn cargo_builds_without_what_only_a_second_build_needs() {
        let value_of = |step: &Step, variable: &str| {
            let mut variables = step.command.get_envs();
            let found = variables.find(|(name, _)| *name == variable);
            // What it inherits, as from a lane that runs this test.
            found.map_or_else(|| env::var_os(variable), |(_, value)| value.map(Into::into))
        };
        let step = Step::cargo(&["check"]);
        for (name, _) in BUILT_ONCE {
            assert!(value_of(&step, name).is_some(), "{name}");
        }
        assert_eq!(step.shown(), "cargo check");
        // A lane has the last word.
        let (name, value) = (BUILT_ONCE[1].0, "line-tables-only");
        let step = step.env(name, value);
        assert_eq!(value_of(&step, name), Some(value.into()));
        assert_eq!(step.shown(), format!("{name}={value} cargo check"));
    }

    #[test]
    #[cfg(unix)]
    fn an_error_tells_what_failed() {
        let script = "echo 'test a ... ok'; echo 'failures:'; echo '    b'; \
                      echo '   Compiling c' >&2; echo 'error: d' >&2; exit 3";
        let step = || Step::new("sh", &["-c", script]);
        let errors = [
            step().run(),
            step().run_tests().map(drop),
            Step::run_tests_at_once(vec![step()]).map(drop),
        ];
        for error in errors.map(|result| result.unwrap_err().to_string()) {
            let expected = "failed: exit status: 3\n    failures:\n        b\n    error: d";
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_status_has_a_limit() {
        let sleep = |seconds| Step::new("sleep", &[seconds]);
        let limit = Duration::from_secs(20);
        assert!(sleep("0").status_within(limit).unwrap().success());
        let error = sleep("1000").status_within(Duration::from_millis(100));
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "`sleep 1000` timed out after 0.1 s");
    }

    /// Fails by hanging if only the shell is killed: `sleep` holds the pipe then.
    #[test]
    #[cfg(unix)]
    fn ends_a_command_with_its_descendants() {
        for script in ["sleep 1000 & wait", "sleep 1000 &"] {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let tree = ProcessTree::spawn(command).unwrap();
            let transcript = Transcript::begin(&tree, Show::AtTheEnd);
            tree.kill().unwrap();
            assert!(transcript.wait(Duration::from_secs(60)));
        }
    }

    #[test]
    #[cfg(unix)]
    fn times_out_although_a_descendant_holds_the_output() {
        for script in ["echo a; sleep 1000 & wait", "echo a; sleep 1000 &"] {
            let mut step = Step::new("sh", &["-c", script]);
            // Long enough for the shell to begin on a busy machine.
            step.time_limit = Duration::from_secs(5);
            let error = step.run().unwrap_err().to_string();
            assert!(error.ends_with("timed out after 5 s\n    a"), "{error}");
        }
    }
}
