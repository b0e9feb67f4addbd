//! What code may do with a call: not run it, run it twice, wrap it, send it to another thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use super::*;
use crate::testing::{Test, registry, with_worker};

#[test]
fn a_call_that_is_not_run_panics_and_drops_its_closure() {
    let owned = std::sync::Arc::new(());
    let captured = owned.clone();
    let closure = move |_: &WorkerThread<Test>, _| drop(captured);
    let not_run = || Call::enter(closure, |_| ());
    assert!(catch_unwind(AssertUnwindSafe(not_run)).is_err());
    assert_eq!(std::sync::Arc::strong_count(&owned), 1);
}

#[test]
fn a_call_is_run_once_however_it_is_wrapped_and_borrowed() {
    let registry = registry::<Test>(1);
    with_worker(&registry, 0, |worker| {
        let (mut runs, mut wrapped) = (0, 0);
        let closure = |_: &WorkerThread<Test>, migrated| {
            runs += 1;
            migrated
        };
        let migrated = Call::enter(closure, |mut call| {
            call.reborrow().run(worker, true);
            let wrap = |call: Call<'_, Test>, worker: &WorkerThread<Test>, migrated| {
                wrapped += 1;
                call.run(worker, migrated);
            };
            call.within(wrap, |mut call| {
                call.reborrow().run(worker, false);
                registry.run_call(call);
            });
        });
        assert!(migrated, "the first run counts");
        assert_eq!((runs, wrapped), (1, 1));
    });
}

#[test]
fn a_panic_of_the_closure_goes_on() {
    let registry = registry::<Test>(1);
    with_worker(&registry, 0, |worker| {
        let closure = |_: &WorkerThread<Test>, _| -> u32 { panic!("on purpose") };
        let call = || Call::enter(closure, |call| call.run(worker, false));
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
    });
}

#[test]
fn another_thread_may_drop_a_call() {
    let closure = |_: &WorkerThread<Test>, _| ();
    let dropped = || {
        Call::enter(closure, |call| {
            thread::scope(|threads| {
                threads.spawn(move || {
                    let _dropped = call;
                });
            });
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(dropped)).is_err());
}
