//! Steps of the protocol one by one, in one thread: what other threads do at a certain step is done
//! in the look at the queues, or in `park`.

use std::{boxed::Box, cell::RefCell, rc::Rc, thread_local};

use super::*;
use crate::{index::UnknownWorker, parker::Parker};

type Step = Box<dyn FnOnce()>;

thread_local! {
    static IN_PARK: RefCell<Option<Step>> = const { RefCell::new(None) };
}

/// Parks by doing what a test prepared, which must end the wait.
struct Scripted;

impl Parker for Scripted {
    fn park(&self) {
        let step = IN_PARK.with(RefCell::take);
        step.expect("this worker must not park now")();
    }

    fn unpark(&self) {}
}

type Channel = ArrayChannel<Scripted, 2>;
type Workers<const N: usize> = Hints<Channel, [HintSlot<Channel>; N]>;

fn workers<const N: usize>() -> Rc<Workers<N>> {
    let slots = [const { HintSlot::new(Channel::new(Scripted)) }; N];
    Rc::new(Hints::from_array(slots, IdlePolicy::IMMEDIATE))
}

fn start<const N: usize>(sleep: &Workers<N>, index: usize) -> IdleState {
    sleep.start_looking(sleep.worker(index).unwrap())
}

fn assert_at_rest<const N: usize>(sleep: &Workers<N>) {
    assert_eq!(sleep.sleepers(), 0);
    assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
}

/// Sleeps, and runs a closure as another thread while the worker is parked.
fn sleep_while(
    sleep: &Rc<Workers<2>>,
    idle: &mut IdleState,
    other: impl FnOnce(&Workers<2>) + 'static,
) {
    let others = sleep.clone();
    IN_PARK.set(Some(Box::new(move || other(&others))));
    sleep.no_work_found(idle, &CoreLatch::new(), || false);
    assert!(IN_PARK.take().is_none(), "the worker parked");
}

#[test]
fn a_notification_wakes_a_sleeper_with_its_hint() {
    let sleep = workers();
    let mut idle = start(&sleep, 0);
    sleep_while(&sleep, &mut idle, |sleep| {
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (1, 1));
        sleep.notify(3, Hint::Worker(1));
        assert_eq!((sleep.sleepers(), sleep.num_sleeping()), (0, 0));
    });
    assert_eq!(sleep.take_hint(&mut idle), Some(Hint::Worker(1)));
    assert_eq!(sleep.take_hint(&mut idle), None);
    sleep.work_found(idle, || unreachable!("no worker sleeps"));
    assert_at_rest(&sleep);
}

#[test]
#[cfg_attr(miri, ignore = "65,536 slots")]
fn bad_sizes_and_indices_are_typed_errors() {
    let slots: Box<[_]> = (0..=MAX_WORKERS)
        .map(|_| HintSlot::new(Channel::new(Scripted)))
        .collect();
    let expected = TooManyWorkers {
        requested: 65_536,
        maximum: 65_535,
    };
    let error = Hints::from_slice(&slots, IdlePolicy::DEFAULT);
    assert_eq!(error.unwrap_err(), expected);
    let error = Hints::<Channel, _>::new(slots, IdlePolicy::DEFAULT);
    assert_eq!(error.unwrap_err(), expected);
    let error = workers::<2>().worker(2);
    assert_eq!(
        error.unwrap_err(),
        UnknownWorker {
            index: 2,
            workers: 2
        }
    );
}
