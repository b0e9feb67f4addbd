use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
};

use crate::{Isolation, PoolMetrics, ThreadPoolBuilder};

/// Their worker runs the jobs itself, and no other one takes the stand-ins of scopes that have
/// ended.
#[test]
fn stand_ins_of_scopes_that_have_ended_do_not_gather() {
    let in_adopted = || {
        let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        let pool = builder.isolation(Isolation::Subtree).build().unwrap();
        for _ in 0..if cfg!(miri) { 3 } else { 100 } {
            let jobs_run = AtomicUsize::new(0);
            crate::scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| scope.spawn(|_| _ = jobs_run.fetch_add(1, SeqCst)));
                });
            });
            assert_eq!(jobs_run.into_inner(), 1);
        }
        let queues: PoolMetrics = pool.registry().metrics(|of| vec![of(0)]);
        assert_eq!(queues.injector_len(), Some(1), "a stand-in");
        // It is no job.
        let metrics = pool.metrics();
        assert_eq!(metrics.injector_len(), Some(0));
        assert!(metrics.injector_is_empty());
        assert_eq!(pool.state().jobs_from_outside(), 0);
        pool.shutdown().unwrap();
    };
    thread::spawn(in_adopted).join().unwrap();
}
