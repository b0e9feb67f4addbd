//! Any sequence of operations agrees with a sequential model.

use proptest::prelude::*;

use super::{
    steps::{Workers, start, workers},
    *,
};

const WORKERS: usize = 3;

#[derive(Debug, Clone, Copy)]
enum Operation {
    /// A worker that is active begins to search.
    Start(usize),
    /// A worker that searches is about to sleep, and turns back because its last look finds work.
    TurnBack(usize),
    /// A worker leaves with work.
    Leave(usize),
    Notify(usize),
    NotifyAnywhere(usize),
    Poke(usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    prop_oneof![
        (0..WORKERS).prop_map(Start),
        (0..WORKERS).prop_map(TurnBack),
        (0..WORKERS).prop_map(Leave),
        (0..5_usize).prop_map(Notify),
        (0..5_usize).prop_map(NotifyAnywhere),
        (0..WORKERS).prop_map(Poke),
    ]
}

/// What one worker does, without atomics.
#[derive(Debug, Clone, Copy, Default)]
struct Worker {
    searches: bool,
    is_registered: bool,
    is_notified: bool,
}

#[derive(Default)]
struct Model {
    sleepers: isize,
    workers: [Worker; WORKERS],
}

impl Model {
    fn claim(&mut self, count: usize) {
        let registered = self
            .workers
            .iter_mut()
            .filter(|worker| worker.is_registered);
        for worker in registered.take(count) {
            worker.is_registered = false;
            worker.is_notified = true;
        }
    }

    fn notify(&mut self, count: usize) {
        let taken = count.min(self.sleepers.max(0).cast_unsigned());
        self.sleepers -= taken.cast_signed();
        self.claim(taken);
    }

    fn notify_anywhere(&mut self, count: usize) {
        let taken = count.min(self.sleepers.max(0).cast_unsigned());
        let lowest = -WORKERS.cast_signed();
        self.sleepers = (self.sleepers - count.cast_signed()).max(lowest);
        self.claim(taken);
    }

    /// Returns whether the worker looks at the queues.
    fn try_to_sleep(&mut self, index: usize) -> bool {
        let worker = &mut self.workers[index];
        if worker.is_notified {
            worker.is_notified = false;
            return false;
        }
        if worker.is_registered {
            return true;
        }
        self.sleepers += 1;
        worker.is_registered = self.sleepers > 0;
        worker.is_registered
    }

    fn leave(&mut self, index: usize) {
        let worker = &mut self.workers[index];
        if worker.is_registered {
            self.sleepers -= 1;
        }
        *worker = Worker::default();
    }
}

fn agrees_with_model(operations: &[Operation]) {
    let sleep: &Workers<WORKERS> = &workers();
    let mut model = Model::default();
    let mut states: [Option<IdleState>; WORKERS] = Default::default();
    for &operation in operations {
        match operation {
            Operation::Start(index) if !model.workers[index].searches => {
                states[index] = Some(start(sleep, index));
                model.workers[index].searches = true;
            }
            Operation::TurnBack(index) => {
                if let Some(idle) = &mut states[index] {
                    let mut has_looked = false;
                    sleep.no_work_found(idle, &CoreLatch::new(), || {
                        has_looked = true;
                        assert!(sleep.slots()[index].is_asleep());
                        true
                    });
                    assert_eq!(has_looked, model.try_to_sleep(index));
                }
            }
            Operation::Leave(index) => {
                if let Some(idle) = states[index].take() {
                    model.leave(index);
                    let mut was_asked = false;
                    sleep.work_found(idle, || {
                        was_asked = true;
                        false
                    });
                    assert_eq!(was_asked, model.sleepers > 0);
                }
            }
            Operation::Notify(count) => {
                sleep.notify(count, Hint::Unknown);
                model.notify(count);
            }
            Operation::NotifyAnywhere(count) => {
                sleep.notify_anywhere(count, Hint::Unknown);
                model.notify_anywhere(count);
            }
            Operation::Poke(index) => {
                assert!(!sleep.wake_worker(sleep.worker(index).unwrap()), "awake");
            }
            Operation::Start(_) => {}
        }
        let registered = model.workers.iter().filter(|worker| worker.is_registered);
        assert_eq!(registered.count().cast_signed(), model.sleepers.max(0));
        let searching = model.workers.iter().filter(|worker| worker.searches);
        assert_eq!(sleep.sleepers(), model.sleepers);
        assert_eq!(sleep.all_are_awake(), model.sleepers <= 0);
        assert_eq!(sleep.num_inactive(), searching.count());
        assert_eq!(sleep.num_sleeping(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_agrees_with_the_model(
        operations in prop::collection::vec(operation(), 0..if cfg!(miri) { 40 } else { 200 })
    ) {
        agrees_with_model(&operations);
    }
}
