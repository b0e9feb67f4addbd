//! Children that come out of what an isolated call runs while it waits.

use std::{future::poll_fn, process, task::Poll};

use crate::support::{End, alone, end_of, fork};
use pool_std::{ThreadPoolBuilder, isolate, spawn_future};

/// Calls a closure in isolation on the only worker of a pool.
fn in_isolation<R: Send>(call: impl FnOnce() -> R + Send) -> R {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| isolate(call))
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
