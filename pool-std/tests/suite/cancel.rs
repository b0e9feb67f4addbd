//! Joins and scopes that end at the first error.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
};

mod followers;

use pool_std::{CancelToken, JoinError, ThreadPool, ThreadPoolBuilder, try_join, try_scope};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.build().unwrap()
}

#[test]
fn a_join_returns_both_results_or_the_first_error() {
    let pool = pool(2);
    pool.install(|| {
        assert_eq!(try_join(|| Ok::<_, ()>(1), || Ok(2)), Ok((1, 2)));
        assert_eq!(try_join(|| Err::<(), _>(1), || Ok(2)), Err(1));
        assert_eq!(try_join(|| Ok(1), || Err::<(), _>(2)), Err(2));
        assert_eq!(try_join(|| Err::<(), _>(1), || Err::<(), _>(2)), Err(1));
    });
}

#[test]
fn a_half_that_has_not_begun_is_left_out() {
    let pool = pool(1);
    let has_run = AtomicBool::new(false);
    let second = || {
        has_run.store(true, SeqCst);
        Ok(())
    };
    let result = pool.install(|| try_join(|| Err::<(), _>("first"), second));
    assert_eq!(result, Err("first"));
    assert!(!has_run.into_inner());
}

#[test]
fn a_scope_returns_its_bodys_result_or_the_first_error() {
    let pool = pool(2);
    let sum = AtomicUsize::new(0);
    let result = pool.install(|| {
        try_scope(|scope| {
            for number in 0..10 {
                let sum = &sum;
                scope.spawn(move |scope| {
                    scope.spawn(move |_| {
                        sum.fetch_add(number, SeqCst);
                        Ok(())
                    });
                    Ok::<_, ()>(())
                });
            }
            Ok("body")
        })
    });
    assert_eq!(result, Ok("body"));
    assert_eq!(sum.into_inner(), 45);
    let result = pool.install(|| {
        try_scope(|scope| {
            scope.spawn(|_| Err("job"));
            Ok(())
        })
    });
    assert_eq!(result, Err("job"));
    assert_eq!(
        pool.install(|| try_scope(|_| Err::<(), _>("body"))),
        Err("body")
    );
}

/// The only worker runs the job that was spawned last first.
#[test]
fn jobs_that_have_not_begun_are_left_out_and_dropped() {
    let pool = pool(1);
    let run = AtomicUsize::new(0);
    let captured = std::sync::Arc::new(());
    let result = pool.install(|| {
        try_scope(|scope| {
            for number in 0..10 {
                let (run, captured) = (&run, captured.clone());
                scope.spawn(move |scope| {
                    drop(captured);
                    assert!(!scope.is_cancelled());
                    if run.fetch_add(1, SeqCst) == 2 {
                        Err(number)
                    } else {
                        Ok(())
                    }
                });
            }
            Ok(())
        })
    });
    assert_eq!(result, Err(7));
    assert_eq!(run.into_inner(), 3);
    assert_eq!(std::sync::Arc::strong_count(&captured), 1);
}

#[test]
fn a_program_cancels_a_scope() {
    let pool = pool(1);
    let has_run = AtomicBool::new(false);
    let result = pool.install(|| {
        try_scope(|scope| {
            let has_run = &has_run;
            let job = move |_: &pool_std::TryScope<'_, '_, ()>| {
                has_run.store(true, SeqCst);
                Ok(())
            };
            scope.spawn(job);
            scope.cancel_token().cancel();
            scope.spawn(job);
            assert!(scope.is_cancelled());
            Ok(1)
        })
    });
    assert_eq!(result, Ok(1));
    assert!(!has_run.into_inner());
}

#[test]
fn a_panic_comes_before_an_error() {
    let pool = pool(2);
    let scope = || {
        pool.install(|| {
            try_scope(|scope| {
                scope.spawn(|_| resume_unwind(Box::new("panic")));
                scope.spawn(|_| Ok(()));
                Err::<(), _>("error")
            })
        })
    };
    // The job may be left out instead.
    let panic = catch_unwind(AssertUnwindSafe(scope));
    match panic {
        Ok(result) => assert_eq!(result, Err("error")),
        Err(panic) => assert_eq!(panic.downcast_ref(), Some(&"panic")),
    }
    let first_panics = || {
        try_join(
            || -> Result<(), ()> { resume_unwind(Box::new(())) },
            || Err::<(), _>(()),
        )
    };
    assert!(catch_unwind(AssertUnwindSafe(|| pool.install(first_panics))).is_err());
}

/// The only worker is held, so that all jobs are queued when the token is cancelled.
#[test]
fn jobs_of_a_cancelled_token_are_aborted() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (go_on, may_end) = mpsc::channel::<()>();
    let begun = pool.spawn_handle(move || may_end.recv().unwrap());
    let (token, drops) = (CancelToken::new(), Arc::new(()));
    let cancelled = [(); 10].map(|()| {
        let counted = drops.clone();
        pool.spawn_handle_unless(&token, move || drop(counted))
    });
    let other = CancelToken::new();
    let kept = pool.spawn_handle_unless(&other, || 7);
    token.cancel();
    go_on.send(()).unwrap();
    begun.join().unwrap();
    for job in cancelled {
        assert!(job.join().unwrap_err().is_aborted());
    }
    assert_eq!(kept.join().unwrap(), 7);
    let late = pool.spawn_handle_unless(&token, || unreachable!("cancelled before"));
    assert!(late.join().unwrap_err().is_aborted());
    pool.wait_idle().unwrap();
    assert_eq!(Arc::strong_count(&drops), 1);
}

/// A worker that joins runs the job itself, or finds it cancelled.
#[test]
fn a_worker_that_joins_a_job_of_a_cancelled_token_is_told() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let token = CancelToken::new();
    pool.install(|| {
        let wanted = token.spawn_handle(|| 7);
        assert_eq!(wanted.join().unwrap(), 7);
        let unwanted = pool_std::isolate(|| {
            let job = token.spawn_handle(|| unreachable!("cancelled below"));
            token.cancel();
            job.join().map(|(): ()| ())
        });
        assert!(unwanted.unwrap_err().is_aborted());
    });
}

/// Cancelled at a random time, and joined by the threads that have spawned. Each job was run, or
/// aborted.
#[test]
fn stress() {
    const ROUNDS: usize = if cfg!(miri) { 2 } else { 200 };
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for round in 0..ROUNDS {
        let (token, runs) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
        let jobs: Vec<_> = (0..50)
            .map(|number| {
                if number == round % 50 {
                    token.cancel();
                }
                let runs = runs.clone();
                pool.spawn_handle_unless(&token, move || _ = runs.fetch_add(1, SeqCst))
            })
            .collect();
        let results: Vec<_> = jobs.into_iter().map(|job| job.join()).collect();
        let aborted = |result: &&Result<(), JoinError>| {
            let error = result.as_ref().err();
            error.is_some_and(JoinError::is_aborted)
        };
        let aborted = results.iter().filter(aborted).count();
        assert_eq!(aborted + results.iter().filter(|it| it.is_ok()).count(), 50);
        assert_eq!(aborted + runs.load(SeqCst), 50);
        assert!(aborted >= 50 - round % 50);
    }
}
