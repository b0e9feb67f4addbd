//! `cargo xtask trace`: what the workers of a program did, as a file for Perfetto and as a picture.

mod file;
mod pictures;
mod shares;
mod timeline;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};

use crate::{beside::beside, command::Step, rayon, target};
use file::TraceFile;
use timeline::Timeline;

/// The variable by which pool-std is asked for a trace.
const TRACE: &str = "POOL_STD_TRACE";

/// The extension of the picture.
const PICTURE: &str = "svg";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A published crate with a program that uses rayon, and perhaps its version (`tokei` or
    /// `tokei@12.1.2`), instead of the demo
    #[arg(value_name = "PROGRAM")]
    program: Option<String>,

    /// Draw this file, which a program has written, instead of running one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "output", "arguments"])]
    file: Option<PathBuf>,

    /// The file for Perfetto. The picture is beside it, with the extension `svg`
    /// [default: target/trace/trace.json]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Draw and sum up from this moment on, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = parse_moment)]
    from: f64,

    /// Draw and sum up to this moment, in milliseconds [default: the end]
    #[arg(long, value_name = "MS", value_parser = parse_moment)]
    to: Option<f64>,

    /// Draw the pictures of the book anew
    #[arg(long, conflicts_with_all = ["program", "file", "output", "from", "to", "arguments"])]
    pictures: bool,

    /// What to run the program with
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

/// Parses a number of milliseconds.
fn parse_moment(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or("a moment is a number of milliseconds")
}

/// Runs a program that keeps a trace, and draws it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.pictures {
        pictures::draw_all()?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.file {
        return draw(file, file, arguments);
    }
    let here = std::env::current_dir()?;
    let output = match &arguments.output {
        Some(file) => here.join(file),
        None => target::directory("trace").join("trace.json"),
    };
    // Known before anything is built.
    beside(&output, PICTURE)?;
    let directory = output.parent().context("a file is in a directory")?;
    std::fs::create_dir_all(directory)?;
    let program = match &arguments.program {
        Some(package) => rayon::install_traced(package)?,
        None => build_demo()?,
    };
    trace_and_draw(&program, &output, &here, arguments)
}

/// Runs a program, and draws the trace that it writes, also if it fails.
fn trace_and_draw(
    program: &Path,
    output: &Path,
    here: &Path,
    arguments: &Arguments,
) -> Result<ExitCode> {
    // One of an earlier run would hide that the program writes none.
    if output.exists() {
        std::fs::remove_file(output)?;
    }
    let status = traced(program, &arguments.arguments, output, here)?.status()?;
    // A program may end with an error, or be killed before it writes anything.
    ensure!(
        output.exists(),
        "the program has written no trace to {}: {status}",
        output.display()
    );
    let code = draw(output, program, arguments)?;
    ensure!(status.success(), "the program has failed: {status}");
    Ok(code)
}

/// Returns a step that runs a program where the user is, so that paths are relative to there.
fn traced(program: &Path, arguments: &[OsString], output: &Path, here: &Path) -> Result<Step> {
    let step = Step::new(program.to_str().context("a path that is text")?, &[]);
    Ok(step.args(arguments).env(TRACE, output).directory(here))
}

/// Draws a trace, whose title is the name of a file, and says what is in it.
fn draw(output: &Path, titled: &Path, arguments: &Arguments) -> Result<ExitCode> {
    let picture = beside(output, PICTURE)?;
    let to = arguments.to.unwrap_or(f64::INFINITY);
    let trace = TraceFile::read(output)?.between(arguments.from, to)?;
    Timeline {
        title: titled
            .file_stem()
            .map_or("trace".into(), |name| name.to_string_lossy()),
        caption: timeline::WHAT_TO_LOOK_FOR,
        trace: &trace,
    }
    .draw(&picture)?;
    println!("{}\n{}", trace.summary(), shares::describe(&trace));
    println!("{}\n{}", output.display(), picture.display());
    println!("open the first at https://ui.perfetto.dev, the second in a browser");
    Ok(ExitCode::SUCCESS)
}

/// Builds the demo with the feature; returns its path.
fn build_demo() -> Result<PathBuf> {
    let directory = target::directory("trace").join("build");
    Step::cargo(&["build", "--quiet", "--release", "--package", "dedup"])
        .args(["--features", "pool-std/trace"])
        .env("CARGO_TARGET_DIR", &directory)
        .run()?;
    Ok(program_in(&directory, "dedup"))
}

fn program_in(directory: &Path, name: &str) -> PathBuf {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    directory.join("release").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproduces a bug: the program ran in the workspace, with paths that were relative to where
    /// the user was.
    #[test]
    fn the_program_runs_where_the_user_is() {
        let here = Path::new("somewhere");
        let step = traced(
            Path::new("dedup"),
            &["src".into()],
            Path::new("t.json"),
            here,
        )
        .unwrap();
        assert_eq!(step.current_directory(), Some(here));
    }

    /// Reproduces a bug: the trace of a program that ended with an error, as a search does that
    /// finds nothing, was not drawn.
    #[cfg(unix)]
    #[test]
    fn the_trace_of_a_program_that_fails_is_drawn() {
        let name = format!("trace-of-a-failure-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let output = directory.join("trace.json");
        let script = r#"echo '{"otherData":{"overwritten":0},"traceEvents":[
            {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"worker 0"}},
            {"ph":"X","name":"main","pid":1,"tid":1,"ts":0,"dur":4000}]}' > "$POOL_STD_TRACE"; exit 3"#;
        let arguments = Arguments {
            program: None,
            file: None,
            output: None,
            from: 0.0,
            to: None,
            pictures: false,
            arguments: vec!["-c".into(), script.into()],
        };
        let result = trace_and_draw(Path::new("/bin/sh"), &output, &directory, &arguments);
        let error = result.unwrap_err().to_string();
        let is_drawn = output.with_extension(PICTURE).exists();
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(is_drawn, "{error}");
        assert_eq!(error, "the program has failed: exit status: 3");
    }
}
