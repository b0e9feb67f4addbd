//! Handlers that do what they must not, and panics without a handler. Each test runs itself once
//! more, as a process of its own, which is expected to abort with a message.
#![cfg(not(miri))]

use std::{
    process,
    sync::{Arc, Mutex},
};

use crate::{
    again,
    support::{self, Gate},
};
use pool_std::{ThreadPool, ThreadPoolBuilder, blocking, broadcast, mark_blocked, spawn_broadcast};

const BROADCAST: &str = "pool-std: a deadlock handler used a broadcast; aborting";
const WAIT: &str = "pool-std: a deadlock handler waited for its own pool; aborting";

/// Checks as [`child_aborts`] does, for a test of this module.
fn aborts(name: &str, message: &str, body: fn()) {
    child_aborts(&format!("handlers::{name}"), message, body);
}

/// In the child, runs `body`. Otherwise runs the test `name` as a child, which must abort and print
/// the message.
pub(crate) fn child_aborts(name: &str, message: &str, body: fn()) {
    if again::is_child() {
        body();
        // The body comes here if nothing aborts.
        process::exit(0);
    }
    let child = again::child(name).output().unwrap();
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
fn a_panic_of_the_start_handler_says_so() {
    let message = "pool-std: a panic in the start handler has no handler; aborting";
    aborts("a_panic_of_the_start_handler_says_so", message, || {
        let builder = ThreadPoolBuilder::new().start_handler(|_| panic!("by design"));
        block_the_only_worker(builder);
    });
}

#[test]
fn a_panic_of_the_exit_handler_says_so() {
    let message = "pool-std: a panic in the exit handler has no handler; aborting";
    aborts("a_panic_of_the_exit_handler_says_so", message, || {
        let builder = ThreadPoolBuilder::new().exit_handler(|_| panic!("by design"));
        let pool = builder.num_threads(1).build().unwrap();
        pool.shutdown().unwrap();
    });
}

#[test]
fn a_panic_of_a_spawned_job_says_so() {
    let message = "pool-std: a panic in a spawned job has no handler; aborting";
    aborts("a_panic_of_a_spawned_job_says_so", message, || {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.spawn(|| panic!("by design"));
        pool.shutdown().unwrap();
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
fn a_deadlock_handler_that_waits_for_a_broadcast_aborts() {
    aborts(
        "a_deadlock_handler_that_waits_for_a_broadcast_aborts",
        BROADCAST,
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

// The call itself does not wait. But it takes a lock whose holder may wait for the end of the
// handler.
#[test]
fn a_deadlock_handler_that_spawns_a_broadcast_aborts() {
    let name = "a_deadlock_handler_that_spawns_a_broadcast_aborts";
    aborts(name, BROADCAST, || {
        block_the_only_worker(
            ThreadPoolBuilder::new().deadlock_handler(|_| spawn_broadcast(|_| ())),
        );
    });
}

/// Drops the last reference to a pool in its deadlock handler.
fn end_in_the_handler(num_threads: usize) {
    let own = Arc::new(Mutex::new(None::<ThreadPool>));
    let handler_of = own.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(num_threads)
        .use_current_thread()
        .deadlock_handler(move |_| drop(handler_of.lock().unwrap().take()))
        .build()
        .unwrap();
    support::wait_for_asleep(&pool, num_threads - 1);
    *own.lock().unwrap() = Some(pool);
    // No job has a reference. The handler is called within, or by a worker that was counted as
    // asleep when it was still about to sleep.
    let _blocked = mark_blocked("nothing");
    support::wait_for(|| false);
}

#[test]
fn a_deadlock_handler_that_ends_its_pool_aborts() {
    let name = "a_deadlock_handler_that_ends_its_pool_aborts";
    aborts(name, WAIT, || end_in_the_handler(1));
}

#[test]
fn a_deadlock_handler_that_ends_its_pool_of_sleeping_workers_aborts() {
    let name = "a_deadlock_handler_that_ends_its_pool_of_sleeping_workers_aborts";
    aborts(name, WAIT, || end_in_the_handler(2));
}

/// Another thread may hold that stream for good, and the process has to end.
#[cfg(unix)]
#[test]
fn an_abort_does_not_wait_for_the_stream_for_errors() {
    let name = "an_abort_does_not_wait_for_the_stream_for_errors";
    aborts(
        name,
        "pool-std: a panic in a spawned job has no handler; aborting",
        || {
            // The usual hook waits for the stream, too.
            std::panic::set_hook(Box::new(|_| ()));
            let _errors = std::io::stderr().lock();
            ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .unwrap()
                .spawn(|| panic!("no caller waits"));
            loop {
                std::thread::park();
            }
        },
    );
}
