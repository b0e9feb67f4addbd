//! The file that a process writes when it exits. Each test runs itself once more, as a process of
//! its own.
#![cfg(all(unix, not(miri)))]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
};

use crate::again;
use pool_std::{ThreadPoolBuilder, join};

use super::chrome::{events_in, validate};

const TRACE: &str = "POOL_STD_TRACE";

/// In the child, runs `body`, and returns `None`. Otherwise runs the test `name` as a child that
/// keeps a trace, and returns what it has written.
fn traced(name: &str, body: impl FnOnce()) -> Option<Vec<u8>> {
    if again::is_child() {
        body();
        return None;
    }
    let file = file_of(name);
    _ = fs::remove_file(&file);
    let child = again::child(&format!("trace::environment::{name}"))
        .env(TRACE, &file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{errors}");
    let json = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    Some(json)
}

fn file_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.json", std::process::id()))
}

#[test]
fn a_process_writes_the_traces_of_its_pools() {
    let json = traced("a_process_writes_the_traces_of_its_pools", || {
        // The global pool does not end, and the other one has ended by then.
        join(|| (), || ());
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| ());
    });
    let Some(json) = json else { return };
    let events = events_in(&json);
    validate(&events, f64::from(u16::MAX));
    let pools = events
        .iter()
        .filter(|event| event["name"] == "process_name");
    let pools: Vec<_> = pools
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(pools, ["pool 1", "pool 2"]);
}

#[test]
fn a_program_writes_its_trace_when_it_likes() {
    let json = traced("a_program_writes_its_trace_when_it_likes", || {
        let file = PathBuf::from(env::var_os(TRACE).unwrap());
        pool_std::trace::write_now().unwrap();
        assert!(!file.exists(), "no pool was built yet");
        join(|| (), || ());
        pool_std::trace::write_now().unwrap();
        validate(&events_in(&fs::read(&file).unwrap()), f64::from(u16::MAX));
    });
    if let Some(json) = json {
        validate(&events_in(&json), f64::from(u16::MAX));
    }
}

/// A pool may ask for less than the environment, or for nothing.
#[test]
fn a_program_has_the_last_word() {
    let json = traced("a_program_has_the_last_word", || {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        builder.trace(0).build().unwrap().install(|| ());
        let builder = ThreadPoolBuilder::new().num_threads(1);
        builder.trace(20).build().unwrap().install(|| ());
    });
    let Some(json) = json else { return };
    let events = events_in(&json);
    let pools = events
        .iter()
        .filter(|event| event["name"] == "process_name");
    assert_eq!(pools.count(), 1);
}

/// What cannot be written is said, and the program's exit code stays.
#[test]
fn a_file_that_cannot_be_written_is_no_error_of_the_program() {
    if again::is_child() {
        join(|| (), || ());
        return;
    }
    let name = "trace::environment::a_file_that_cannot_be_written_is_no_error_of_the_program";
    let child = again::child(name)
        .env(TRACE, "/no/such/directory/trace.json")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{errors}");
    let says = "the trace could not be written: /no/such/directory/trace.json: ";
    assert!(errors.contains(says), "{errors}");
}

/// Several threads may write the file, and the process may end meanwhile.
#[test]
fn a_reader_never_finds_half_a_trace() {
    let json = traced("a_reader_never_finds_half_a_trace", || {
        let file = PathBuf::from(env::var_os(TRACE).unwrap());
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.scope(|scope| (0..1_000).for_each(|_| scope.spawn(|_| ())));
        pool_std::trace::write_now().unwrap();
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| (0..20).for_each(|_| pool_std::trace::write_now().unwrap()));
            }
            for _ in 0..20 {
                events_in(&fs::read(&file).unwrap());
            }
        });
        // Nothing else is left beside it.
        let name = file.file_name().unwrap().to_str().unwrap();
        let entries = fs::read_dir(file.parent().unwrap()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: Vec<_> = names.filter(|it| it.starts_with(name)).collect();
        assert_eq!(names, [name]);
    });
    if let Some(json) = json {
        events_in(&json);
    }
}

/// The link stays one.
#[test]
fn writes_to_where_a_link_leads() {
    if again::is_child() {
        join(|| (), || ());
        return;
    }
    let (link, target) = (file_of("link"), file_of("target"));
    fs::write(&target, "an older one").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let child = again::child("trace::environment::writes_to_where_a_link_leads")
        .env(TRACE, &link)
        .output()
        .unwrap();
    assert!(child.status.success());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    events_in(&fs::read(&target).unwrap());
    fs::remove_file(&link).unwrap();
    fs::remove_file(&target).unwrap();
}

/// It cannot be replaced.
#[test]
fn writes_to_what_is_no_file() {
    if again::is_child() {
        join(|| (), || ());
        return;
    }
    let child = again::child("trace::environment::writes_to_what_is_no_file")
        .env(TRACE, "/dev/stderr")
        .output()
        .unwrap();
    assert!(child.status.success());
    events_in(&child.stderr);
}

/// The name counts from the directory in which the first pool was built.
#[test]
fn a_program_that_changes_its_directory_writes_to_the_same_file() {
    if again::is_child() {
        join(|| (), || ());
        env::set_current_dir(env::temp_dir()).unwrap();
        return;
    }
    let file = file_of("relative");
    let name = "trace::environment::a_program_that_changes_its_directory_writes_to_the_same_file";
    let child = again::child(name)
        .current_dir(file.parent().unwrap())
        .env(TRACE, file.file_name().unwrap())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{errors}");
    events_in(&fs::read(&file).expect("it was written"));
    fs::remove_file(&file).unwrap();
}

/// The stream for errors cannot be written to, either.
#[cfg(target_os = "linux")]
#[test]
fn an_error_that_cannot_be_printed_does_not_abort_the_program() {
    if again::is_child() {
        join(|| (), || ());
        return;
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let name = "trace::environment::an_error_that_cannot_be_printed_does_not_abort_the_program";
    let mut child = again::child(name);
    child
        .env(TRACE, "/no/such/directory/trace.json")
        .stderr(full);
    let status = child.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{status}");
}
