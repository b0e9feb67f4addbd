//! The library against a plain sequential run, and the program as a user starts it.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use dedup::{Duplicates, Tree, hash_all, hash_all_sequentially};
use pool_std::ThreadPoolBuilder;

/// Creates a tree of files, of which some are the same in name, in size, or in contents.
fn tree_of_files(root: &Path, files: usize) {
    for index in 0..files {
        let directory = root.join(format!("{}", index % 7));
        fs::create_dir_all(&directory).unwrap();
        // Contents repeat every 40 files; sizes from 0 to beyond a chunk.
        let kind = index % 40;
        let contents = vec![kind as u8; kind * kind * 100];
        fs::write(directory.join(format!("{index}")), contents).unwrap();
    }
}

#[test]
fn agrees_with_a_sequential_run() {
    let directory = tempfile::tempdir().unwrap();
    tree_of_files(directory.path(), 200);
    let tree = Tree::read(directory.path()).unwrap();
    assert_eq!(tree.files.len(), 200);

    let expected = Duplicates::find(&tree.files, hash_all_sequentially(&tree.files, &|_| {}));
    assert_eq!(
        (expected.groups.len(), expected.redundant_files()),
        (40, 160)
    );
    assert!(
        expected
            .groups
            .is_sorted_by_key(|group| std::cmp::Reverse(group.redundant_bytes()))
    );

    for threads in [1, 2, 5] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let bytes = AtomicU64::new(0);
        let hashed = pool.install(|| {
            hash_all(&tree.files, &|file| {
                _ = bytes.fetch_add(file.size, Ordering::Relaxed)
            })
        });
        let found = Duplicates::find(&tree.files, hashed);
        assert_eq!(found.groups, expected.groups);
        assert_eq!(bytes.into_inner(), tree.bytes());
    }
}

/// The second name of a file is no copy that could be removed to save room.
#[cfg(unix)]
#[test]
fn a_file_with_two_names_is_no_duplicate() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name| directory.path().join(name);
    fs::write(path("b"), "text").unwrap();
    fs::hard_link(path("b"), path("a")).unwrap();
    let tree = Tree::read(directory.path()).unwrap();
    let found = tree.files.iter().map(|file| &file.path);
    assert!(found.eq([&path("a")]), "{tree:?}");
    assert_eq!(tree.bytes(), 4);
}

// Around the length of a part, at the ends of subtrees, and where the last part is short.
#[test]
#[cfg(unix)]
fn a_large_file_has_the_same_digest_in_parts() {
    const PART: usize = 1 << 20;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large");
    // No two blocks are the same.
    let contents: Vec<_> = (0..3 * PART as u32 / 4)
        .flat_map(u32::to_le_bytes)
        .collect();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for length in [0, PART, PART + 1, 2 * PART, 3 * PART - 1] {
        fs::write(&path, &contents[..length]).unwrap();
        let in_parts = pool.install(|| dedup::hash_in_parts(&path)).unwrap();
        assert_eq!(in_parts, dedup::hash_contents(&path).unwrap(), "{length}");
    }
    fs::remove_file(&path).unwrap();
    assert!(dedup::hash_in_parts(&path).is_err());
}

#[test]
fn real_sources_agree_too() {
    let tree = Tree::read(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../sleep-core"
    )));
    let tree = tree.unwrap();
    let sequential = Duplicates::find(&tree.files, hash_all_sequentially(&tree.files, &|_| {}));
    let parallel = Duplicates::find(&tree.files, hash_all(&tree.files, &|_| {}));
    assert!(tree.files.len() > 10);
    assert_eq!(parallel.groups, sequential.groups);
}

fn dedup(arguments: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dedup"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_program_reports() {
    let directory = tempfile::tempdir().unwrap();
    tree_of_files(directory.path(), 80);
    let output = dedup(&[directory.path()]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{report}");
    // However wide the columns are.
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in ["files 80", "duplicates 40 in 40 groups", "speed-up"] {
        assert!(report.contains(line), "{line:?} is not in:\n{report}");
    }
}

// As with `dedup | head -0`: it panicked.
#[test]
fn a_reader_that_wants_no_output_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    tree_of_files(directory.path(), 10);
    let mut command = Command::new(env!("CARGO_BIN_EXE_dedup"));
    command.arg(directory.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    drop(process.stdout.take());
    let output = process.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert_eq!(message, "");
}

#[test]
fn names_a_path_that_does_not_exist() {
    let output = dedup(&[Path::new("/no/such/directory")]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("/no/such/directory: No such file"),
        "{message}"
    );
    assert!(output.stdout.is_empty());
}

// A file that vanishes between the listing and the hashing is unreadable for every user, even for
// the superuser.
#[test]
fn unreadable_files_are_counted_and_named() {
    let directory = tempfile::tempdir().unwrap();
    tree_of_files(directory.path(), 10);
    let tree = Tree::read(directory.path()).unwrap();
    let gone = directory.path().join("3").join("3");
    fs::remove_file(&gone).unwrap();
    let duplicates = Duplicates::find(&tree.files, hash_all(&tree.files, &|_| {}));
    let [unreadable] = &duplicates.unreadable[..] else {
        panic!("{duplicates:?}")
    };
    assert_eq!(unreadable.path, gone);
    assert!(unreadable.reason.contains("No such file"));
}

#[test]
fn an_empty_tree_has_no_duplicates() {
    let directory = tempfile::tempdir().unwrap();
    let tree = Tree::read(directory.path()).unwrap();
    let duplicates = Duplicates::find(&tree.files, hash_all(&tree.files, &|_| {}));
    assert!(duplicates.groups.is_empty() && duplicates.unreadable.is_empty());
}
