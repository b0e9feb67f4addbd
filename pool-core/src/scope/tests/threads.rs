use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use super::super::*;
use crate::testing::{Test, with_pool};

#[test]
fn smoke() {
    with_pool(1, |registry| {
        let scope = ScopeCore::<Test>::new(None, registry);
        assert_eq!(scope.complete(None, || 5), 5);
    });
}

/// Checks that of many panics one continues and the others are dropped, after all jobs have ended.
#[test]
fn panics() {
    with_pool(1, |registry| {
        let ended = AtomicU8::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let scope = ScopeCore::<Test>::new(None, registry);
            thread::scope(|threads| {
                scope.complete(None, || {
                    for number in 0..3_u8 {
                        scope.add_job();
                        let (scope, ended) = (&scope, &ended);
                        threads.spawn(move || {
                            scope.catch(|| {
                                ended.fetch_add(1, Ordering::SeqCst);
                                std::panic::panic_any(number);
                            });
                            // SAFETY: 1. it was added above.
                            unsafe { ScopeCore::job_done(scope) };
                        });
                    }
                });
            });
        }))
        .unwrap_err();
        assert!(*panic.downcast::<u8>().unwrap() < 3);
        assert_eq!(ended.load(Ordering::SeqCst), 3);
    });
}

/// Completes a scope twice, which would set its latch twice and drop its waiter's handle twice.
#[test]
#[should_panic(expected = "a scope is completed once")]
fn a_scope_is_completed_once() {
    with_pool(1, |registry| {
        let scope = ScopeCore::<Test>::new(None, registry);
        scope.complete(None, || ());
        scope.complete(None, || scope.add_job());
    });
}
