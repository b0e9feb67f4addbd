//! Workers that are pinned to processors.

use std::thread;

use core_affinity::get_core_ids;
use pool_std::ThreadPoolBuilder;

#[test]
fn each_worker_is_pinned_to_a_processor() {
    let processors = get_core_ids().unwrap();
    let num_threads = 2 * processors.len() + 1;
    let pool = ThreadPoolBuilder::new().num_threads(num_threads);
    let pool = pool.pin_workers().build().unwrap();
    let pins = pool.broadcast(|_| get_core_ids().unwrap());
    for (worker, pin) in pins.into_iter().enumerate() {
        assert_eq!(pin, [processors[worker % processors.len()]], "{worker}");
    }
}

#[test]
fn threads_of_others_are_left_alone() {
    let before = get_core_ids();
    let pool = ThreadPoolBuilder::new().num_threads(2).pin_workers();
    let pool = pool.max_blocking_threads(1).build().unwrap();
    let caller = thread::current().id();
    for _ in 0..100 {
        pool.call(|| {
            if thread::current().id() == caller {
                assert_eq!(get_core_ids(), before);
            }
        });
    }
    assert_eq!(get_core_ids(), before);
    let not_pinned = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    assert!(
        not_pinned
            .broadcast(|_| get_core_ids())
            .iter()
            .all(|it| *it == before)
    );
}
