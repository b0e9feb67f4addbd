//! The thieves' end of a deque.

use core::{
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
};

mod batch;
mod followers;

use super::{
    Deque, Handle, Order, Position, Storage,
    bias::ProcessFence,
    ends::{Mode, Top},
};
use crate::{
    element::{Element, Slot},
    primitive::{Ordering, full_fence, interruption_point, spin_loop},
    steal::Steal,
};

/// How often a thief looks for the owner's answer, with a pause before each look: one to three
/// microseconds in all, depending on the processor's pause.
const ANSWER_LOOKS: usize = if cfg!(loom) { 1 } else { 64 };

/// A thief's handle to a [`Deque`]. Any number of them may be used by any threads.
///
/// # Examples
/// ```
/// use deque_core::{Steal, Worker};
///
/// let worker = Worker::new_lifo();
/// (1..=3).for_each(|job| worker.push(job));
/// let stealer = worker.stealer();
/// std::thread::spawn(move || assert_eq!(stealer.steal(), Steal::Success(1)))
///     .join()
///     .unwrap();
/// ```
#[derive(Clone, Copy)]
pub struct Stealer<H: Handle> {
    deque: H,
}

impl<H: Handle> UnwindSafe for Stealer<H> {}
impl<H: Handle> RefUnwindSafe for Stealer<H> {}

impl<H: Handle> Stealer<H> {
    /// Creates a thief's handle to this deque.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Fixed, Order, Steal, Stealer};
    ///
    /// static DEQUE: Deque<usize, Fixed<usize, 4>> = Deque::fixed(Order::Fifo);
    /// assert_eq!(Stealer::new(&DEQUE).steal(), Steal::Empty);
    /// ```
    pub fn new(deque: H) -> Self {
        Self { deque }
    }

    /// Returns the deque.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{ArcStealer, Order, Worker};
    ///
    /// let stealer: ArcStealer<usize> = Worker::new_fifo().stealer();
    /// assert_eq!(stealer.deque().order(), Order::Fifo);
    /// ```
    #[must_use]
    pub fn deque(&self) -> &Deque<H::Element, H::Storage> {
        &self.deque
    }

    /// Returns the approximate number of elements, see [`Deque::len`].
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// (0..3).for_each(|job| worker.push(job));
    /// assert_eq!(worker.stealer().len(), 3);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.deque.len()
    }

    /// Whether the deque has no element, see [`Deque::is_empty`].
    ///
    /// # Examples
    /// ```
    /// use deque_core::{ArcStealer, Worker};
    ///
    /// let stealer: ArcStealer<usize> = Worker::new_lifo().stealer();
    /// assert!(stealer.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }

    /// Steals the oldest element.
    ///
    /// `Retry` means that another thread took an element at the same time, or changed the mode in
    /// which owner and thieves divide the fences.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// (1..=3).for_each(|job| worker.push(job));
    /// let stealer = worker.stealer();
    /// let stolen = loop {
    ///     match stealer.steal() {
    ///         Steal::Success(job) => break Some(job),
    ///         Steal::Empty => break None,
    ///         Steal::Retry => {}
    ///     }
    /// };
    /// assert_eq!(stolen, Some(1));
    /// ```
    pub fn steal(&self) -> Steal<H::Element> {
        self.steal_if(|_| true, || ())
    }

    /// Steals the oldest element as [`steal`](Self::steal) does, but only if `accepts` returns true
    /// for its position. Otherwise the answer is [`Steal::Empty`], and the element stays.
    ///
    /// If the element is taken, it has been at that position since before the call of `accepts`. So
    /// a thief may decide based on what the owner published before it pushed the element.
    ///
    /// `on_revocation` is called if the attempt makes a [biased](Deque::with_process_fence) owner
    /// take fences again, so that a thief can count this.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push(1);
    /// let begin = worker.next_position();
    /// worker.push(2);
    /// let steal_newer = || worker.stealer().steal_if(|it| it.is_at_or_after(begin), || ());
    /// assert_eq!(steal_newer(), Steal::Empty);
    /// assert_eq!(worker.stealer().steal(), Steal::Success(1));
    /// assert_eq!(steal_newer(), Steal::Success(2));
    /// ```
    pub fn steal_if(
        &self,
        accepts: impl FnOnce(Position) -> bool,
        on_revocation: impl FnOnce(),
    ) -> Steal<H::Element> {
        let Some((top, available)) = self.observe(on_revocation) else {
            return Steal::Retry;
        };
        if available == 0 {
            return Steal::Empty;
        }
        // The words must be read before the compare-exchange: after it the owner may overwrite
        // them (crossbeam#148, #149).
        let buffer = self.deque.shared.storage.buffer();
        let words = buffer.slot(top.position()).load();
        if !accepts(top.position()) {
            return Steal::Empty;
        }
        if self.deque.top.claim(top, 1).is_err() {
            return Steal::Retry;
        }
        // SAFETY: 1. the words were whole: `observe` acquired the push at this position, and a
        // later element comes into its cell only after `top` has moved on, which it had not; 2.
        // moving `top` makes them ours.
        Steal::Success(unsafe { H::Element::from_words(words) })
    }

    /// Reads the deque consistently: returns `top`, and how many elements there are from it on.
    /// Returns `None` if another thread has changed `top` at the same time.
    fn observe(&self, on_revocation: impl FnOnce()) -> Option<(Top, usize)> {
        let deque = &*self.deque;
        // Ordering: Acquire pairs with `AtomicTop::end_revocation` and `AtomicTop::bias`: in the
        // mode that we find, we may rely on what led to it.
        let mut top = deque.top.load(Ordering::Acquire);
        if deque.shared.order == Order::Lifo {
            match (top.mode(), deque.shared.fence) {
                // Ordering: pairs with the owner's fence in `Worker::load_top_after_fence`, see
                // there. Needed although `top` is confirmed by the compare-exchange: that does not
                // say whether `bottom` was read before the owner lowered it. A FIFO owner never
                // lowers it.
                (Mode::Fenced | Mode::Open, _) | (_, None) => full_fence(),
                (Mode::Biased, Some(_)) if deque.is_empty() => return Some((top, 0)),
                (Mode::Biased, Some(fence)) => {
                    interruption_point();
                    if !deque.top.begin_revocation(top) {
                        return None;
                    }
                    // If this unwinds, the revocation stays, as below.
                    on_revocation();
                    match self.await_owner_fence(fence) {
                        Some(source) => {
                            deque.top.end_revocation(source == FenceSource::Answer);
                            top = top.fenced();
                        }
                        // The revocation stays: the owner answers it with its next pop.
                        None => return self.observe_without_fence(top),
                    }
                }
                // The revoking thief's fence or answer may not have come yet.
                (Mode::Revoking, Some(fence)) => {
                    if self.await_owner_fence(fence).is_none() {
                        return self.observe_without_fence(top);
                    }
                }
            }
        }
        Some((top, self.available(top)))
    }

    /// Reads the deque as [`observe`](Self::observe) does, but also returns `None` if a thread
    /// would have to take a fence for it first. Calls no code of the user.
    fn observe_unless_revoked(&self) -> Option<(Top, usize)> {
        let deque = &*self.deque;
        // Ordering: as in `observe`.
        let top = deque.top.load(Ordering::Acquire);
        if deque.shared.order == Order::Lifo {
            if !top.is_fenced() && deque.shared.fence.is_some() {
                return None;
            }
            // Ordering: as in `observe`.
            full_fence();
        }
        Some((top, self.available(top)))
    }

    /// Returns how many elements there are from `top` on, after the fences that `top` requires.
    fn available(&self, top: Top) -> usize {
        interruption_point();
        // Ordering: Acquire pairs with `AtomicBottom::publish`: cells, ring and elements are
        // visible.
        let bottom = self.deque.bottom.load(Ordering::Acquire);
        interruption_point();
        top.position().count_to(bottom)
    }

    /// Waits a moment for the owner's answer, which comes with its next pop, and otherwise makes
    /// the owner take a fence. Returns `None` if neither happens: the owner has not popped, and the
    /// system refuses the fence.
    fn await_owner_fence(&self, fence: &ProcessFence) -> Option<FenceSource> {
        // Liveness: this waits for a limited time only.
        let is_answered = (0..ANSWER_LOOKS).any(|_| {
            spin_loop();
            self.deque.top.is_answered()
        });
        if is_answered {
            // Ordering: pairs with the owner's fence before `AtomicTop::answer`, so that we see
            // every `bottom` that it wrote without a fence. It also pairs with the fences that the
            // owner takes from now on.
            full_fence();
            return Some(FenceSource::Answer);
        }
        // Ordering: pairs with the owner's light fence in `Worker::try_take_newest`, where a full
        // one is missing.
        (fence.heavy)().then_some(FenceSource::System)
    }

    /// Returns what a thief knows without any fence of the owner: that the deque is empty, or
    /// nothing.
    fn observe_without_fence(&self, top: Top) -> Option<(Top, usize)> {
        self.deque.is_empty().then_some((top, 0))
    }
}

/// Where the owner's fence has come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FenceSource {
    /// The owner has answered.
    Answer,
    /// A process fence.
    System,
}

impl<H: Handle> fmt::Debug for Stealer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("deque", &*self.deque)
            .finish()
    }
}
