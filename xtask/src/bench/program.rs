//! The programs that measure.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use protocol::Description;

use crate::{command::Step, root};

/// Where a program comes from.
pub(crate) struct Source {
    /// Its directory and the name of its binary.
    directory: &'static str,
    binary: &'static str,
    pub(crate) groups: &'static [&'static str],
}

pub(crate) const PROGRAMS: &[Source] = &[
    Source {
        directory: "benches",
        binary: "peers",
        groups: &["join"],
    },
    Source {
        directory: "benches/apps",
        binary: "apps",
        groups: &["apps"],
    },
    Source {
        directory: "benches/apps-ours",
        binary: "apps-ours",
        groups: &["apps"],
    },
];

/// A running program that measures what it is asked for.
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(crate) cases: Vec<Description>,
}

impl Program {
    /// Builds the program and starts it.
    pub(crate) fn start(source: &Source, threads: &[usize]) -> Result<Self> {
        let manifest = root().join(source.directory).join("Cargo.toml");
        let target = root().join("target/benches");
        Step::cargo(&["build", "--release", "--quiet", "--manifest-path"])
            .args([
                manifest.as_os_str(),
                "--target-dir".as_ref(),
                target.as_os_str(),
            ])
            .run()?;
        let threads: Vec<_> = threads.iter().map(ToString::to_string).collect();
        let mut child = Command::new(target.join("release").join(source.binary))
            .arg(threads.join(","))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", source.binary))?;
        let requests = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut program = Self {
            name: source.binary,
            child,
            requests,
            answers,
            cases: Vec::new(),
        };
        program.cases = serde_json::from_str(&program.answer()?)?;
        Ok(program)
    }

    /// Has one of the cases measured, once.
    pub(crate) fn measure(&mut self, case: usize) -> Result<f64> {
        writeln!(self.requests, "{case}")?;
        let answer = self.answer()?;
        answer
            .trim()
            .parse()
            .with_context(|| format!("{} answered `{answer}`", self.name))
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            let status = self.child.wait()?;
            bail!("{} ended while it was asked: {status}", self.name);
        }
        Ok(line)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It would end by itself when its input does; nobody cares for how it ends.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
