//! Tests that run themselves once more, each as a process of its own.
#![allow(dead_code, reason = "not every test program uses all of it")]

use std::{
    env,
    process::{Child, Command},
};

/// Tells the process that it is the second one.
const CHILD: &str = "POOL_STD_TEST_CHILD";
/// Names the emulator that runs this program, where the system cannot start it by itself.
const RUNNER: &str = "TEST_RUNNER";

/// Whether this is the process that a test has started.
pub(crate) fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// Returns the command that runs a test of this program, alone, as a [child](is_child).
pub(crate) fn child(name: &str) -> Command {
    let words = env::var_os(RUNNER).into_iter();
    let mut words = words.chain([env::current_exe().expect("a test has a file").into()]);
    let mut child = Command::new(words.next().expect("the file at least"));
    child
        .args(words)
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "yes");
    child
}

/// Ends a child that hangs, as it should.
pub(crate) struct EndOnDrop(pub(crate) Child);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}
