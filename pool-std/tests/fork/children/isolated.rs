//! Children that come out of what an isolated call runs while it waits.

use std::{future::poll_fn, process, task::Poll};

use crate::support::{End, alone, end_of, fork};
use pool_std::{JoinSet, ThreadPoolBuilder, isolate, spawn_future, spawn_handle};

/// Calls a closure in isolation on the only worker of a pool.
fn in_isolation<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| isolate(call))
}

#[test]
fn a_child_of_a_job_of_a_set_takes_its_result_from_the_set() {
    alone(|| {
        in_isolation(|| {
            // The newest one runs first.
            let mut jobs = JoinSet::from_iter([spawn_handle(|| None), spawn_handle(fork)]);
            let first = jobs.join_next().unwrap();
            if let Ok(Some(child)) = first {
                assert_eq!(end_of(child), End::Exit(0));
                assert_eq!(jobs.join_next().unwrap().unwrap(), None);
                return;
            }
            let second = jobs.join_next().unwrap();
            let is_good = first.is_err_and(|error| error.is_forked())
                && second.is_ok_and(|child| child.is_none())
                && jobs.join_next().is_none();
            process::exit(i32::from(!is_good));
        });
    });
}

#[test]
fn a_child_of_a_future_that_is_joined_does_not_wait_for_it() {
    alone(|| {
        in_isolation(|| {
            let mut polls = 0;
            let future = spawn_future(poll_fn(move |context| {
                polls += 1;
                if polls < 3 {
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                fork().map_or(Poll::Pending, Poll::Ready)
            }));
            match future.join() {
                Ok(child) => assert_eq!(end_of(child), End::Exit(0)),
                Err(error) => process::exit(i32::from(!error.is_forked())),
            }
        });
    });
}
