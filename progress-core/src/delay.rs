//! Delays by threads that have no participant.

use core::fmt;

use crossbeam_utils::CachePadded;
use sleep_primitives::{AtomicUsize, RawWord};

mod counters;
mod own_word;
#[cfg(all(test, not(loom)))]
mod tests;

use self::{
    counters::{Counters, end},
    own_word::OwnWord,
};
use crate::{AsymmetricFence, Domain, Progress, moment::next};

impl<D: Domain> Progress<D> {
    /// Delays progress, so that a thread which is not managed may read. Any number of threads may
    /// delay, any number of times. The guard should be dropped soon.
    ///
    /// Costs a read-modify-write of one of a few cache lines that all such threads share, a store,
    /// and two light fences. Beside another delay in the same line, it costs two
    /// read-modify-writes. A thread that reads often should use a [`Reader`](crate::Reader), which
    /// touches only its own cache line.
    ///
    /// # Panics
    /// On targets with less than 64 bits, panics if about a billion delays were forgotten.
    #[doc(alias = "thread_progress_unmanaged_delay")]
    #[inline]
    pub fn delay(&self) -> Delay<'_, D> {
        let own_word = &self.delays.lines[line_of_this_stack()].own_word;
        let place = match own_word.try_begin::<D::Fence>(&self.shared.state) {
            true => Place::Own(own_word),
            false => self.begin_counted(),
        };
        Delay {
            progress: self,
            place,
        }
    }

    /// Delays progress as beside another delay in the same line.
    #[cfg(all(test, any(loom, not(target_pointer_width = "64"))))]
    pub(crate) fn delay_counted(&self) -> Delay<'_, D> {
        Delay {
            progress: self,
            place: self.begin_counted(),
        }
    }

    /// Begins a delay beside another one in the same line.
    // Not inlined, and neither is `end_in`, so that the guard of a delay with its own word stays in
    // registers.
    #[inline(never)]
    fn begin_counted(&self) -> Place<'_> {
        let counters = &self.delays.lines[line_of_this_stack()].counters;
        let end = |wrong: &_| self.end_counted(wrong);
        Place::Counted(counters.begin::<D::Fence>(&self.shared.state, end))
    }

    fn end_counted(&self, counter: &AtomicUsize) {
        if end(counter) {
            self.advance_after_delay();
        }
    }

    /// Makes progress after a delay with its own word, and ends one in a counter.
    #[inline(never)]
    fn end_in(&self, place: Place<'_>) {
        match place {
            Place::Own(_) => self.advance_while_needed(),
            Place::Counted(counter) => self.end_counted(counter),
        }
    }

    #[cold]
    fn advance_after_delay(&self) {
        // Ordering: pairs with the heavy fence in `lead_while_needed` of a leader that stops:
        // either the leader sees that the delay has ended, or this thread finds the leadership
        // free. If there is no fence, there is no progress either.
        let _ = D::Fence::heavy();
        self.advance_while_needed();
    }
}

/// Delays progress while it lives. Created by [`Progress::delay`].
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let moment = progress.later();
/// {
///     let _delay = progress.delay(); // any thread, without a participant
///     // ... reads of shared structures ...
/// }
/// assert!(progress.has_reached(moment));
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[must_use = "the delay ends when the guard is dropped"]
pub struct Delay<'p, D: Domain> {
    progress: &'p Progress<D>,
    place: Place<'p>,
}

/// Where a delay is noted.
#[derive(Clone, Copy)]
enum Place<'p> {
    Own(&'p OwnWord),
    Counted(&'p AtomicUsize),
}

impl<D: Domain> Drop for Delay<'_, D> {
    #[inline]
    fn drop(&mut self) {
        if let Place::Own(word) = self.place {
            word.end::<D::Fence>();
            if !self.progress.state().has_wakeups() {
                return;
            }
        }
        self.progress.end_in(self.place);
    }
}

impl<D: Domain> fmt::Debug for Delay<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delay").finish_non_exhaustive()
    }
}

/// The number of lines. Models have one, because each further line is only more to explore.
const LINES: usize = match cfg!(loom) {
    true => 1,
    false => usize::BITS as usize / 8,
};

/// The delays, in several cache lines, so that threads on different stacks seldom write the same
/// line. An advance looks at all of them.
pub(crate) struct Delays {
    lines: [CachePadded<Line>; LINES],
}

struct Line {
    /// Of the first delay. It takes half the time of one in the counters.
    own_word: OwnWord,
    /// Of those that come while another delay has the word.
    counters: Counters,
}

impl Delays {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            #[cfg(not(loom))]
            let lines = [const { CachePadded::new(Line::new()) }; LINES];
            #[cfg(loom)]
            let lines = [(); LINES].map(|()| CachePadded::new(Line::new()));
            Self { lines }
        }
    }

    /// Whether no delay stands in the way of the advance from `current`. If one does, it ends
    /// knowing that others wait: it has its own word, or is marked. Only the leader may call this.
    pub(crate) fn try_pass(&self, current: RawWord) -> bool {
        let next = next(current);
        self.lines
            .iter()
            .all(|line| line.own_word.may_pass(next) && line.counters.try_pass(next))
    }

    /// Whether a delay stands in the way of the advance from `current`, and makes progress when it
    /// ends. One that no leader has marked yet does not. Any thread may call this.
    pub(crate) fn are_awaited(&self, current: RawWord) -> bool {
        let next = next(current);
        self.lines
            .iter()
            .any(|line| line.counters.are_awaited(next) || !line.own_word.may_pass(next))
    }

    /// Adds to all counters, as that many forgotten delays do.
    #[cfg(all(test, not(loom), not(target_pointer_width = "64")))]
    pub(crate) fn add_to_all(&self, count: usize) {
        self.lines.iter().for_each(|line| line.counters.add(count));
    }

    /// Returns the number of delays that let the next advance pass and of those that do not. Debug
    /// output only.
    pub(crate) fn counts(&self, current: RawWord) -> impl fmt::Debug {
        let (next, mut counts) = (next(current), Counts::default());
        for line in &self.lines {
            counts.current += line.counters.count(current);
            counts.awaited += line.counters.count(next);
            match line.own_word.confirmed() {
                None => {}
                Some(value) if value == next => counts.current += 1,
                Some(_) => counts.awaited += 1,
            }
        }
        counts
    }
}

impl Line {
    const_unless_loom! {
        fn new() -> Self {
            Self { own_word: OwnWord::new(), counters: Counters::new() }
        }
    }
}

/// Returns the line that a thread uses. Threads with different stacks mostly use different lines.
///
/// Neighboring stacks are a power of two of pages apart, or one or two pages more where they have
/// guard pages. None of these distances is a multiple of seven, so the remainder by seven, spread
/// over the lines, tells neighbors apart. It does so for all of them where there are seven lines
/// or more.
#[inline]
fn line_of_this_stack() -> usize {
    let here = 0_u8;
    line_of((&raw const here).addr())
}

#[inline]
const fn line_of(address: usize) -> usize {
    /// A stack that is smaller than this may share its line with its neighbor.
    const PAGE: usize = 1 << 12;
    /// Two sevenths: a product with it, without its overflow, tells the remainder by seven.
    const FACTOR: usize = usize::MAX / 7 * 2;
    if LINES == 1 {
        return 0;
    }
    (address / PAGE).wrapping_mul(FACTOR) / (usize::MAX / LINES + 1)
}

#[derive(Debug, Default)]
struct Counts {
    current: usize,
    awaited: usize,
}
