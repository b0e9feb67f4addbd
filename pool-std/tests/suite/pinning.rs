//! Workers that are pinned to processors.

use std::{sync::mpsc, thread};

use core_affinity::get_core_ids;
use pool_std::{ThreadPoolBuilder, driver};

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

/// Reproduces a bug: a thread inherits the processors of the thread that starts it, so that the
/// spare of a pinned worker kept to that worker's processor, wherever it took a worker's place
/// later.
#[test]
fn a_spare_that_a_pinned_worker_starts_is_not_pinned() {
    let before = get_core_ids().unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(1).pin_workers();
    let pool = pool.max_blocking_threads(1).build().unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.install(|| {
        let pinned = get_core_ids();
        pool_std::spawn(move || sender.send(get_core_ids().unwrap()).unwrap());
        let spare = pool_std::block_in_place(move || receiver.recv().unwrap());
        assert_eq!(spare, before);
        assert_eq!(get_core_ids(), pinned, "the worker stays pinned");
    });
}

#[test]
fn a_lazy_pool_that_a_pinned_worker_starts_is_not_pinned() {
    let before = get_core_ids().unwrap();
    let pinned = ThreadPoolBuilder::new().num_threads(1).pin_workers();
    let lazy = ThreadPoolBuilder::new().num_threads(2).lazy_threads();
    let (pinned, lazy) = (pinned.build().unwrap(), lazy.build().unwrap());
    let processors = pinned.install(|| lazy.broadcast(|_| get_core_ids().unwrap()));
    assert_eq!(processors, [before.clone(), before]);
}

#[derive(Default)]
struct NoDriver;

impl driver::Driver for NoDriver {}

#[test]
fn a_thread_that_a_driver_starts_on_a_pinned_worker_is_not_pinned() {
    let before = get_core_ids().unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(1).pin_workers();
    let pool = pool.build().unwrap();
    let (sender, receiver) = mpsc::channel();
    pool.install(|| {
        driver::with(NoDriver::default, |pool, _| {
            let tell = move |_: driver::Pool<'_>| sender.send(get_core_ids().unwrap()).unwrap();
            pool.spawn_thread("tells", tell).unwrap();
        });
    });
    assert_eq!(receiver.recv().unwrap(), before);
}
