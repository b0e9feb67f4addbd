//! The programs that measure.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};
use protocol::Description;

use crate::{command::Step, root, target};

/// Where a program comes from.
pub(crate) struct Source {
    /// Its directory and the name of its binary.
    directory: &'static str,
    binary: &'static str,
    pub(crate) groups: &'static [&'static str],
    /// Environment variables that it is started with.
    variables: &'static [(&'static str, &'static str)],
    /// Features of it that need a compiler for C or C++: with them there are more peers.
    features_with_compiler: &'static [(&'static str, &'static Compiler)],
}

pub(crate) const PROGRAMS: &[Source] = &[
    Source {
        directory: "benches",
        binary: "peers",
        groups: &[
            "join",
            "deque",
            "spawn",
            "wake",
            "call",
            "future",
            "blocking",
            "sparse",
            "tick",
            "crowd",
            "progress",
            "overlooked",
            "protocols",
            "regions",
            "regions-busy",
        ],
        variables: &[],
        features_with_compiler: &[("peers/fork-union", &CPP), ("peers/lace", &C)],
    },
    Source {
        directory: "benches/io",
        binary: "io",
        groups: &["io"],
        variables: &[],
        features_with_compiler: &[],
    },
    Source {
        directory: "benches/apps",
        binary: "apps",
        groups: &["apps", "facade"],
        variables: &[],
        features_with_compiler: &[],
    },
    Source {
        directory: "benches/apps-ours",
        binary: "apps-ours",
        groups: &["apps", "facade"],
        variables: &[("RAYON_CORE_GUESTS", "0")],
        features_with_compiler: &[],
    },
    Source {
        directory: "benches/apps-ours",
        binary: "apps-ours",
        groups: &["facade"],
        variables: &[],
        features_with_compiler: &[],
    },
];

/// Where the linker happens to put a loop can make it slower by a third. So that programs are
/// compared and not their addresses, loops and functions begin where a cache line does.
const ALIGNED: &str = if cfg!(target_arch = "x86_64") {
    "-C llvm-args=-align-all-functions=6 \
     -C llvm-args=-x86-experimental-pref-innermost-loop-alignment=6"
} else {
    ""
};

/// A program that has been compiled, at this path.
pub(crate) struct Built {
    source: &'static Source,
    path: PathBuf,
}

impl Source {
    /// Compiles the program.
    pub(crate) fn build(&'static self) -> Result<Built> {
        let path = self.build_binary(self.binary)?;
        Ok(Built { source: self, path })
    }

    /// Compiles the package, and returns the path of one of its binaries. Where that is depends on
    /// the user's configuration, such as `CARGO_BUILD_TARGET`.
    pub(super) fn build_binary(&self, binary: &str) -> Result<PathBuf> {
        target::program(|| self.build_step(), binary)
    }

    fn build_step(&self) -> Step {
        let manifest = root().join(self.directory).join("Cargo.toml");
        let target = target::directory("benches");
        Step::cargo(&["build", "--release", "--quiet", "--manifest-path"])
            .args([
                manifest.as_os_str(),
                "--target-dir".as_ref(),
                target.as_os_str(),
            ])
            .args(self.features())
            .env("RUSTFLAGS", ALIGNED)
    }

    fn features(&self) -> Vec<&'static str> {
        let features = self.features_with_compiler.iter();
        features
            .filter(|(_, compiler)| compiler.is_there())
            .flat_map(|&(feature, _)| ["--features", feature])
            .collect()
    }
}

/// The compiler that Cargo's build scripts take for a language.
struct Compiler {
    variable: &'static str,
    default: &'static str,
}

const C: Compiler = Compiler {
    variable: "CC",
    default: "cc",
};
const CPP: Compiler = Compiler {
    variable: "CXX",
    default: "c++",
};

impl Compiler {
    fn is_there(&self) -> bool {
        let compiler = env::var_os(self.variable).unwrap_or_else(|| self.default.into());
        let mut command = Command::new(compiler);
        command
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

/// A running program that measures what it is asked for.
pub(crate) struct Program {
    name: &'static str,
    /// The groups that it is asked for. It may have others too.
    pub(crate) groups: &'static [&'static str],
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(crate) cases: Vec<Description>,
}

impl Program {
    /// Starts a program that has been built.
    pub(crate) fn start(built: &Built, threads: &[usize]) -> Result<Self> {
        let source = built.source;
        let threads: Vec<_> = threads.iter().map(ToString::to_string).collect();
        let mut child = Command::new(&built.path)
            .arg(threads.join(","))
            .envs(source.variables.iter().copied())
            // glibc gives memory back, and fetches it again, at moments of chance.
            .env("MALLOC_MMAP_THRESHOLD_", "1073741824")
            .env("MALLOC_TRIM_THRESHOLD_", "1073741824")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} could not be started", source.binary))?;
        let requests = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut program = Self {
            name: source.binary,
            groups: source.groups,
            child,
            requests,
            answers,
            cases: Vec::new(),
        };
        program.cases = serde_json::from_str(&program.answer()?)?;
        Ok(program)
    }

    /// Measures one of the cases once.
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
        // It would end by itself when its input ends; its exit status does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
