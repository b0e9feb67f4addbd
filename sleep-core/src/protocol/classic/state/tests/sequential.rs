//! Random sequences of steps against the same state, unpacked.

use proptest::prelude::*;

use super::super::*;

const WORKERS: usize = 4;

/// How many workers the word can name: more than there is memory for.
const MAX_WORKERS: usize = usize::MAX >> 1;

/// One step of one worker, or of a poster.
#[derive(Debug, Clone, Copy)]
enum Operation {
    GetSleepy(usize),
    AskSleepy(usize),
    FallAsleep(usize),
    StopBeingSleepy(usize),
    Strip,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let worker = 0..WORKERS;
    prop_oneof![
        4 => worker.clone().prop_map(GetSleepy),
        2 => worker.clone().prop_map(AskSleepy),
        4 => worker.clone().prop_map(FallAsleep),
        1 => worker.prop_map(StopBeingSleepy),
        1 => Just(Strip),
    ]
}

/// The same state, unpacked.
#[derive(Default)]
struct Model {
    sleepy: Option<usize>,
    some_asleep: bool,
}

impl Model {
    /// Does the step. Returns what it answers.
    fn answer(&mut self, operation: Operation) -> bool {
        match operation {
            Operation::GetSleepy(worker) => {
                let is_free = self.sleepy.is_none();
                self.sleepy.get_or_insert(worker);
                is_free
            }
            Operation::AskSleepy(worker) => self.sleepy == Some(worker),
            Operation::FallAsleep(worker) => {
                let is_sleepy = self.sleepy == Some(worker);
                if is_sleepy {
                    *self = Self {
                        sleepy: None,
                        some_asleep: true,
                    };
                }
                is_sleepy
            }
            Operation::StopBeingSleepy(worker) => {
                self.sleepy = self.sleepy.filter(|sleepy| *sleepy != worker);
                true
            }
            Operation::Strip => {
                let answer = self.some_asleep;
                *self = Self::default();
                answer
            }
        }
    }
}

fn answer(state: &AtomicState, operation: Operation, first: usize) -> bool {
    let worker = |index| WorkerIndex::new(first + index, MAX_WORKERS).unwrap();
    match operation {
        Operation::GetSleepy(index) => state.get_sleepy(worker(index)),
        Operation::AskSleepy(index) => state.is_sleepy(worker(index)),
        Operation::FallAsleep(index) => state.fall_asleep(worker(index)),
        Operation::StopBeingSleepy(index) => {
            state.stop_being_sleepy(worker(index));
            true
        }
        Operation::Strip => state.strip(),
    }
}

/// Runs the steps by the workers from number `first` on.
fn agrees_with_model(operations: &[Operation], first: usize) {
    let state = AtomicState::new();
    let mut model = Model::default();
    for &operation in operations {
        assert_eq!(
            answer(&state, operation, first),
            model.answer(operation),
            "{operation:?}"
        );
        let now = state.load();
        let sleepy = model.sleepy.map(|index| first + index);
        assert_eq!(
            (now.sleepy_worker(), now.some_asleep()),
            (sleepy, model.some_asleep)
        );
        let word = sleepy.map_or(0, |index| index + 1) << 1 | usize::from(model.some_asleep);
        assert_eq!(now.word(), word);
        assert_eq!(state.all_are_awake(), word == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and no unsafe code")]
    fn any_sequence_agrees_with_the_unpacked_state(
        operations in prop::collection::vec(operation(), 0..200)
    ) {
        agrees_with_model(&operations, 0);
        agrees_with_model(&operations, MAX_WORKERS - WORKERS);
    }
}
