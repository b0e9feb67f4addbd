//! Pools whose threads may borrow, and which end with the call that builds them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{BuildError, ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use super::in_time;

#[test]
fn a_worker_that_waits_for_a_scoped_pool_runs_jobs() {
    in_time(|| {
        let outer = Arc::new(ThreadPoolBuilder::new().num_threads(1).build().unwrap());
        let inside = outer.clone();
        outer.install(move || {
            let builder = ThreadPoolBuilder::new().num_threads(1);
            let scoped = builder.build_scoped(ThreadBuilder::run, |pool| {
                // For the worker that waits for the end of this pool.
                pool.spawn(move || inside.install(|| ()));
            });
            scoped.unwrap();
        });
    });
}

/// A mutex, for example, is not poisoned by a thread that was panicking when it took the lock.
#[test]
fn jobs_that_run_in_the_wait_for_a_scoped_pool_do_not_see_its_panic() {
    in_time(|| {
        let outer = Arc::new(ThreadPoolBuilder::new().num_threads(1).build().unwrap());
        let inside = outer.clone();
        let (sender, receiver) = mpsc::channel();
        let result = outer.spawn_handle(move || {
            let builder = ThreadPoolBuilder::new().num_threads(1);
            let scoped = builder.build_scoped(ThreadBuilder::run, |pool| {
                pool.spawn(move || {
                    inside.install(|| sender.send(thread::panicking()).unwrap());
                });
                panic!("on purpose");
            });
            scoped.unwrap()
        });
        let result: Result<(), _> = result.join();
        assert!(result.is_err());
        assert_eq!(receiver.recv(), Ok(false));
    });
}

#[test]
fn a_scoped_pool_of_the_current_thread_runs_its_jobs() {
    for workers in [1, 2] {
        let run = in_time(move || {
            let run = Arc::new(AtomicUsize::new(0));
            let builder = ThreadPoolBuilder::new().num_threads(workers);
            let builder = builder.use_current_thread();
            let scoped = builder.build_scoped(ThreadBuilder::run, |pool| {
                let [in_job, on_each] = [(); 2].map(|()| run.clone());
                pool.spawn(move || _ = in_job.fetch_add(1, SeqCst));
                pool.spawn_broadcast(move |_| _ = on_each.fetch_add(1, SeqCst));
            });
            scoped.unwrap();
            run.load(SeqCst)
        });
        assert_eq!(run, 1 + workers);
    }
}

// The pool starts these threads by itself, whatever they run.
#[test]
fn a_name_or_a_stack_that_no_thread_can_have_is_a_typed_error() {
    let refused = |builder: ThreadPoolBuilder| {
        let not_called = |_: &ThreadPool| unreachable!("the build fails");
        let builder = builder.num_threads(2);
        builder.build_scoped(ThreadBuilder::run, not_called)
    };
    let named = ThreadPoolBuilder::new().thread_name(|index| ["a", "b\0"][index].to_owned());
    match refused(named) {
        Err(BuildError::ThreadName { index: 1, name }) => assert_eq!(name, "b\0"),
        other => panic!("{other:?}"),
    }
    let result = refused(ThreadPoolBuilder::new().stack_size(1000));
    assert!(matches!(result, Err(BuildError::StackTooSmall { .. })));
}
