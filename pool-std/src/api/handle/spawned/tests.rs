//! A worker finds, in its own deque, a job whose handle it joins.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use crate::{CancelToken, ScopedJoinHandle, ThreadPool, ThreadPoolBuilder};

fn pool_of_one() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(1).build().unwrap()
}

/// What is done with a handle before its worker joins it.
type Before = fn(&mut ScopedJoinHandle<'_, Arc<()>>);

const BEFORE: [(&str, Before); 5] = [
    ("nothing", |_| ()),
    ("a poll", |handle| {
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(handle).poll(&mut context).is_pending());
    }),
    ("an abort", |handle| assert!(handle.abort())),
    ("a wait that runs it", |handle| {
        assert!(handle.wait_timeout(Duration::ZERO));
    }),
    ("an isolated look", |handle| {
        crate::isolate(|| assert!(!handle.is_finished()));
    }),
];

#[test]
fn a_worker_joins_its_own_job_after_anything_that_may_come_before() {
    for (what, before) in BEFORE {
        for (panics, in_scope) in [(false, false), (false, true), (true, false), (true, true)] {
            let pool = pool_of_one();
            let counted = Arc::new(());
            let (captured, runs) = (counted.clone(), Arc::new(AtomicU32::new(0)));
            let count = runs.clone();
            let job = move || {
                count.fetch_add(1, SeqCst);
                assert!(!panics, "expected");
                captured
            };
            let result = pool.scope(|scope| {
                let older = crate::spawn_handle(|| 1);
                let mut handle = match in_scope {
                    true => crate::spawn_handle_in(scope, |_| job()),
                    false => crate::spawn_handle(job),
                };
                let newer = crate::spawn_handle(|| 2);
                before(&mut handle);
                let result = handle.join();
                assert_eq!((older.join().ok(), newer.join().ok()), (Some(1), Some(2)));
                result
            });
            let is_aborted = what == "an abort";
            assert_eq!(runs.load(SeqCst), u32::from(!is_aborted), "{what}");
            match result {
                Ok(result) => assert!(Arc::ptr_eq(&result, &counted) && !panics, "{what}"),
                Err(error) => {
                    assert_eq!(error.is_panic(), panics && !is_aborted, "{what}");
                    assert_eq!(error.is_aborted(), is_aborted, "{what}");
                }
            }
            assert_eq!(Arc::strong_count(&counted), 1, "{what}");
            let jobs = pool.metrics().sum().jobs_run;
            let expected = if cfg!(feature = "metrics") { 4 } else { 0 };
            assert_eq!(jobs, expected, "{what}: three jobs and the call");
            // Each job has removed its reference.
            pool.shutdown().unwrap();
        }
    }
}

#[test]
fn a_waker_that_was_left_is_dropped_and_not_woken() {
    struct Unwoken;

    impl Wake for Unwoken {
        fn wake(self: Arc<Self>) {
            unreachable!("the owner of the handle does not wait for it any more");
        }
    }

    let unwoken = Arc::new(Unwoken);
    let left = unwoken.clone();
    pool_of_one().install(|| {
        let mut handle = crate::spawn_handle(|| 1);
        let waker = Waker::from(left);
        let poll = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
        assert_eq!(handle.join().unwrap(), 1);
    });
    assert_eq!(Arc::strong_count(&unwoken), 1);
}

#[test]
fn a_job_that_is_not_wanted_any_more_is_aborted_by_its_join() {
    let pool = pool_of_one();
    let token = CancelToken::new();
    let counted = Arc::new(());
    let captured = counted.clone();
    pool.install(|| {
        let handle = pool.spawn_handle_unless(&token, move || drop(captured));
        token.cancel();
        assert!(handle.join().unwrap_err().is_aborted());
    });
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
fn a_job_that_its_pool_discards_is_counted_once() {
    let pool = pool_of_one();
    pool.install(|| {
        let handle = pool.spawn_handle(|| unreachable!("it is discarded"));
        let aborted = pool.spawn_handle(|| unreachable!("it is aborted"));
        assert!(aborted.abort());
        std::thread::scope(|threads| {
            let discard = || assert!(pool.shutdown_now(Duration::ZERO).is_err());
            threads.spawn(discard).join().unwrap();
        });
        assert!(handle.join().unwrap_err().is_aborted());
        assert!(aborted.join().unwrap_err().is_aborted());
    });
    assert_eq!(pool.shutdown_now(Duration::MAX), Ok(1));
}

/// Each join meets the jobs of the frames below it first.
#[test]
fn a_worker_joins_the_oldest_of_nested_jobs() {
    fn nested(depth: u32) -> u32 {
        let handles: Vec<_> = (0..depth)
            .map(|depth| crate::spawn_handle(move || nested(depth)))
            .collect();
        1 + handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .sum::<u32>()
    }

    let depth = if cfg!(miri) { 4 } else { 8 };
    let pool = pool_of_one();
    assert_eq!(pool.install(|| nested(depth)), 1 << depth);
    pool.shutdown().unwrap();
}
