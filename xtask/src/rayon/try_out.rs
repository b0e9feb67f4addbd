//! `cargo xtask rayon-run`: a published program that uses rayon, as published and on our pool.

use std::{
    ffi::OsString,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::{assert_ours, patch};
use crate::{command::Step, published::Published, root};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A published crate with a binary, and perhaps its version (`tokei` or `tokei@12.1.2`)
    #[arg(value_name = "CRATE")]
    package: String,

    /// The binary to run, if the crate has several and none is named as the crate
    #[arg(long)]
    bin: Option<String>,

    /// Features of the crate to build it with
    #[arg(long, default_value = "")]
    features: String,

    /// How often to run each of the two
    #[arg(long, default_value_t = 1)]
    times: u32,

    /// What to run the program with; `{which}` becomes `original` or `ours`. Without any, the
    /// program is only installed
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

/// Installs the program twice, runs both, and compares what they print.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (name, requirement) = match arguments.package.split_once('@') {
        Some((name, version)) => (name, format!("={version}")),
        None => (&*arguments.package, "*".to_owned()),
    };
    let published = Published::fetch(name, &requirement)?;
    println!("{name} {}", published.version);
    let original = install(&published, Which::Original, &arguments.features)?;
    let ours = install(&published, Which::Ours, &arguments.features)?;
    let original = binary(&original, name, arguments.bin.as_deref())?;
    let ours = binary(&ours, name, arguments.bin.as_deref())?;
    println!(
        "original: {}\nours:     {}",
        original.display(),
        ours.display()
    );
    if arguments.arguments.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }

    let mut same = true;
    let (mut original_times, mut our_times) = (Vec::new(), Vec::new());
    for _ in 0..arguments.times.max(1) {
        let original = Outcome::of(&original, Which::Original, &arguments.arguments)?;
        let ours = Outcome::of(&ours, Which::Ours, &arguments.arguments)?;
        if original_times.is_empty() {
            std::io::stdout().write_all(&ours.output)?;
        }
        same &= original.status == ours.status && original.output == ours.output;
        original_times.push(original.time);
        our_times.push(ours.time);
    }
    println!(
        "original {:.3} s, ours {:.3} s; {}",
        median(original_times).as_secs_f64(),
        median(our_times).as_secs_f64(),
        if same {
            "the same output"
        } else {
            "the output differs"
        }
    );
    Ok(if same {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[derive(Clone, Copy)]
enum Which {
    Original,
    Ours,
}

impl Which {
    const fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Ours => "ours",
        }
    }
}

/// Builds the program and returns the directory of its binaries.
fn install(published: &Published, which: Which, features: &str) -> Result<PathBuf> {
    let directory = root()
        .join("target/rayon-run")
        .join(format!("{}-{}", published.name, published.version));
    let source = directory.join(which.name()).join("source");
    let installed = directory.join(which.name());
    let manifest = published.copy_to(&source)?;
    // A locked version of rayon-core stands in the way of the patch. Without the lock both are
    // built with the newest versions, as `cargo install` has it.
    let lock = source.join("Cargo.lock");
    if lock.exists() {
        fs::remove_file(lock)?;
    }
    if let Which::Ours = which {
        assert_ours(&manifest)?;
    }
    let mut step = Step::cargo(&["install", "--force", "--path"])
        .args([&source])
        .args(["--root".as_ref(), installed.as_os_str()])
        .args(["--features", features])
        .env("CARGO_TARGET_DIR", root().join("target/rayon-run/build"));
    if let Which::Ours = which {
        step = step.args(patch());
    }
    step.run()?;
    Ok(installed.join("bin"))
}

/// The binary of this name, or the one named as the crate, or the only one.
fn binary(directory: &Path, package: &str, name: Option<&str>) -> Result<PathBuf> {
    let mut binaries = Vec::new();
    for entry in fs::read_dir(directory).context("the crate has no binary")? {
        binaries.push(entry?.path());
    }
    let stem = |path: &PathBuf| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let named = |name: &str| {
        binaries
            .iter()
            .find(|path| stem(path).as_deref() == Some(name))
    };
    let found = match (name, &*binaries) {
        (Some(name), _) => named(name),
        (None, [only]) => Some(only),
        (None, _) => named(package),
    };
    match found {
        Some(path) => Ok(path.clone()),
        None => {
            let names: Vec<_> = binaries.iter().filter_map(stem).collect();
            bail!("choose one with --bin: {}", names.join(", "))
        }
    }
}

/// What came of one run.
struct Outcome {
    output: Vec<u8>,
    status: ExitStatus,
    time: Duration,
}

impl Outcome {
    fn of(program: &Path, which: Which, arguments: &[OsString]) -> Result<Self> {
        let arguments = arguments.iter().map(|argument| match argument.to_str() {
            Some(text) => text.replace("{which}", which.name()).into(),
            None => argument.clone(),
        });
        let start = Instant::now();
        let output = Command::new(program)
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| program.display().to_string())?;
        Ok(Self {
            time: start.elapsed(),
            output: output.stdout,
            status: output.status,
        })
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
