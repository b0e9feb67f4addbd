//! Random sequences on one thread, against a model: each participant and delay that could be
//! reading when a moment was requested must have let go when it is reached.

use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;

const THREADS: usize = 3;
const READERS: usize = 2;

#[derive(Debug, Clone)]
enum Step {
    Enter(usize),
    Leave(usize),
    Update(usize),
    LeaderUpdate(usize),
    BeginDelay,
    EndDelay(usize),
    BeginReading(usize),
    EndReading(usize),
    Later(usize),
    Schedule(usize),
    Run(usize),
    AdvanceWhileNeeded,
    Poll(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let thread = || 0..THREADS;
    let step = prop_oneof![
        2 => thread().prop_map(Step::Enter),
        1 => thread().prop_map(Step::Leave),
        6 => thread().prop_map(Step::Update),
        6 => thread().prop_map(Step::LeaderUpdate),
        1 => Just(Step::BeginDelay),
        1 => (0..8_usize).prop_map(Step::EndDelay),
        1 => (0..READERS).prop_map(Step::BeginReading),
        1 => (0..READERS).prop_map(Step::EndReading),
        2 => thread().prop_map(Step::Later),
        2 => thread().prop_map(Step::Schedule),
        2 => thread().prop_map(Step::Run),
        1 => Just(Step::AdvanceWhileNeeded),
        1 => (0..8_usize).prop_map(Step::Poll),
    ];
    prop::collection::vec(step, 1..120)
}

/// A moment, and what stood in the way when it was requested and has not let go since.
#[derive(Clone)]
struct Requested<'p> {
    value: Moment<'p>,
    threads: [bool; THREADS],
    readers: [bool; READERS],
    delays: Vec<usize>,
}

type Thread<'p> = ManagedThread<'p, TestDomain>;

fn is_active(thread: &Thread<'_>) -> bool {
    thread.is_active()
}

/// Calls a closure with the guard of a thread, if the thread is active.
fn with_active<'p>(thread: &mut Thread<'p>, act: impl FnOnce(&mut Active<'_, 'p, TestDomain>)) {
    if is_active(thread) {
        let mut active = Active {
            registration: thread.registration,
            thread,
            has_updated: true,
        };
        act(&mut active);
        core::mem::forget(active);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4 * ProptestConfig::default().cases,
        ..ProptestConfig::default()
    })]

    #[test]
    #[cfg_attr(miri, ignore = "one thread, and the generator takes minutes")]
    fn any_steps_overtake_no_reader(start in 0..6_u8, steps in steps()) {
        check(start, steps)?;
    }
}

/// Runs a sequence that has failed before.
#[test]
fn a_thread_that_enters_again_is_not_overtaken() {
    use Step::{Enter, Later};
    let steps = vec![Enter(0), Enter(1), Enter(0), Enter(0), Later(0)];
    check(0, steps).unwrap();
}

/// Runs a sequence of steps, the first value being so many steps before the wrap-around.
fn check(start: u8, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let progress = starting_at(before_the_end(start), THREADS + READERS);
    let mut threads: Vec<Thread<'_>> = (0..THREADS).map(|_| progress.register().unwrap()).collect();
    let mut readers: Vec<_> = (0..READERS)
        .map(|_| progress.register_reader().unwrap())
        .collect();
    let mut reading = [false; READERS];
    let mut delays = Vec::new();
    let mut moments: Vec<Requested<'_>> = Vec::new();
    let mut next_delay = 0;
    let tally = StdArc::new(Tally::new(0));
    let mut scheduled = 0;

    for step in steps {
        match step {
            Step::Enter(index) if !is_active(&threads[index]) => threads[index].enter(),
            Step::Leave(index) if is_active(&threads[index]) => {
                threads[index].stop_leading();
                threads[index].registration.leave();
                moments
                    .iter_mut()
                    .for_each(|moment| moment.threads[index] = false);
            }
            Step::Update(index) => with_active(&mut threads[index], |active| {
                let _ = active.update();
                moments
                    .iter_mut()
                    .for_each(|moment| moment.threads[index] = false);
            }),
            Step::LeaderUpdate(index) => with_active(&mut threads[index], |active| {
                active.leader_update();
                moments
                    .iter_mut()
                    .for_each(|moment| moment.threads[index] = false);
            }),
            Step::BeginDelay => {
                delays.push((next_delay, progress.delay()));
                next_delay += 1;
            }
            Step::EndDelay(index) if index < delays.len() => {
                let (number, delay) = delays.remove(index);
                drop(delay);
                for moment in &mut moments {
                    moment.delays.retain(|delay| *delay != number);
                }
            }
            Step::BeginReading(index) => {
                // The reader forgets its guard and begins again: what it read before does not
                // count any more.
                core::mem::forget(readers[index].delay());
                reading[index] = true;
                moments
                    .iter_mut()
                    .for_each(|moment| moment.readers[index] = false);
            }
            Step::EndReading(index) if reading[index] => {
                readers[index].registration.leave();
                reading[index] = false;
                moments
                    .iter_mut()
                    .for_each(|moment| moment.readers[index] = false);
            }
            Step::Later(index) => {
                let mut value = progress.later();
                with_active(&mut threads[index], |active| value = active.later());
                prop_assert!(!is_reached(progress.current(), value.raw));
                let mut active = [false; THREADS];
                for (active, thread) in active.iter_mut().zip(&threads) {
                    *active = is_active(thread);
                }
                moments.push(Requested {
                    value,
                    threads: active,
                    readers: reading,
                    delays: delays.iter().map(|(number, _)| *number).collect(),
                });
            }
            Step::Schedule(index) => {
                threads[index].schedule(counting(&tally));
                scheduled += 1;
            }
            Step::Run(index) => {
                threads[index].run_reached();
            }
            Step::AdvanceWhileNeeded => progress.advance_while_needed(),
            Step::Poll(index) if index < moments.len() => {
                progress.has_reached(moments[index].value);
            }
            _ => {}
        }
        for moment in &moments {
            if is_reached(progress.current(), moment.value.raw) {
                prop_assert_eq!(moment.threads, [false; THREADS], "{:?}", progress);
                prop_assert_eq!(moment.readers, [false; READERS], "{:?}", progress);
                prop_assert!(moment.delays.is_empty(), "{:?}", progress);
            }
        }
    }

    // Nothing stands in the way any more, so every moment is reached and every operation runs.
    drop((delays, readers));
    for thread in &mut threads {
        if is_active(thread) {
            thread.stop_leading();
            thread.registration.leave();
        }
    }
    for _ in 0..2 {
        let last = progress.later();
        threads[0].wait_for(last);
    }
    for moment in &moments {
        prop_assert!(progress.has_reached(moment.value));
    }
    drop(moments);
    threads[1].run_reached();
    drop(threads);
    drop(progress);
    prop_assert_eq!(tally.load(SeqCst), scheduled);
    Ok(())
}
