//! Entries on their way into a ring, and what happens to them if the kernel refuses them
//! permanently.

use std::{collections::VecDeque, mem};

use io_uring::squeue::Entry;

use crate::ring::IGNORED;

/// Entries that the kernel has not taken yet.
///
/// The kernel takes entries only in a call that asks for it. After a permanent refusal, no such
/// call is made any more. So the entries that are then in the kernel's queue are ours again, with
/// everything that they refer to.
#[derive(Default)]
pub(super) struct Submission {
    /// Entries for which the kernel's queue has had no room yet, oldest first.
    waiting: VecDeque<Entry>,
    /// The values of the entries in the kernel's queue, oldest first.
    queued: VecDeque<u64>,
    /// The error with which the kernel has refused permanently.
    error: Option<i32>,
    /// The values of the entries that were refused permanently.
    refused: Vec<u64>,
}

/// Whether a call that has failed with this error would fail again. Other errors come from signals,
/// or from a lack of memory.
pub(super) fn is_for_good(error: i32) -> bool {
    ![libc::EAGAIN, libc::EBUSY, libc::EINTR, libc::ENOMEM].contains(&error)
}

impl Submission {
    pub(super) fn push(&mut self, entry: Entry) {
        self.waiting.push_back(entry);
    }

    /// Moves entries into the kernel's queue with `push`, until it returns false.
    pub(super) fn queue(&mut self, mut push: impl FnMut(&Entry) -> bool) {
        while let Some(entry) = self.waiting.front() {
            if !push(entry) {
                return;
            }
            self.queued.push_back(entry.get_user_data());
            self.waiting.pop_front();
        }
    }

    /// Sets the number of entries that are left in the kernel's queue.
    pub(super) fn set_queued(&mut self, left: usize) {
        self.queued.drain(..self.queued.len() - left);
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the error with which the kernel has refused permanently.
    pub(super) fn error(&self) -> Option<i32> {
        self.error
    }

    /// Abandons all entries. The kernel must not be asked to take entries any more.
    pub(super) fn refuse_for_good(&mut self, error: i32) {
        self.error = Some(error);
        let waiting = self.waiting.drain(..).map(|entry| entry.get_user_data());
        let all = self.queued.drain(..).chain(waiting);
        self.refused.extend(all.filter(|&data| data != IGNORED));
    }

    pub(super) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Takes the values of the entries that were refused permanently.
    pub(super) fn take_refused(&mut self) -> Vec<u64> {
        mem::take(&mut self.refused)
    }

    #[cfg(test)]
    pub(super) fn num_waiting(&self) -> usize {
        self.waiting.len()
    }
}
