use std::{
    fs,
    sync::{Arc, Mutex},
};

use pool_std::ThreadPoolBuilder;

use super::*;
use crate::{
    Report,
    connect::Traffic,
    digest_list::{DigestList, Known},
    escape,
};

/// Runs the dataflow with one process, which keeps a list in a directory.
fn run_here(tasks: Vec<Task>, lists: &std::path::Path) -> Report {
    let list = DigestList::open(lists, 0).unwrap();
    let found = timely::execute_directly(move |worker| {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let progress = Progress::new(Box::new(|_, _| {}));
        let hasher = Hasher::new(0, pool, Some(list), progress, Arc::new(Traffic::default()));
        run(worker, tasks, Vec::new(), hasher).unwrap()
    });
    Report::new(found)
}

fn task(path: &std::path::Path, size: u64) -> Task {
    Task {
        process: 0,
        name: escape(path),
        size,
        modified: Some(1),
        known: None,
    }
}

// A missing file is unreadable for every user, even for the superuser.
#[test]
fn unreadable_files_are_reported_and_are_in_no_list() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["a", "b"] {
        fs::write(path(name), "same").unwrap();
    }
    let mut tasks: Vec<_> = ["a", "gone", "b"].map(|name| task(&path(name), 4)).into();
    tasks.push(Task {
        name: "%".to_owned(),
        ..tasks[0].clone()
    });
    let lists = path("lists");
    let report = run_here(tasks.clone(), &lists);
    let [group] = &report.groups[..] else {
        panic!("{report:?}")
    };
    assert_eq!(group.paths, [escape(&path("a")), escape(&path("b"))]);
    let unreadable: Vec<_> = report.unreadable.iter().collect();
    let [(percent, escape_error), (gone, open_error)] = &unreadable[..] else {
        panic!("{report:?}")
    };
    assert_eq!((percent.as_str(), *gone), ("%", &escape(&path("gone"))));
    assert!(escape_error.contains("escaped"), "{escape_error}");
    assert!(
        open_error.contains("No such file") || cfg!(not(unix)),
        "{open_error}"
    );

    // What is no escaped path is printed as it is.
    let printed = report.duplicates().unwrap().unreadable;
    assert!(printed.iter().any(|file| file.path.as_os_str() == "%"));

    let known = Known::read(&lists).unwrap();
    tasks.iter_mut().for_each(|task| known.fill_in(task));
    let is_known: Vec<_> = tasks.iter().map(|task| task.known.is_some()).collect();
    assert_eq!(is_known, [true, false, true, false]);
}

#[test]
fn files_with_known_digests_end_a_batch_too() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let progress = Progress::new(Box::new(|_, _| {}));
    let mut hasher = Hasher::new(0, pool, None, progress, Arc::new(Traffic::default()));
    let known = Task {
        known: Some([7; 32]),
        ..task("known".as_ref(), 4)
    };
    let mut queue = vec![known; hash::BATCH_FILES + 1].into();
    assert_eq!(hasher.hash_batch(&mut queue).len(), hash::BATCH_FILES);
    assert_eq!(hasher.hash_batch(&mut queue).len(), 1);
}

#[test]
fn every_file_of_many_batches_is_hashed_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "same").unwrap();
    let count = 20_000;
    let tasks = (0..count).map(|_| task(&path, 4)).collect();
    let report = run_here(tasks, directory.path());
    let [group] = &report.groups[..] else {
        panic!("{} groups", report.groups.len())
    };
    assert_eq!(group.paths.len(), count);
    let [process] = &report.processes[..] else {
        panic!("{report:?}")
    };
    let counts = (process.files, process.bytes, process.digests);
    assert_eq!(counts, (20_000, 80_000, 20_000));
    assert_eq!((process.sent, process.workers.len()), (0, 2));
}

#[test]
fn progress_ends_with_everything() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "same").unwrap();
    let tasks = (0..10).map(|_| task(&path, 4)).collect();
    let last = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&last);
    timely::execute_directly(move |worker| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let progress = Progress::new(Box::new(move |files, bytes| {
            *seen.lock().unwrap() = Some((files, bytes));
        }));
        let hasher = Hasher::new(0, pool, None, progress, Arc::new(Traffic::default()));
        run(worker, tasks, Vec::new(), hasher).unwrap();
    });
    assert_eq!(*last.lock().unwrap(), Some((10, 40)));
}

// The disk is full.
#[test]
#[cfg(target_os = "linux")]
fn a_list_that_cannot_be_written_ends_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let lists = directory.path();
    let path = lists.join("file");
    fs::write(&path, "same").unwrap();
    std::os::unix::fs::symlink("/dev/full", lists.join("0.digests")).unwrap();
    let list = DigestList::open(lists, 0).unwrap();
    let tasks = vec![task(&path, 4)];
    let error = timely::execute_directly(move |worker| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let progress = Progress::new(Box::new(|_, _| {}));
        let hasher = Hasher::new(0, pool, Some(list), progress, Arc::new(Traffic::default()));
        run(worker, tasks, Vec::new(), hasher).unwrap_err()
    });
    let error = error.to_string();
    assert!(error.contains("0.digests: No space left"), "{error}");
}
