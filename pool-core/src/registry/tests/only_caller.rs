//! Which files call the sleep protocol.

use std::{
    fs,
    path::{Path, PathBuf},
    string::String,
    vec::Vec,
};

/// Text that shows that a file calls a protocol, or could.
const CALLS: &[&str] = &[
    ".sleep()",
    "SleepProtocol as _",
    "SleepProtocol, ",
    "LendSeats as _",
    "AwakeSet as _",
    ".borrow_sleeper(|",
    ".work_found(",
    ".announce(",
    ".announce_for(",
];

/// The only file that may call a protocol, and the files that name the traits: the bounds of a
/// platform, and what users import.
const ALLOWED: &[&str] = &["registry/sleep.rs", "platform.rs", "lib.rs"];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns what a line of code calls, if it calls a protocol.
fn call(line: &str) -> Option<&'static str> {
    let is_comment = line.trim_start().starts_with("//");
    let mut calls = CALLS.iter().copied();
    calls.find(|call| !is_comment && line.contains(call))
}

#[test]
fn one_file_calls_the_sleep_protocol() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut callers = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
        let name = name.replace('\\', "/");
        let is_test = name.contains("tests") || name.starts_with("testing");
        if is_test || ALLOWED.contains(&&*name) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        callers.extend(
            text.lines()
                .filter_map(|line| Some((name.clone(), call(line)?))),
        );
    }
    let expected: [(String, &str); 0] = [];
    assert_eq!(callers, expected, "only registry/sleep.rs may do that");
}
