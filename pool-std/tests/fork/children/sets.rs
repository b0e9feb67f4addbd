//! Sets of handles in a child.

use std::sync::mpsc;

use crate::support::{alone, in_child};
use pool_std::{JoinSet, ThreadPoolBuilder, spawn_handle};

#[test]
fn a_set_of_the_child_takes_a_handle_of_the_parent() {
    alone(|| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (end, receiver) = mpsc::channel::<()>();
        let receiver = std::sync::Mutex::new(receiver);
        let job = pool.spawn_handle(move || _ = receiver.lock().unwrap().recv());
        let mut jobs = JoinSet::from_iter([job]);
        let other = pool.spawn_handle(|| ());
        in_child(|| {
            let mut own = JoinSet::from_iter([other]);
            own.push(spawn_handle(|| ()));
            jobs.push(spawn_handle(|| ()));
            [jobs, own].into_iter().all(|mut jobs| {
                let [first, second] = [jobs.join_next(), jobs.join_next()].map(Option::unwrap);
                first.is_err_and(|error| error.is_forked())
                    && second.is_ok()
                    && jobs.join_next().is_none()
            })
        });
        drop(end);
    });
}
