//! The memory of a check: numbers of jobs that become visible as late as a processor may make them
//! so.

use std::vec::Vec;

/// The number of queues that a check plays.
pub(super) const QUEUES: usize = 3;
/// After so many fruitless searches in a row, all that was queued is visible. Even a processor that
/// executes no fence writes its buffers back in the end, and a worker that never sleeps relies on
/// that.
const FRUITLESS_SEARCHES: u32 = 20;
/// After so many, the searchers only wait for others, and it does not matter which of them is
/// interrupted where.
const MOST_THAT_MATTER: u32 = 8;

/// Queues, as counts of jobs, and what each actor sees of them.
///
/// What an actor queues stays in a buffer of its own until it executes a fence or unparks a worker.
/// What an actor sees in a last look, or when it looks for more work, is what was visible at its
/// last fence or its last search, whichever came later. Both are what a processor may do without a
/// fence, and here it is what always happens.
#[derive(Debug)]
pub(super) struct Memory {
    jobs: [usize; QUEUES],
    buffers: Vec<[usize; QUEUES]>,
    views: Vec<[usize; QUEUES]>,
    fruitless: u32,
}

impl Memory {
    pub(super) fn new(actors: usize) -> Self {
        Self {
            jobs: [0; QUEUES],
            buffers: std::vec![[0; QUEUES]; actors],
            views: std::vec![[0; QUEUES]; actors],
            fruitless: 0,
        }
    }

    /// Queues a job. Returns whether the queue was empty.
    pub(super) fn push(&mut self, me: usize, queue: usize) -> bool {
        self.stir();
        let before = self.jobs[queue] + self.buffers[me][queue];
        self.buffers[me][queue] += 1;
        before == 0
    }

    /// Takes a job out of one of these queues: a search. Returns whether there was one.
    pub(super) fn take(&mut self, me: usize, queues: &[usize]) -> bool {
        let found = queues.iter().find(|&&queue| self.jobs[queue] > 0);
        match found {
            Some(&queue) => {
                self.jobs[queue] -= 1;
                self.fruitless = 0;
            }
            None => {
                self.fruitless += 1;
                if self.fruitless > FRUITLESS_SEARCHES {
                    (0..self.buffers.len()).for_each(|actor| self.write_back(actor));
                }
            }
        }
        self.views[me] = self.jobs;
        found.is_some()
    }

    /// Whether one of these queues holds a job, as the actor saw them last.
    pub(super) fn is_seen(&self, me: usize, queues: &[usize]) -> bool {
        queues.iter().any(|&queue| self.views[me][queue] > 0)
    }

    /// Whether the searches of late have been so fruitless that the searchers only wait.
    pub(super) fn is_still(&self) -> bool {
        self.fruitless > FRUITLESS_SEARCHES / 2
    }

    /// Whether it does not matter any more where a searcher is interrupted.
    pub(super) fn only_waits(&self) -> bool {
        self.fruitless > MOST_THAT_MATTER
    }

    /// Begins to count fruitless searches anew.
    pub(super) fn stir(&mut self) {
        self.fruitless = 0;
    }

    pub(super) fn fence(&mut self, me: usize) {
        self.write_back(me);
        self.views[me] = self.jobs;
    }

    /// Makes what the actor has queued visible.
    pub(super) fn write_back(&mut self, me: usize) {
        for (jobs, buffered) in self.jobs.iter_mut().zip(&mut self.buffers[me]) {
            *jobs += std::mem::take(buffered);
        }
    }

    /// Shows the actor what is visible.
    pub(super) fn refresh(&mut self, me: usize) {
        self.views[me] = self.jobs;
    }
}
