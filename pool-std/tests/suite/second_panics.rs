//! Values that panic when they are dropped, because an earlier panic has left them without a
//! receiver. A second panic while the first one unwinds would end this process.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    pin::pin,
    sync::Arc,
    task::{Context, Wake, Waker},
};

use pool_std::{
    ThreadPool, ThreadPoolBuilder, join, join_context, join_n, spawn_handle, try_join, try_scope,
};

#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("drop");
    }
}

fn pool() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

/// Checks that a call resumes the first panic.
fn assert_first<R>(call: impl FnOnce() -> R + Send) {
    let run = || drop(call());
    let panic = catch_unwind(AssertUnwindSafe(|| pool().install(run))).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "first");
}

fn first<R>() -> R {
    panic_any("first")
}

#[test]
fn the_first_result_of_a_join() {
    assert_first(|| join(|| Bomb, first::<()>));
    assert_first(|| join_context(|_| Bomb, |_| first::<()>()));
    assert_first(|| try_join(|| Ok::<_, ()>(Bomb), first::<Result<(), ()>>));
    assert_first(|| pool_std::join!(|| Bomb, first::<()>, || Bomb));
}

#[test]
fn the_first_results_of_many_joins() {
    for failing in 0..4 {
        let closure = |number| move || if number == failing { first() } else { Bomb };
        assert_first(|| std::mem::forget(join_n([0, 1, 2, 3].map(closure))));
    }
    // Closures that do not run, and are dropped.
    let bomb = || Some(Bomb);
    assert_first(|| {
        join_n([None, bomb(), bomb()].map(|bomb| {
            move || match bomb {
                None => first(),
                Some(bomb) => std::mem::forget(bomb),
            }
        }))
    });
}

#[test]
fn the_error_of_a_scope_that_panics() {
    assert_first(|| {
        try_scope(|scope| {
            scope.spawn(|_| Err(Bomb));
            first::<Result<(), Bomb>>()
        })
        .map_err(std::mem::forget)
    });
}

#[test]
fn the_closure_of_an_aborted_job_whose_waker_panics() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            first()
        }
    }

    let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    let pool = builder.build().unwrap();
    pool.install(|| {
        let bomb = Bomb;
        let mut job = pin!(spawn_handle(move || std::mem::forget(bomb)));
        let waker = Waker::from(Arc::new(Panics));
        assert!(
            job.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        let panic = catch_unwind(AssertUnwindSafe(|| job.abort())).unwrap_err();
        assert_eq!(*panic.downcast::<&str>().unwrap(), "first");
        assert!(job.is_finished());
    });
}
