//! Runs tests up to the first one that fails.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::{ProcessTree, Step};

/// How a run of tests has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TestRun {
    /// So many tests have passed, and none has failed.
    Passed(u64),
    /// This one has failed, or has ended the process. Others may not have run.
    Failed(String),
    /// It has not ended in time.
    TimedOut,
}

impl Step {
    /// Runs a command that runs tests, and ends it when the first one has failed. Its output is not
    /// shown.
    ///
    /// # Errors
    /// If the command cannot be started.
    pub(crate) fn first_failure(mut self, limit: Duration) -> Result<TestRun> {
        let shown = self.shown();
        let command = &mut self.command;
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let tree = ProcessTree::spawn(self.command)
            .with_context(|| format!("`{shown}` could not be started"))?;
        let (sender, lines) = mpsc::channel();
        let (output, mut errors) = (tree.take_stdout(), tree.take_stderr());
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.for_each(|line| _ = sender.send(line));
        });
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            _ = errors.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let deadline = Instant::now() + limit;
        let mut passed = 0;
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => match result_of(&line) {
                    Some((name, false)) => {
                        tree.kill()?;
                        return Ok(TestRun::Failed(name));
                    }
                    Some((_, true)) => passed += 1,
                    None => {}
                },
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    tree.kill()?;
                    return Ok(TestRun::TimedOut);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = tree.wait_until(deadline)?;
        if status.is_some_and(|status| status.success()) {
            return Ok(TestRun::Passed(passed));
        }
        let errors = errors.join().unwrap_or_default();
        Ok(TestRun::Failed(who_ended_the_process(&errors)))
    }
}

/// Returns the name of a test, and whether it has passed, if the line says so.
fn result_of(line: &str) -> Option<(String, bool)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    match result {
        "ok" => Some((name.to_owned(), true)),
        "FAILED" => Some((name.to_owned(), false)),
        _ => None,
    }
}

/// Returns the test whose panic ended the process, as the panic's message names its thread.
fn who_ended_the_process(errors: &str) -> String {
    let mut threads = errors.lines().rev().filter_map(|line| {
        let (name, _) = line.trim().strip_prefix("thread '")?.split_once('\'')?;
        name.contains("::").then(|| name.to_owned())
    });
    threads.next().unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn run(script: &str) -> TestRun {
        let step = Step::new("sh", &["-c", script]);
        step.first_failure(Duration::from_secs(20)).unwrap()
    }

    #[test]
    fn ends_a_run_at_the_first_failure() {
        let script = "echo 'test a::b ... ok'; echo 'test a::c ... FAILED'; sleep 1000";
        assert_eq!(run(script), TestRun::Failed("a::c".to_owned()));
        assert_eq!(run("echo 'test a::b ... ok'"), TestRun::Passed(1));
    }

    #[test]
    fn finds_the_test_that_ends_the_process() {
        let script = "echo \"thread 'a::b' (7) panicked at c.rs:\" >&2; exit 134";
        assert_eq!(run(script), TestRun::Failed("a::b".to_owned()));
    }

    #[test]
    fn ends_a_run_that_takes_too_long() {
        let step = Step::new("sleep", &["1000"]);
        let end = step.first_failure(Duration::from_millis(100)).unwrap();
        assert_eq!(end, TestRun::TimedOut);
    }
}
