//! Counts the lines of all files below a directory. A file is a job: while it waits for a block,
//! its worker counts the lines of other files.
//!
//! `cargo run --package pool-io --example line_counts [DIRECTORY]`

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod count {
    use std::{
        fs, io,
        path::{Path, PathBuf},
        sync::atomic::{AtomicU64, Ordering::Relaxed},
    };

    use pool_io::{IoBackend, OpenOptions, ThreadPoolBuilderExt as _};
    use pool_std::{BuildError, Scope, ThreadPool, ThreadPoolBuilder};

    const BLOCK: usize = 64 << 10;

    /// Lines and files, and what could not be read.
    #[derive(Default)]
    pub(crate) struct Counts {
        pub(crate) lines: AtomicU64,
        pub(crate) files: AtomicU64,
        pub(crate) failures: AtomicU64,
    }

    /// Builds a pool whose workers sleep in the kernel's rings, or one with helper threads where
    /// the kernel allows no rings.
    pub(crate) fn build_pool() -> Result<ThreadPool, BuildError> {
        let with = |backend| ThreadPoolBuilder::new().io(backend).build();
        match with(IoBackend::Ring) {
            Err(BuildError::Driver { .. }) => with(IoBackend::HelperThreads),
            other => other,
        }
    }

    /// Spawns a job for each file below a directory.
    pub(crate) fn visit<'scope>(scope: &Scope<'scope>, path: PathBuf, counts: &'scope Counts) {
        scope.spawn(move |scope| {
            let visited = match fs::symlink_metadata(&path) {
                // The entries before one that cannot be read count.
                Ok(found) if found.is_dir() => fs::read_dir(&path).and_then(|mut entries| {
                    entries.try_for_each(|entry| {
                        visit(scope, entry?.path(), counts);
                        Ok(())
                    })
                }),
                Ok(found) if found.is_file() => count_lines(&path).map(|lines| {
                    counts.lines.fetch_add(lines, Relaxed);
                    counts.files.fetch_add(1, Relaxed);
                }),
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = visited {
                eprintln!("{}: {error}", path.display());
                counts.failures.fetch_add(1, Relaxed);
            }
        });
    }

    fn count_lines(path: &Path) -> io::Result<u64> {
        let file = pool_io::open(path, &OpenOptions::new().read(true)).wait()?;
        let (mut buffer, mut offset, mut lines) = (vec![0; BLOCK], 0, 0);
        loop {
            // Here the worker runs other jobs, until the block is there.
            let read = pool_io::read_at(&file, buffer, offset).wait()?;
            if read.bytes == 0 {
                return Ok(lines);
            }
            lines += read.data().iter().filter(|&&byte| byte == b'\n').count() as u64;
            offset += read.bytes as u64;
            buffer = read.buffer;
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("line_counts: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the counts, and returns how many files and directories could not be read.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn run() -> Result<u64, Box<dyn std::error::Error>> {
    use std::{path::PathBuf, sync::atomic::Ordering::Relaxed};

    let argument = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = argument.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/src").into());
    let (pool, counts) = (count::build_pool()?, count::Counts::default());
    let directory = std::fs::canonicalize(&directory)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    pool.scope(|scope| count::visit(scope, directory, &counts));
    let [lines, files, failures] =
        [&counts.lines, &counts.files, &counts.failures].map(|count| count.load(Relaxed));
    println!("{lines} lines in {files} files, {failures} could not be read");
    Ok(failures)
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn main() {
    println!("pool-io has operations on 64-bit Linux");
}
