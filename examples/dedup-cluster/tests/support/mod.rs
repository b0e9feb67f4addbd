//! Trees of files, and what a run in one process says about them.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use dedup::{Duplicates, Group, Tree, hash_all_sequentially};
use dedup_cluster::{Options, Report};

/// The program that is started.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_dedup-cluster");

/// Creates a tree of files, of which some are the same in name, in size, or in contents.
pub(crate) fn tree_of_files(root: &Path, files: usize) {
    for index in 0..files {
        let directory = root.join(format!("{}", index % 7));
        fs::create_dir_all(&directory).unwrap();
        // Two thirds of the files are in groups, of two to many.
        let kind = match index % 3 {
            0 => index,
            _ => index % 37,
        };
        let contents = format!("{kind}\n").repeat(1 + kind % 50 * 20);
        fs::write(directory.join(format!("{index} %\n.txt")), contents).unwrap();
    }
}

/// Returns the groups that one thread finds in trees.
pub(crate) fn expected(trees: &[PathBuf]) -> Vec<Group> {
    let files = trees
        .iter()
        .flat_map(|tree| Tree::read(tree).unwrap().files);
    let files: Vec<_> = files.collect();
    Duplicates::find(&files, hash_all_sequentially(&files, &|_| {})).groups
}

/// Returns the options for small processes that share a tree.
pub(crate) fn options(processes: usize, tree: &Path) -> Options {
    let mut options = Options::new(PROGRAM.into(), processes, tree.to_owned());
    options.threads = 1;
    options
}

/// Compares a report with what one thread finds.
#[track_caller]
pub(crate) fn assert_agrees(report: &Report, trees: &[PathBuf]) {
    assert_eq!(report.duplicates().unwrap().groups, expected(trees));
    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
}

/// Whether a process has written digests to its list.
pub(crate) fn is_written(list: &Path) -> bool {
    list.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// Waits until something has happened, of which no system call tells: looks again and again.
///
/// # Panics
/// If it has not happened after some minutes, so that a test fails rather than hangs.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut has_happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !has_happened() {
        assert!(Instant::now() < deadline, "{what}: not within minutes");
        thread::yield_now();
    }
}

/// Returns the processor time of a process with all its threads, or None if it is no more.
#[cfg(target_os = "linux")]
pub(crate) fn processor_time(process: u32) -> Option<Duration> {
    let process = nix::unistd::Pid::from_raw(process.cast_signed());
    let clock = nix::time::clock_getcpuclockid(process).ok()?;
    clock.now().ok().map(Duration::from)
}

/// Whether a process has ended, reaped or not.
#[cfg(target_os = "linux")]
pub(crate) fn has_ended(process: u32) -> bool {
    stat(process).is_none_or(|(state, _)| state == "Z")
}

/// Returns the processes that a process has started.
#[cfg(target_os = "linux")]
pub(crate) fn children_of(process: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |child: &u32| stat(*child).is_some_and(|(_, parent)| parent == process);
    processes.filter(is_child).collect()
}

/// Returns the state of a process, and its parent.
#[cfg(target_os = "linux")]
fn stat(process: u32) -> Option<(String, u32)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain anything.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?.to_owned();
    Some((state, fields.next()?.parse().ok()?))
}
