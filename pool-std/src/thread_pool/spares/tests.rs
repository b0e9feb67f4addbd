use std::{sync::mpsc, time::Duration};

use super::*;
use crate::{ThreadPoolBuilder, block_in_place};

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);

// As if the build failed between the start of the spare and its first step.
#[test]
fn a_spare_of_an_abandoned_pool_returns_its_worker() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    // The worker has started.
    pool.install(|| pool.registry().data().abandon());
    let (sender, receiver) = mpsc::channel();
    pool.spawn(move || {
        // The second call finds a spare that is gone, or none.
        for call in 0..2 {
            block_in_place(|| ());
            sender.send(call).unwrap();
        }
    });
    assert_eq!(receiver.recv_timeout(LIMIT), Ok(0));
    assert_eq!(receiver.recv_timeout(LIMIT), Ok(1));
    pool.shutdown().unwrap();
}

#[test]
fn a_spare_that_is_gone_is_not_taken() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let spares = &pool.registry().data().spares;
    let gone = Arc::<Spare>::default();
    gone.go();
    spares.put_back(gone.clone());
    let taken = spares.take(|| pool.registry.clone()).unwrap();
    assert!(!Arc::ptr_eq(&taken, &gone));
    spares.put_back(taken);
    pool.shutdown().unwrap();
}
