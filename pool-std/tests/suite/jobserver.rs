//! A pool under GNU make: `make -jN` starts this test once more, as a program that takes tokens
//! from make's jobserver.
#![cfg(all(unix, not(miri)))]

use std::{
    env, fs,
    path::PathBuf,
    process::{self, Command},
    thread,
    time::Duration,
};

#[path = "../../examples/make_jobserver.rs"]
#[allow(dead_code, reason = "this is not the main program")]
mod make_jobserver;

/// In the program that make starts: the number of tokens, and whether it is alone.
const CHILD: &str = "POOL_STD_JOBSERVER_CHILD";
/// Names the emulator that runs this program, where the system cannot start it by itself.
const RUNNER: &str = "TEST_RUNNER";

/// Starts `programs` copies of the test `name` by one `make -jN`.
fn under_make(name: &str, tokens: usize, programs: usize) {
    if let Ok(alone) = env::var(CHILD) {
        thread::spawn(|| {
            // Only ends a test that fails: long after the program has lost its patience.
            thread::sleep(Duration::from_secs(600));
            eprintln!("a worker has waited for a token in vain");
            process::abort();
        });
        let mode = make_jobserver::example::Mode::from_word(&alone).unwrap();
        make_jobserver::example::run(tokens, mode).unwrap();
        return;
    }
    let version = Command::new("make").arg("--version").output();
    let version = version.expect("this test needs GNU make; on Debian: apt-get install make");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(
        version.starts_with("GNU Make"),
        "this test needs GNU make, not: {version}"
    );

    let this_program = env::current_exe().unwrap();
    let runner = env::var(RUNNER).unwrap_or_default();
    let targets: Vec<_> = (0..programs)
        .map(|number| format!("program{number}"))
        .collect();
    let targets = targets.join(" ");
    // The plus sign makes make pass on its jobserver.
    let makefile = format!(
        "all: {targets}\n{targets}:\n\t+@{runner} '{}' jobserver::{name} --exact --nocapture --test-threads=1\n",
        this_program.display()
    );
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.mk", process::id()));
    fs::write(&path, makefile).unwrap();
    let make = Command::new("make")
        .arg(format!("-j{tokens}"))
        .arg("-f")
        .arg(&path)
        .env(CHILD, if programs == 1 { "alone" } else { "shared" })
        // Not the jobserver of a make that runs the tests.
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .env_remove("CARGO_MAKEFLAGS")
        .output()
        .unwrap();
    fs::remove_file(&path).unwrap();
    let output = String::from_utf8_lossy(&make.stdout);
    let errors = String::from_utf8_lossy(&make.stderr);
    assert!(make.status.success(), "{output}{errors}");
    assert_eq!(
        output.matches("have shared").count(),
        programs,
        "{output}{errors}"
    );
    // Make counts its tokens in the end, and says so if there are too few or too many.
    assert!(!errors.contains("INTERNAL"), "{errors}");
}

#[test]
fn idle_and_blocked_workers_hold_no_tokens() {
    under_make("idle_and_blocked_workers_hold_no_tokens", 4, 1);
}

#[test]
fn two_tokens_are_enough_for_four_workers() {
    under_make("two_tokens_are_enough_for_four_workers", 2, 1);
}

#[test]
fn several_programs_share_the_tokens() {
    under_make("several_programs_share_the_tokens", 3, 3);
}

/// Reproduces a bug: an error of the pipe was ignored, so that the workers waited without end.
#[test]
fn a_broken_jobserver_ends_the_program() {
    const NAME: &str = "a_broken_jobserver_ends_the_program";
    if env::var(CHILD).is_ok() {
        return under_make(NAME, 4, 1);
    }
    // Its end comes at once, as that of a pipe whose writers have ended.
    let script = "exec 3</dev/null 4>/dev/null; exec $RUNNER \"$0\" \"$@\"";
    let test = format!("jobserver::{NAME}");
    let program = Command::new("sh")
        .args(["-c", script])
        .arg(env::current_exe().unwrap())
        .args([&test, "--exact", "--nocapture", "--test-threads=1"])
        .env("RUNNER", env::var(RUNNER).unwrap_or_default())
        .env("MAKEFLAGS", "-j4 --jobserver-auth=3,4")
        .env(CHILD, "shared")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&program.stderr);
    assert_eq!(program.status.code(), Some(1), "{errors}");
    assert!(errors.contains("no token from the jobserver"), "{errors}");
}
