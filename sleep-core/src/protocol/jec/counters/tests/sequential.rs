use proptest::prelude::*;

use super::super::*;

/// A JEC of one bit rolls over at every second change.
const ONE_BIT: Widths = Widths::new(3, 1);

#[test]
fn smoke() {
    let counters = AtomicCounters::new(Widths::DEFAULT);
    counters.add_inactive_thread();
    counters.add_inactive_thread();
    let seen = counters.load();
    assert_eq!(
        (seen.inactive(), seen.sleeping(), seen.awake_but_idle()),
        (2, 0, 2)
    );

    counters.try_add_sleeping_thread(seen.jec()).unwrap();
    let now = counters.load();
    assert_eq!(
        (now.inactive(), now.sleeping(), now.awake_but_idle()),
        (2, 1, 1)
    );

    assert_eq!(counters.sub_inactive_thread().sleeping(), 1);
    counters.sub_sleeping_thread();
    let now = counters.load();
    assert_eq!((now.inactive(), now.sleeping()), (1, 0));
}

/// The lowest bit of the sleeping count, of the inactive count and of the jobs event counter.
const LAYOUT: [u32; 3] = if Word::BITS == 64 {
    [0, 16, 32]
} else {
    [0, 8, 16]
};

/// The threads that sleep are lowest and the jobs event counter is highest, so that its carry
/// leaves the word. It is stored one higher than its value, which begins at the highest one: the
/// word begins at zero, and takes no room in the flash of a board.
#[test]
fn each_counter_has_its_bits() {
    let [sleeping, inactive, jec] = LAYOUT;
    let counters = AtomicCounters::new(Widths::DEFAULT);
    let word = || counters.word.load(Ordering::Relaxed);
    assert_eq!(word(), 0);
    for _ in 0..3 {
        counters.add_inactive_thread();
    }
    assert_eq!(word(), 3 << inactive);
    counters.make_jec_sleepy();
    assert_eq!(word(), 1 << jec | 3 << inactive);
    for _ in 0..2 {
        counters
            .try_add_sleeping_thread(counters.load().jec())
            .unwrap();
    }
    assert_eq!(word(), 1 << jec | 3 << inactive | 2 << sleeping);
    counters.increment_jec_if_sleepy();
    assert_eq!(word(), 2 << jec | 3 << inactive | 2 << sleeping);
    counters.make_jec_sleepy();
    assert_eq!(word(), 3 << jec | 3 << inactive | 2 << sleeping);
    counters.sub_sleeping_and_inactive();
    assert_eq!(word(), 3 << jec | 2 << inactive | 1 << sleeping);

    let seen = counters.unpack(8 << jec | 6 << inactive | 5 << sleeping);
    assert_eq!((seen.sleeping(), seen.inactive(), seen.jec().0), (5, 6, 7));
}

#[test]
fn a_thread_that_remembers_another_jec_is_not_counted_as_sleeping() {
    let counters = AtomicCounters::new(Widths::DEFAULT);
    counters.add_inactive_thread();
    let sleepy = counters.make_jec_sleepy();
    counters.increment_jec_if_sleepy();
    let now = counters.try_add_sleeping_thread(sleepy).unwrap_err();
    assert_ne!(now.jec(), sleepy);
    assert_eq!((now.inactive(), now.sleeping()), (1, 0));
    assert_eq!(counters.load().sleeping(), 0);
}

#[test]
fn posting_makes_odd_and_getting_sleepy_makes_even() {
    let counters = AtomicCounters::new(Widths::DEFAULT);
    assert!(
        !counters.load().jec().is_sleepy(),
        "the first post changes nothing"
    );
    counters.make_jec_sleepy();

    let first = counters.increment_jec_if_sleepy().jec();
    assert!(!first.is_sleepy());
    assert_eq!(
        counters.increment_jec_if_sleepy().jec(),
        first,
        "a second post changes nothing"
    );

    let sleepy = counters.make_jec_sleepy();
    assert!(sleepy.is_sleepy());
    assert_eq!(
        counters.make_jec_sleepy(),
        sleepy,
        "a second sleepy worker shares the value"
    );
    assert_ne!(counters.increment_jec_if_sleepy().jec(), sleepy);
}

#[test]
fn rollover_of_the_jec_leaves_the_thread_counters_alone() {
    let counters = AtomicCounters::new(ONE_BIT);
    counters.add_inactive_thread();
    counters
        .try_add_sleeping_thread(counters.load().jec())
        .unwrap();
    for _ in 0..5 {
        assert!(!counters.increment_jec_if_sleepy().jec().is_sleepy());
        assert!(counters.make_jec_sleepy().is_sleepy());
        let now = counters.load();
        assert_eq!((now.inactive(), now.sleeping()), (1, 1));
    }
}

#[test]
fn a_thread_counter_at_its_limit_does_not_spill() {
    let counters = AtomicCounters::new(ONE_BIT);
    for _ in 0..ONE_BIT.max_threads() {
        counters.add_inactive_thread();
    }
    for _ in 0..ONE_BIT.max_threads() {
        counters
            .try_add_sleeping_thread(counters.load().jec())
            .unwrap();
    }
    let now = counters.load();
    assert_eq!((now.inactive(), now.sleeping()), (7, 7));
    assert_eq!(now.jec(), AtomicCounters::new(ONE_BIT).load().jec());
}

/// What a model relies on in order to find a count that is changed too early or too late.
#[cfg(debug_assertions)]
mod assertions {
    use super::*;

    fn one_sleeper() -> AtomicCounters {
        let counters = AtomicCounters::new(Widths::DEFAULT);
        counters.add_inactive_thread();
        counters
            .try_add_sleeping_thread(counters.load().jec())
            .unwrap();
        counters
    }

    #[test]
    #[should_panic = "the sleeping count would underflow"]
    fn a_sleeper_is_woken_once() {
        let counters = one_sleeper();
        counters.sub_sleeping_thread();
        counters.sub_sleeping_thread();
    }

    #[test]
    #[should_panic = "a sleeping thread found work"]
    fn a_sleeper_finds_no_work() {
        one_sleeper().sub_inactive_thread();
    }

    #[test]
    #[should_panic = "the inactive count would underflow"]
    fn an_active_thread_does_not_end_a_search() {
        AtomicCounters::new(Widths::DEFAULT).sub_inactive_thread();
    }

    #[test]
    #[should_panic = "a thread sleeps that is not inactive"]
    fn an_active_thread_does_not_sleep() {
        let counters = one_sleeper();
        let _ = counters.try_add_sleeping_thread(counters.load().jec());
    }
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Post,
    GetSleepy,
    AddInactive,
    SubInactive,
    AddSleeping,
    SubSleeping,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    prop::sample::select(
        &[
            Post,
            GetSleepy,
            AddInactive,
            SubInactive,
            AddSleeping,
            SubSleeping,
        ][..],
    )
}

/// The same counters, unpacked.
#[derive(Default)]
struct Model {
    jec: Word,
    inactive: usize,
    sleeping: usize,
}

fn agrees_with_model(operations: &[Operation], widths: Widths) {
    let counters = AtomicCounters::new(widths);
    let modulus = 1 << (Word::BITS - widths.jec_shift());
    let mut model = Model {
        jec: modulus - 1,
        ..Model::default()
    };
    for &operation in operations {
        match operation {
            Operation::Post => {
                model.jec = (model.jec | 1) % modulus;
                counters.increment_jec_if_sleepy();
            }
            Operation::GetSleepy => {
                model.jec = (model.jec + (model.jec & 1)) % modulus;
                counters.make_jec_sleepy();
            }
            Operation::AddInactive if model.inactive < widths.max_threads() => {
                model.inactive += 1;
                counters.add_inactive_thread();
            }
            Operation::SubInactive if model.inactive > model.sleeping => {
                model.inactive -= 1;
                let counters = counters.sub_inactive_thread();
                assert_eq!(counters.sleeping(), model.sleeping);
                assert_eq!(counters.inactive(), model.inactive);
            }
            Operation::AddSleeping if model.inactive > model.sleeping => {
                model.sleeping += 1;
                counters
                    .try_add_sleeping_thread(counters.load().jec())
                    .unwrap();
            }
            Operation::SubSleeping if model.sleeping > 0 => {
                model.sleeping -= 1;
                counters.sub_sleeping_thread();
            }
            _ => {}
        }
        let now = counters.load();
        assert_eq!(now.jec().0, model.jec);
        assert_eq!(
            (now.inactive(), now.sleeping()),
            (model.inactive, model.sleeping)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_agrees_with_the_unpacked_counters(
        operations in prop::collection::vec(operation(), 0..if cfg!(miri) { 80 } else { 200 })
    ) {
        agrees_with_model(&operations, Widths::DEFAULT);
        agrees_with_model(&operations, ONE_BIT);
    }
}
