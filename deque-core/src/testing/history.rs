//! What several threads called at the same time, and whether some order of the calls explains what
//! they returned.
//!
//! The search is that of Wing and Gong (*Testing and verifying concurrent objects*, Journal of
//! Parallel and Distributed Computing, 1993), with Lowe's memory of states that were tried.

use core::hash::Hash;
use std::{
    collections::{HashSet, VecDeque},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
    vec::Vec,
};

use super::threads::xorshift32;
use crate::{Deque, Steal, Storage, Worker};

/// A call, what it returned, and when.
#[derive(Debug, Clone)]
pub(crate) struct Call<C> {
    call: C,
    begin: usize,
    end: usize,
}

/// What one thread alone would see: the state of a queue.
pub(crate) trait Sequential: Clone + Eq + Hash {
    /// A call with what it returned.
    type Call;

    /// Makes the call, and says whether it would return that.
    fn explains(&mut self, call: &Self::Call) -> bool;
}

/// A call of a queue, and what it returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Made {
    Push(usize),
    /// There was no room.
    Refused,
    /// What the owner took.
    Pop(Option<usize>),
    /// What any thread took.
    Steal(Option<usize>),
}

impl Made {
    /// Returns the steps of a steal that may have moved elements to a deque of the thief's own.
    /// Other threads may come in between.
    pub(crate) fn by_thief<S: Storage<usize>>(
        stolen: Steal<usize>,
        own: &Worker<&Deque<usize, S>>,
    ) -> Vec<Self> {
        let first = match stolen {
            Steal::Retry => return Vec::new(),
            Steal::Empty => None,
            Steal::Success(element) => Some(element),
        };
        let others = core::iter::from_fn(|| own.pop()).map(Some);
        [first].into_iter().chain(others).map(Self::Steal).collect()
    }
}

/// A queue that one thread uses at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Queue {
    pub(crate) elements: VecDeque<usize>,
    /// Whether the owner takes the newest element.
    pub(crate) is_lifo: bool,
    pub(crate) capacity: usize,
}

impl Sequential for Queue {
    type Call = Made;

    fn explains(&mut self, call: &Made) -> bool {
        let has_room = self.elements.len() < self.capacity;
        match *call {
            Made::Push(element) => {
                self.elements.push_back(element);
                has_room
            }
            Made::Refused => !has_room,
            Made::Pop(popped) if self.is_lifo => self.elements.pop_back() == popped,
            Made::Pop(taken) | Made::Steal(taken) => self.elements.pop_front() == taken,
        }
    }
}

/// A generator of numbers, so that threads do something else in each history.
pub(crate) struct Random(pub(crate) u32);

impl Random {
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 = xorshift32(self.0);
        self.0 % end
    }
}

/// The time of a history: a number for each begin and each end of a call.
#[derive(Default)]
struct Clock(AtomicUsize);

/// What one thread has called.
pub(crate) struct Recorder<'c, C> {
    clock: &'c Clock,
    calls: Vec<Call<C>>,
}

impl<C> Recorder<'_, C> {
    /// Makes a call that is none, one or several steps for other threads: those that it returns.
    pub(crate) fn record<R: IntoIterator<Item = C>>(&mut self, act: impl FnOnce() -> R) {
        let begin = self.clock.0.fetch_add(1, SeqCst);
        let steps = act();
        let end = self.clock.0.fetch_add(1, SeqCst);
        let steps = steps.into_iter().map(|call| Call { call, begin, end });
        self.calls.extend(steps);
    }
}

/// What a thread does that is recorded.
type Act<'a, C> = dyn Fn(&mut Recorder<'_, C>) + Sync + 'a;

/// Runs threads at the same time, and returns what they called.
pub(crate) fn record<C: Send>(threads: &[&Act<'_, C>]) -> Vec<Call<C>> {
    let clock = Clock::default();
    // Threads that sleep would be woken one after the other.
    let to_come = AtomicUsize::new(threads.len());
    thread::scope(|scope| {
        let threads: Vec<_> = threads
            .iter()
            .map(|act| {
                scope.spawn(|| {
                    let mut recorder = Recorder {
                        clock: &clock,
                        calls: Vec::new(),
                    };
                    to_come.fetch_sub(1, SeqCst);
                    while to_come.load(SeqCst) > 0 {
                        thread::yield_now();
                    }
                    act(&mut recorder);
                    recorder.calls
                })
            })
            .collect();
        let calls = threads.into_iter().map(|thread| thread.join().unwrap());
        calls.flatten().collect()
    })
}

/// Whether the calls could have been made one after the other, each at a moment between its begin
/// and its end.
///
/// # Panics
/// If there are more than 64 calls.
pub(crate) fn is_linearizable<S: Sequential>(begin: S, calls: &[Call<S::Call>]) -> bool {
    assert!(calls.len() <= 64, "the calls that were made are bits");
    let mut tried = HashSet::new();
    let mut left = Vec::from([(begin, 0_u64)]);
    while let Some((state, made)) = left.pop() {
        if made.count_ones() as usize == calls.len() {
            return true;
        }
        let waits = |place: &usize| made & 1 << place == 0;
        let waiting = (0..calls.len()).filter(waits);
        // What has ended before another call began comes before it.
        let first_end = waiting.clone().map(|place| calls[place].end).min();
        for place in waiting.filter(|&place| Some(calls[place].begin) < first_end) {
            let mut next = state.clone();
            let made = made | 1 << place;
            if next.explains(&calls[place].call) && tried.insert((next.clone(), made)) {
                left.push((next, made));
            }
        }
    }
    false
}

mod tests {
    use super::*;

    fn call(call: Made, begin: usize, end: usize) -> Call<Made> {
        Call { call, begin, end }
    }

    fn is_explained(calls: &[Call<Made>]) -> bool {
        let queue = Queue {
            elements: VecDeque::new(),
            is_lifo: true,
            capacity: 2,
        };
        is_linearizable(queue, calls)
    }

    #[test]
    fn calls_at_the_same_time_come_in_any_order() {
        let steal = |result| call(Made::Steal(result), 1, 4);
        for result in [None, Some(7)] {
            assert!(is_explained(&[call(Made::Push(7), 0, 3), steal(result)]));
        }
    }

    #[test]
    fn a_call_that_has_ended_comes_before_one_that_begins() {
        let push = call(Made::Push(7), 0, 1);
        assert!(!is_explained(&[push, call(Made::Steal(None), 2, 3)]));
    }

    #[test]
    fn nothing_is_taken_twice_or_out_of_order() {
        let pushes = [call(Made::Push(1), 0, 1), call(Made::Push(2), 2, 3)];
        let then = |calls: [Made; 2]| {
            let calls = calls.map(|made| call(made, 4, 5));
            is_explained(&[&pushes[..], &calls].concat())
        };
        assert!(then([Made::Steal(Some(1)), Made::Pop(Some(2))]));
        assert!(!then([Made::Steal(Some(1)), Made::Pop(Some(1))]));
        assert!(!then([Made::Steal(Some(2)), Made::Pop(Some(1))]));
        assert!(then([Made::Refused, Made::Pop(Some(2))]));
        assert!(!then([Made::Push(3), Made::Steal(Some(3))]));
    }
}
