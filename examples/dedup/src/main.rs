//! The command line of `dedup`.

mod times;

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use dedup::{
    Duplicates, File, Hashed, Tree, default_path, hash_all_by, hash_in_parts, print,
    print_duplicates,
};
use indicatif::{ProgressBar, ProgressStyle};
use pool_std::{ThreadPool, ThreadPoolBuilder, WorkerTimes};

/// Hashes every file of a directory tree, finds the duplicates, and shows what parallel work
/// gains.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The directory [default: the sources in the cargo registry, or else the current directory]
    path: Option<PathBuf>,

    /// Workers to use [default: one for each processor]
    #[arg(long, short, default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// How many groups of duplicates to list
    #[arg(long, short, default_value_t = 5)]
    groups: usize,

    /// Read through `pool_io`: by rings of the kernel, or by helper threads if it refuses them
    #[cfg(all(feature = "io", target_os = "linux", target_pointer_width = "64"))]
    #[arg(long)]
    io: bool,
}

/// How files are read.
struct Reading {
    /// What is done to the builder of each pool.
    set_up: fn(ThreadPoolBuilder) -> ThreadPoolBuilder,
    hash_file: fn(&Path) -> Hashed,
}

impl Reading {
    const BLOCKING: Self = Self {
        set_up: |builder| builder,
        hash_file: hash_in_parts,
    };

    #[cfg(all(feature = "io", target_os = "linux", target_pointer_width = "64"))]
    fn choose(arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        use std::io::Write as _;

        use dedup::through_io;
        use pool_io::{IoBackend, ThreadPoolBuilderExt as _};

        if !arguments.io {
            return Ok(Self::BLOCKING);
        }
        let (backend, refused) = through_io::choose_backend()?;
        let hash_file = through_io::hash_contents;
        if backend == IoBackend::Ring {
            print(|out| writeln!(out, "reading through io_uring, one ring per worker"))?;
            let set_up = |builder: ThreadPoolBuilder| builder.io(IoBackend::Ring);
            return Ok(Self { set_up, hash_file });
        }
        print(|out| {
            if let Some(refused) = refused {
                writeln!(out, "{refused}")?;
            }
            writeln!(out, "reading through helper threads")
        })?;
        let set_up = |builder: ThreadPoolBuilder| builder.io(IoBackend::HelperThreads);
        Ok(Self { set_up, hash_file })
    }

    #[cfg(not(all(feature = "io", target_os = "linux", target_pointer_width = "64")))]
    #[expect(clippy::unnecessary_wraps, reason = "with pool_io it can fail")]
    fn choose(_arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        Ok(Self::BLOCKING)
    }
}

/// One pass over all files.
struct Pass {
    time: Duration,
    workers: Vec<WorkerTimes>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let root = arguments.path.clone().unwrap_or_else(default_path);
    let tree = match Tree::read(&root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("dedup: {}: {error}", root.display());
            return ExitCode::from(2);
        }
    };
    match run(&arguments, &root, &tree) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dedup: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments, root: &Path, tree: &Tree) -> Result<(), Box<dyn Error>> {
    let reading = Reading::choose(arguments)?;
    let build = |threads| {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        (reading.set_up)(builder).build()
    };
    let all = build(arguments.threads)?;
    let one = build(1)?;

    // The first pass finds the duplicates, and brings the files into the system's cache; the
    // others are measured.
    let (hashed, _) = pass(&all, &reading, tree, "finding duplicates");
    let mut duplicates = Duplicates::find(&tree.files, hashed);
    let (_, one) = pass(&one, &reading, tree, "measuring 1 worker");
    let (_, all) = pass(&all, &reading, tree, "measuring all workers");

    duplicates
        .unreadable
        .extend(tree.unreadable.iter().cloned());
    let files = tree.files.len() as u64;
    print(|out| {
        print_duplicates(
            out,
            root,
            files,
            tree.bytes(),
            &duplicates,
            arguments.groups,
        )?;
        times::print_times(out, &one, &all)
    })?;
    Ok(())
}

fn pass(
    pool: &ThreadPool,
    reading: &Reading,
    tree: &Tree,
    what: &'static str,
) -> (Vec<Hashed>, Pass) {
    let bar = ProgressBar::new(tree.bytes())
        .with_message(what)
        .with_style(
            ProgressStyle::with_template("{msg:22} {wide_bar} {bytes:>11} of {total_bytes}")
                .expect("the template is valid"),
        );
    let before = times(pool);
    let start = Instant::now();
    let on_file = |file: &File| bar.inc(file.size);
    let hashed = pool.install(|| hash_all_by(&tree.files, reading.hash_file, &on_file));
    let time = start.elapsed();
    let workers = std::iter::zip(times(pool), before)
        .map(|(now, before)| now.since(before))
        .collect();
    bar.finish_and_clear();
    (hashed, Pass { time, workers })
}

fn times(pool: &ThreadPool) -> Vec<WorkerTimes> {
    let metrics = pool.metrics();
    let times = metrics.workers().iter().map(|worker| worker.times);
    times.map(Option::unwrap_or_default).collect()
}
