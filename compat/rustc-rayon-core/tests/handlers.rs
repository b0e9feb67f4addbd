//! The handlers of threads that begin and cease to run, with a jobserver of one token.

mod tokens;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
};

use rayon_core::{ThreadPoolBuilder, join, scope};
use tokens::Tokens;

/// Counts the threads in it, of which there may be only one.
fn alone(inside: &AtomicUsize) {
    assert_eq!(inside.fetch_add(1, SeqCst), 0);
    thread::yield_now();
    inside.fetch_sub(1, SeqCst);
}

// Without a token of the caller, no worker would begin; and they would not end.
#[test]
fn the_callers_token_goes_to_the_worker() {
    let tokens = Tokens::held_by_this_thread();
    let inside = AtomicUsize::new(0);
    let result = tokens.builder().build_scoped(
        |thread| thread.run(),
        |pool| {
            for _ in 0..20 {
                pool.install(|| {
                    join(|| alone(&inside), || alone(&inside));
                    scope(|scope| {
                        for _ in 0..10 {
                            scope.spawn(|_| alone(&inside));
                        }
                    });
                });
                // This thread has its token again.
                alone(&inside);
            }
            "done"
        },
    );
    assert_eq!(result.unwrap(), "done");
    assert_eq!(tokens.free(), 0, "this thread holds its token");
}

#[test]
fn a_panic_leaves_the_caller_its_token() {
    let tokens = Tokens::held_by_this_thread();
    let panicking = || {
        let scoped = tokens.builder().build_scoped(
            |thread| thread.run(),
            |pool| pool.install(|| panic!("on purpose")),
        );
        scoped.unwrap()
    };
    assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
    assert_eq!(tokens.free(), 0, "this thread holds its token");
}

#[test]
fn the_threads_of_a_scoped_pool_have_ended() {
    let ran = AtomicUsize::new(0);
    let scoped = ThreadPoolBuilder::new().num_threads(2).build_scoped(
        |thread| {
            thread.run();
            ran.fetch_add(1, SeqCst);
        },
        |pool| pool.current_num_threads(),
    );
    assert_eq!(scoped.unwrap(), 2);
    assert_eq!(ran.into_inner(), 2);
}

#[test]
fn the_builder_shows_which_handlers_are_set() {
    let shown = format!("{:?}", ThreadPoolBuilder::new().deadlock_handler(|| ()));
    for part in [
        "deadlock_handler: Some(<closure>)",
        "acquire_thread_handler: None",
        "release_thread_handler: None",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}
