//! Operations of a process that forks.

use std::{sync::Barrier, thread};

use super::*;
use crate::forking::{alone, in_child};

/// A thread of the parent is finishing the operation when another one forks. So the state is locked
/// in the child.
#[test]
fn a_child_does_not_wait_for_a_state_that_is_being_changed() {
    alone(|| {
        // A child is recognized once there has been a pool.
        let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build();
        drop(pool.unwrap());
        let read = read();
        let meeting = Barrier::new(2);
        thread::scope(|threads| {
            threads.spawn(|| {
                let state = lock(&read.state);
                meeting.wait();
                meeting.wait();
                drop(state);
            });
            meeting.wait();
            in_child(|| {
                read.cancel();
                read.wait();
                read.wait_blocking();
                let is_finished = read.is_finished() && !read.set_task(Waker::noop());
                let (request, result) = read.take().unwrap();
                is_finished && request.into_buffer().is_empty() && result.is_err()
            });
            meeting.wait();
        });
        assert!(!read.is_finished());
        expect_result(&read, read.conclude(Ok(3)), Ok(3));
    });
}
