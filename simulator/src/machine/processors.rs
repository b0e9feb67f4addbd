//! Processors that threads share, if there are fewer of them than threads.

use std::collections::VecDeque;

use super::Machine;
use crate::cost::MS;

/// How long a thread keeps its processor while others wait for one.
const SLICE: u64 = MS;

/// Which threads have a processor, and which are ready and wait for one.
///
/// A thread keeps its processor until it waits, yields or ends, or until its slice is over. Then
/// the thread that has waited longest gets it. A thread that is woken takes a processor from no
/// other.
pub(super) struct Processors {
    total: usize,
    busy: usize,
    waiting: VecDeque<usize>,
}

impl Processors {
    pub(super) fn new(total: usize) -> Self {
        Self {
            total,
            busy: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Whether a thread waits that is ready.
    pub(super) fn are_wanted(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl Machine {
    /// Gives a processor to a thread that is ready at a time, or keeps the one that it has. Returns
    /// false if it has to wait for one.
    pub(super) fn take_processor(&mut self, thread: usize, at: u64) -> bool {
        match self.threads[thread].slice_ends {
            None if self.processors.busy < self.processors.total => {
                self.processors.busy += 1;
                self.threads[thread].slice_ends = Some(at + SLICE);
                true
            }
            Some(end) if at <= end || !self.processors.are_wanted() => true,
            has_processor => {
                self.threads[thread].clock = at;
                self.processors.waiting.push_back(thread);
                if has_processor.is_some() {
                    self.leave_processor(thread, at);
                }
                false
            }
        }
    }

    /// Takes the processor from a thread, and gives it to the one that has waited longest.
    pub(super) fn leave_processor(&mut self, thread: usize, at: u64) {
        self.threads[thread].slice_ends = None;
        match self.processors.waiting.pop_front() {
            None => self.processors.busy -= 1,
            Some(next) => {
                let at = at.max(self.threads[next].clock) + self.settings.costs.park;
                self.threads[next].slice_ends = Some(at + SLICE);
                self.push(next, at);
            }
        }
    }

    /// Lets the running thread wait until the others that are ready have had their turns.
    pub(super) fn give_turn(&mut self) {
        let (thread, now) = (self.running, self.now);
        self.threads[thread].clock = now;
        self.processors.waiting.push_back(thread);
        self.leave_processor(thread, now);
    }
}
