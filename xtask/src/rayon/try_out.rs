//! `cargo xtask rayon-run`: a published program that uses rayon, as published and on our pool.

mod agreement;
mod features;
mod programs;

use std::{
    ffi::OsString,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::Message;
use protocol::quantile;

use super::{RAYON, REMEDY};
use crate::{command::Step, published::Published, target};
use agreement::Agreement;
use features::Features;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A published crate with a binary, and perhaps its version (`tokei` or `tokei@12.1.2`)
    #[arg(value_name = "CRATE")]
    package: String,

    /// The binary to run, if the crate has several and none is named as the crate
    #[arg(long)]
    bin: Option<String>,

    /// Build with the versions of the crate's own lock file
    #[arg(long)]
    locked: bool,

    #[command(flatten)]
    features: Features,

    /// Compare the lines of the outputs in sorted order, for a program whose threads print
    #[arg(long)]
    sort: bool,

    /// How often to run each of the two
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,

    /// What to run the program with; `{which}` becomes `original` or `ours`. Without any, the
    /// program is only installed
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

/// Installs the program twice, runs both, and compares what they print.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    // Ours first: if cargo does not take it, that is known before anything is built.
    let ours = install(Which::Ours, arguments)?;
    let original = install(Which::Original, arguments)?;
    println!(
        "original: {}\nours:     {}",
        original.display(),
        ours.display()
    );
    if arguments.arguments.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }

    let mut agreement = Agreement::Same;
    let (mut original_times, mut our_times) = (Vec::new(), Vec::new());
    for _ in 0..arguments.times {
        let original = Outcome::of(&original, Which::Original, &arguments.arguments)?;
        let ours = Outcome::of(&ours, Which::Ours, &arguments.arguments)?;
        if original_times.is_empty() {
            std::io::stdout().write_all(&ours.output)?;
        }
        agreement = agreement.max(original.compare(&ours));
        original_times.push(original.time.as_secs_f64());
        our_times.push(ours.time.as_secs_f64());
    }
    println!(
        "original {:.3} s, ours {:.3} s; {}",
        quantile(original_times, 0.5),
        quantile(our_times, 0.5),
        agreement.text(arguments.sort)
    );
    Ok(if agreement.is_enough(arguments.sort) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Installs a published program with our pool, so that it keeps a trace if the environment asks for
/// one; returns its path.
pub(crate) fn install_traced(package: &str) -> Result<PathBuf> {
    let arguments = Arguments {
        package: package.to_owned(),
        bin: None,
        locked: false,
        features: Features::default(),
        sort: false,
        times: 1,
        arguments: Vec::new(),
    };
    install(Which::Traced, &arguments)
}

#[derive(Clone, Copy)]
enum Which {
    Original,
    Ours,
    /// Ours, with the feature `trace`.
    Traced,
}

impl Which {
    const fn name(self) -> &'static str {
        match self {
            Self::Original => "original",
            Self::Ours => "ours",
            Self::Traced => "traced",
        }
    }

    /// Returns cargo's arguments for it.
    fn patch(self) -> Vec<String> {
        match self {
            Self::Original => Vec::new(),
            Self::Ours | Self::Traced => RAYON.patch().into(),
        }
    }
}

/// Installs the program; returns its path.
fn install(which: Which, arguments: &Arguments) -> Result<PathBuf> {
    let (name, version) = arguments
        .package
        .split_once('@')
        .map_or((&*arguments.package, "*".to_owned()), |(name, version)| {
            (name, format!("={version}"))
        });
    let directory = target::directory("rayon-run").join(name).join(which.name());
    let source = directory.join("source");
    let manifest = Published::fetch(name, &version)?.copy_to(&source)?;
    let package = programs::check(&manifest)?;
    if let Which::Traced = which {
        programs::add_trace(&manifest)?;
    }
    lock(&source, which, arguments.locked)?;
    let step = Step::cargo(&["install", "--force", "--locked"])
        .args(["--path".as_ref(), source.as_os_str()])
        .args(arguments.features.options())
        .args(["--message-format", "json-render-diagnostics"])
        .args(["--root".as_ref(), directory.as_os_str()])
        .args(which.patch())
        .env("CARGO_TARGET_DIR", target::directory("rayon-run/build"));
    let messages = step.read()?;
    let artifacts =
        Message::parse_stream(messages.as_bytes()).filter_map(|message| match message {
            Ok(Message::CompilerArtifact(artifact)) => Some(artifact),
            _ => None,
        });
    let artifacts: Vec<_> = artifacts.collect();
    if artifacts.is_empty() {
        bail!(programs::why_none_is_built(&package));
    }
    let mut packages = artifacts.iter().map(|artifact| &artifact.package_id.repr);
    let core = packages.rfind(|package| package.contains("rayon-core"));
    let Some(core) = core else {
        bail!("`{name}` does not use rayon, not with these features");
    };
    let is_ours = core.starts_with("path+") && core.contains("compat/rayon-core");
    ensure!(
        is_ours != matches!(which, Which::Original),
        "the patch was not used: {core}"
    );
    binary(&directory.join("bin"), name, arguments.bin.as_deref())
}

/// Makes the lock file of a source: with the versions of its author, or with the newest.
///
/// # Errors
/// If our `rayon-core` is not in it, although it should be.
fn lock(source: &Path, which: Which, as_published: bool) -> Result<()> {
    let lock = source.join("Cargo.lock");
    let command: &[&str] = if as_published {
        ensure!(lock.exists(), "the crate has no lock file");
        match which {
            Which::Original => return Ok(()),
            Which::Ours | Which::Traced => &REMEDY,
        }
    } else {
        if lock.exists() {
            fs::remove_file(lock)?;
        }
        &["generate-lockfile"]
    };
    let says = Step::cargo(command)
        .directory(source)
        .args(which.patch())
        .read_errors()?;
    eprint!("{says}");
    if let Some(warning) = RAYON.unused_patch(&says) {
        bail!(
            "our rayon-core was not used: `cargo {}` cannot bring it into the lock file. \
             Cargo says:\n{warning}",
            command.join(" ")
        );
    }
    Ok(())
}

/// Returns the binary of this name, or the one named as the crate, or the only one.
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

/// The result of one run.
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

    fn compare(&self, ours: &Self) -> Agreement {
        if self.status == ours.status {
            Agreement::of_outputs(&self.output, &ours.output)
        } else {
            Agreement::DifferentStatus
        }
    }
}
