//! The owner's pushes.

use core::{fmt, mem};

use super::Worker;
#[cfg(doc)]
use crate::deque::Deque;
#[cfg(feature = "alloc")]
use crate::deque::Growable;
use crate::{
    deque::{Handle, Order, Position, Storage, ends::AtomicBottom},
    element::{Element, Slot},
    primitive::{Ordering, full_fence, interruption_point, light_fence},
};

impl<H: Handle> Worker<H> {
    /// Adds an element. Returns its position.
    ///
    /// # Errors
    /// Gives the element back if a deque of fixed capacity is full.
    ///
    /// # Panics
    /// If a growing deque has 2<sup>`usize::BITS` - 5</sup> elements already.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Fixed, Full, Order};
    ///
    /// let deque = Deque::<_, Fixed<_, 1>>::fixed(Order::Lifo);
    /// let worker = deque.worker()?;
    /// worker.try_push("first")?;
    /// assert_eq!(worker.try_push("second"), Err(Full("second")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_push(&self, element: H::Element) -> Result<Position, Full<H::Element>> {
        // First of all: this is code of the element's type, which may use the deque.
        let words = element.into_words();
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque.bottom.load(Ordering::Relaxed);
        if bottom == self.fast_push_limit.get() && self.make_room(bottom, 1) == 0 {
            // SAFETY: 1. the words are from just now; 2. they are in no cell.
            return Err(Full(unsafe { H::Element::from_words(words) }));
        }
        self.put(bottom, words);
        Ok(match self.order {
            Order::Lifo => bottom,
            // What the owner takes is never the newest.
            Order::Fifo => Position::NOWHERE,
        })
    }

    /// Returns the position of the element that is pushed next.
    ///
    /// # Examples
    /// See [`Position`].
    #[doc(alias = "next_place")]
    #[inline]
    #[must_use]
    pub fn next_position(&self) -> Position {
        // Ordering: Relaxed, only the owner writes it.
        self.deque.bottom.load(Ordering::Relaxed)
    }

    /// Adds an element at the next position if the worker knows of room, and then checks whether
    /// fast push is still [enabled](Self::enable_fast_push).
    ///
    /// In a LIFO deque this takes one load and two comparisons more than the push itself. In a FIFO
    /// deque fast push is never enabled, and the element can never be [taken
    /// back](Self::take_back).
    ///
    /// # Safety
    /// 1. [`next_position`](Self::next_position) has given the position, and this worker has pushed
    ///    and taken nothing since, and was not the destination of a batch; nor does
    ///    [`Element::into_words`] lead to any of that.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{FastPush, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push(0);
    /// worker.enable_fast_push(|| true);
    /// // SAFETY: 1. the position is the next one, and nothing comes between.
    /// let pushed = unsafe { worker.fast_push(worker.next_position(), 1) };
    /// assert_eq!(pushed, FastPush::Pushed);
    /// assert_eq!(worker.pop(), Some(1));
    /// ```
    #[doc(alias = "push_at")]
    #[inline]
    pub unsafe fn fast_push(&self, position: Position, element: H::Element) -> FastPush
    where
        H::Element: Copy,
    {
        let words = element.into_words();
        debug_assert_eq!(position, self.next_position());
        if position == self.fast_push_limit.get() {
            return FastPush::LimitReached;
        }
        // This address is computed before the fence, after which the compiler would compute it
        // again.
        let end = &self.deque.bottom;
        self.put(position, words);
        // After the push, not before it: whatever interrupts the worker between the two, a thread
        // that looked too early to see the element has disabled fast push by now.
        if end.fast_push_enabled() {
            FastPush::Pushed
        } else {
            FastPush::PushedWhileDisabled
        }
    }

    /// Adds an element at `bottom`, where there is room. A process fence orders this push before
    /// what the caller reads next, see [`Deque::disable_fast_push`].
    #[inline]
    fn put(&self, bottom: Position, words: <H::Element as Element>::Words) {
        // This address is computed before the cell is written, after which the compiler would
        // compute it again.
        let end = &self.deque.bottom;
        self.slot(bottom).store(words);
        interruption_point();
        end.publish(bottom.plus(1));
        // Ordering: keeps the compiler from loading the fast-push flag before the store above. The
        // processor may still do so while the store is in its buffer, unless the disabling thread
        // calls a process fence, or the system interrupts this thread.
        light_fence();
    }

    /// Enables fast push until a thread [disables](Deque::disable_fast_push) it, if `may_enable`
    /// returns true. Returns what `may_enable` returned. In a FIFO deque fast push stays disabled.
    /// If `may_enable` panics, fast push is disabled.
    ///
    /// `may_enable` is called after a sequentially consistent fence. A thread that disables fast
    /// push writes what `may_enable` reads before its own fence. So there are two cases. Either
    /// `may_enable` reads it; or the thread disables fast push after this call has enabled it, and
    /// then the thread also sees every element that was pushed before this call.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push(1);
    /// let no_worker_sleeps = || true;
    /// assert!(worker.enable_fast_push(no_worker_sleeps));
    /// assert!(worker.fast_push_enabled());
    /// ```
    #[doc(alias = "calm_down")]
    pub fn enable_fast_push(&self, may_enable: impl FnOnce() -> bool) -> bool {
        if self.order == Order::Lifo {
            self.deque.bottom.enable_fast_push();
        }
        // Ordering: pairs with the fence before `Deque::disable_fast_push`. If our fence comes
        // first, the thread disables fast push after our store above, and sees what we have pushed.
        // If the other fence comes first, `may_enable` sees what was written before it. Nothing
        // weaker orders the stores before the loads.
        full_fence();
        let disable = DisableOnDrop(&self.deque.bottom);
        let enables = may_enable();
        if enables {
            mem::forget(disable);
        }
        enables
    }

    /// Whether fast push is enabled: no thread has [disabled](Deque::disable_fast_push) it since
    /// the worker has [enabled](Self::enable_fast_push) it.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push(1);
    /// assert!(!worker.fast_push_enabled(), "a new owner begins with fast push disabled");
    /// worker.enable_fast_push(|| true);
    /// assert!(worker.fast_push_enabled());
    /// worker.deque().disable_fast_push();
    /// assert!(!worker.fast_push_enabled());
    /// ```
    #[doc(alias = "is_calm")]
    #[inline]
    #[must_use]
    pub fn fast_push_enabled(&self) -> bool {
        self.deque.bottom.fast_push_enabled()
    }

    /// Returns how many of `count` more elements fit from the position `bottom` on. Grows the ring
    /// if its storage can.
    ///
    /// This is the only place that looks for room, and it always renews the fast push limit by what
    /// it has found. So `bottom` is never moved beyond the limit, where a push would no longer meet
    /// it.
    #[cold]
    pub(super) fn make_room(&self, bottom: Position, count: usize) -> usize {
        // Ordering: Acquire pairs with the Release of `AtomicTop::claim`: when we see that a
        // position is taken, its thief has read the cell that we are about to overwrite.
        let top = self.deque.top.load(Ordering::Acquire).position();
        let used = top.distance_to(bottom).unsigned_abs();
        while used + count > self.capacity() {
            // SAFETY: 1. `self` is the owner.
            if unsafe { self.deque.shared.storage.grow(top, bottom) }.is_none() {
                break;
            }
            self.refresh_buffer();
        }
        self.set_fast_push_limit(top);
        count.min(self.capacity() - used)
    }
}

#[cfg(feature = "alloc")]
impl<T: Element, H: Handle<Element = T, Storage = Growable<T>>> Worker<H> {
    /// Adds an element; the deque grows as needed.
    ///
    /// # Panics
    /// If the deque has 2<sup>`usize::BITS` - 5</sup> elements already.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_fifo();
    /// (0..1000).for_each(|job| worker.push(job));
    /// assert_eq!(worker.pop(), Some(0));
    /// ```
    #[inline]
    pub fn push(&self, element: T) {
        let pushed = self.try_push(element);
        debug_assert!(pushed.is_ok(), "a growable deque always has room");
    }
}

/// Disables fast push again, unless it may stay enabled.
struct DisableOnDrop<'a>(&'a AtomicBottom);

impl Drop for DisableOnDrop<'_> {
    fn drop(&mut self) {
        self.0.disable_fast_push();
    }
}

/// The result of [`Worker::fast_push`].
///
/// # Examples
/// ```
/// use deque_core::{FastPush, Worker};
///
/// let worker = Worker::new_lifo();
/// let push = |job: u32| {
///     // SAFETY: 1. the position is the next one, and nothing comes between.
///     match unsafe { worker.fast_push(worker.next_position(), job) } {
///         FastPush::Pushed => "pushed",
///         FastPush::PushedWhileDisabled => "pushed, to be announced",
///         FastPush::LimitReached => {
///             worker.push(job);
///             "pushed after a look for room"
///         }
///     }
/// };
/// assert_eq!(push(1), "pushed after a look for room");
/// assert_eq!(push(2), "pushed, to be announced");
/// worker.enable_fast_push(|| true);
/// assert_eq!(push(3), "pushed");
/// ```
#[doc(alias = "Pushed")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum FastPush {
    /// The element is in the deque, and fast push is enabled.
    #[doc(alias = "Calmly")]
    Pushed,
    /// The element is in the deque, but another thread has [disabled fast
    /// push](crate::Deque::disable_fast_push). The worker checks what that thread has announced,
    /// and may [enable fast push](Worker::enable_fast_push) again.
    #[doc(alias = "Alerted")]
    PushedWhileDisabled,
    /// The element is not in the deque, because the worker knows of no more room.
    /// [`Worker::try_push`] checks whether there is any.
    #[doc(alias = "NoRoom")]
    LimitReached,
}

/// The error of a push: the deque has a fixed capacity and is full. Contains the element.
///
/// # Examples
/// See [`Worker::try_push`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deque is full")
    }
}

impl<T: fmt::Debug> core::error::Error for Full<T> {}
