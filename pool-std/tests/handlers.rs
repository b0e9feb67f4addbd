//! Handlers that do what they must not. Each test runs itself once more, as a process of its own, which is
//! expected to abort with a message.
#![cfg(not(miri))]

mod support;

use std::{
    env,
    process::{self, Command},
    sync::Arc,
};

use pool_std::{ThreadPoolBuilder, blocking, broadcast, mark_blocked};
use support::Gate;

const CHILD: &str = "POOL_STD_HANDLERS_CHILD";
/// Names the emulator that runs this program, where the system cannot start it by itself.
const RUNNER: &str = "TEST_RUNNER";

/// In the child, runs `body`. Otherwise runs the test `name` as a child, which must abort and print the
/// message.
fn aborts(name: &str, message: &str, body: fn()) {
    if env::var_os(CHILD).is_some() {
        body();
        // The body comes here if nothing aborts.
        process::exit(0);
    }
    let words = env::var_os(RUNNER).into_iter();
    let mut words = words.chain([env::current_exe().unwrap().into_os_string()]);
    let child = Command::new(words.next().unwrap())
        .args(words)
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "yes")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success(), "the child goes on: {errors}");
    // A panic that is not caught would end the child with this.
    assert_ne!(child.status.code(), Some(101), "{errors}");
    assert!(errors.contains(message), "{errors}");
}

fn block_the_only_worker(builder: ThreadPoolBuilder) {
    let pool = builder.num_threads(1).build().unwrap();
    pool.install(|| blocking("nothing", |_| ()));
}

#[test]
fn a_deadlock_handler_that_panics_aborts() {
    let message = "pool-std: the deadlock handler panicked; aborting";
    aborts("a_deadlock_handler_that_panics_aborts", message, || {
        block_the_only_worker(ThreadPoolBuilder::new().deadlock_handler(|_| panic!("by design")));
    });
}

#[test]
fn an_acquire_handler_that_panics_aborts() {
    let message = "pool-std: the acquire handler panicked; aborting";
    aborts("an_acquire_handler_that_panics_aborts", message, || {
        block_the_only_worker(
            ThreadPoolBuilder::new().acquire_thread_handler(|| panic!("by design")),
        );
    });
}

#[test]
fn a_release_handler_that_panics_aborts() {
    let message = "pool-std: the release handler panicked; aborting";
    aborts("a_release_handler_that_panics_aborts", message, || {
        block_the_only_worker(
            ThreadPoolBuilder::new().release_thread_handler(|| panic!("by design")),
        );
    });
}

#[test]
fn a_deadlock_handler_that_waits_for_its_pool_aborts() {
    let message = "pool-std: a deadlock handler waited for its own pool; aborting";
    aborts(
        "a_deadlock_handler_that_waits_for_its_pool_aborts",
        message,
        || {
            let pool = ThreadPoolBuilder::new()
                .num_threads(2)
                // The other worker cannot count as awake before the handler returns.
                .deadlock_handler(|_| drop(broadcast(|_| ())))
                .build()
                .unwrap();
            let gate = Arc::new(Gate::default());
            pool.install(|| {
                let blocked = mark_blocked("nothing");
                support::wait_for(|| false);
                drop((blocked, gate));
            });
        },
    );
}
