//! What the original does not have: the names of pool-std, used beside it, for the same workers.

use std::sync::mpsc;

use rayon_core::{ThreadPoolBuilder, current_num_threads, spawn};

#[test]
fn pool_std_shows_the_workers_of_the_global_pool() {
    let before = pool_std::current_metrics().sum();
    let (sender, receiver) = mpsc::channel();
    spawn(move || sender.send(pool_std::current_thread_index()).unwrap());
    assert!(receiver.recv().unwrap().is_some());
    assert!((pool_std::current_metrics().sum() - before).jobs_run >= 1);
    let workers = pool_std::current_state().workers().len();
    assert_eq!(workers, current_num_threads());
}

#[test]
fn pool_std_shows_the_workers_of_the_pool_that_runs_the_caller() {
    let pool = ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    let state = pool.install(pool_std::current_state);
    assert_eq!(state.workers().len(), 5);
}
