use std::cell::Cell;

use super::*;

/// A queue that holds a number of jobs.
#[derive(Default)]
struct Jobs(Cell<usize>);

impl Jobs {
    fn put(&self) {
        self.0.set(self.0.get() + 1);
    }

    fn take(&self) -> bool {
        let jobs = self.0.get();
        self.0.set(jobs.saturating_sub(1));
        jobs > 0
    }

    fn holds_any(&self) -> bool {
        self.0.get() > 0
    }
}

#[test]
fn a_look_at_every_queue_passes() {
    let [global, own] = [(); 2].map(|()| Jobs::default());
    let has_work =
        |worker: crate::WorkerIndex| global.holds_any() || worker.get() == 1 && own.holds_any();
    check_queues(
        2,
        has_work,
        &[
            Queue::new("global", &|| global.put(), &|| global.take()),
            Queue::new("bound", &|| own.put(), &|| own.take()).of_worker(1),
        ],
    );
}

#[test]
#[should_panic = "worker 0 sleeps although `deferred` holds a job"]
fn a_queue_that_has_work_leaves_out_is_named() {
    let [global, deferred] = [(); 2].map(|()| Jobs::default());
    check_queues(
        1,
        |_| global.holds_any(),
        &[
            Queue::new("global", &|| global.put(), &|| global.take()),
            Queue::new("deferred", &|| deferred.put(), &|| deferred.take()),
        ],
    );
}

#[test]
#[should_panic = "worker 0 does not sleep while `bound` holds a job that it cannot take"]
fn a_queue_of_another_worker_keeps_no_worker_awake() {
    let bound = Jobs::default();
    check_queues(
        2,
        |_| bound.holds_any(),
        &[Queue::new("bound", &|| bound.put(), &|| bound.take()).of_worker(1)],
    );
}

#[test]
#[should_panic = "worker 0 never sleeps: `has_work` says yes before a job is queued"]
fn a_look_that_always_says_yes_is_found() {
    let global = Jobs::default();
    check_queues(
        1,
        |_| true,
        &[Queue::new("global", &|| global.put(), &|| global.take())],
    );
}
