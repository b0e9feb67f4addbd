//! Pipes of a process that forks.

use super::*;
use crate::forking::{alone, in_child};

#[test]
fn a_child_sends_no_hint_to_a_worker_of_its_parent() {
    alone(|| {
        // A child is recognized once there has been a pool.
        let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build();
        drop(pool.unwrap());
        let pipe = HintPipe::new().unwrap();
        in_child(|| pipe.send(Hint::Worker(1)).is_ok());
        pipe.wait_without_ring(0);
        assert_eq!(pipe.take(), None);
        pipe.send(Hint::Worker(2)).unwrap();
        assert!(pipe.is_unread());
        pipe.wait_without_ring(0);
        assert_eq!(pipe.take(), Some(Hint::Worker(2)));
        assert!(!pipe.is_unread());
    });
}
