//! The work-stealing deque: what its owner and its thieves share.

use core::{
    fmt,
    marker::PhantomData,
    ops::Deref,
    panic::{RefUnwindSafe, UnwindSafe},
};

use crossbeam_utils::CachePadded;

use crate::{
    element::{Element, Slot, drop_all},
    primitive::{AtomicBool, Ordering},
};

mod bias;
mod bottom;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
mod heap;
mod position;
mod reserved;
mod stealer;
mod storage;
mod top;
mod worker;

#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use bias::ProcessFence;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
pub use heap::{ArcStealer, ArcWorker};
pub use position::{FastPush, Full, Position, TakeBack};
pub use stealer::Stealer;
#[cfg(feature = "alloc")]
pub use storage::Growable;
pub use storage::{Fixed, Storage};
pub use worker::Worker;

use bottom::AtomicBottom;
use top::{AtomicTop, STEP, distance, position};

/// From which end the owner takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The owner takes what it pushed last, and thieves what it pushed first: best for fork/join.
    Lifo,
    /// Owner and thieves both take what was pushed first: a queue with one producer.
    Fifo,
}

/// A work-stealing deque: one owner pushes and pops, any number of thieves steal.
///
/// Put it where you like, a `static` included, and take handles to it: one [`Worker`] and any
/// number of [`Stealer`]s, either borrowed or, with `alloc`, through an `Arc`. Elements that are
/// left when the deque is dropped are dropped with it.
///
/// | operation | cost |
/// | --- | --- |
/// | push | a store; never waits |
/// | pop, LIFO | a full fence; a compare-exchange for the last element only |
/// | pop, LIFO, [biased](Self::with_process_fence) | a compare-exchange at most once until a thief comes |
/// | pop, FIFO | a compare-exchange |
/// | steal | a compare-exchange, and a full fence from a LIFO owner; the first one from a biased owner waits for its next pop, or else takes a process fence |
///
/// All are lock-free; push and LIFO pop are wait-free but for the growth of the buffer.
///
/// # Examples
/// ```
/// use deque_core::{Deque, Fixed, Order, Steal};
///
/// static DEQUE: Deque<usize, Fixed<usize, 64>> = Deque::fixed(Order::Lifo);
///
/// let worker = DEQUE.worker()?;
/// for job in 1..=3 {
///     worker.try_push(job).expect("there is room for 64");
/// }
/// assert_eq!(DEQUE.stealer().steal(), Steal::Success(1));
/// assert_eq!(worker.pop(), Some(3));
/// # Ok::<(), deque_core::AlreadyOwned>(())
/// ```
///
/// Source: D. Chase and Y. Lev, *Dynamic circular work-stealing deque* (2005), with the orderings
/// of N. M. Lê et al., *Correct and efficient work-stealing for weak memory models* (2013),
/// written as fences. What differs is explained in the crate's front page.
pub struct Deque<T: Element, S: Storage<T>> {
    /// Position of the oldest element, which only ever grows, and who brings the fence. Written by
    /// whoever takes from this end.
    top: CachePadded<AtomicTop>,
    /// Position after the newest element.
    bottom: CachePadded<AtomicBottom>,
    /// Read by thieves, written when the buffer grows: on lines of its own.
    shared: CachePadded<Shared<S>>,
    elements: PhantomData<T>,
}

struct Shared<S> {
    storage: S,
    order: Order,
    owned: AtomicBool,
    fence: Option<&'static dyn ProcessFence>,
}

// SAFETY: elements move between threads, hence `T: Send`; no reference to one is handed out, so
// they need not be `Sync`. All else is atomic, and what only the owner may do needs the `Worker`.
unsafe impl<T: Element + Send, S: Storage<T>> Sync for Deque<T, S> {}
// SAFETY: as above.
unsafe impl<T: Element + Send, S: Storage<T>> Send for Deque<T, S> {}

// No operation leaves a deque between two states when it unwinds: elements are taken apart before
// anything is written, and no code of others runs until they are put together again.
impl<T: Element, S: Storage<T>> UnwindSafe for Deque<T, S> {}
impl<T: Element, S: Storage<T>> RefUnwindSafe for Deque<T, S> {}

impl<T: Element, const CAPACITY: usize> Deque<T, Fixed<T, CAPACITY>> {
    const_unless_loom! {
        /// A deque of fixed capacity: no allocation, ever.
        ///
        /// `CAPACITY` must be a power of two; that is checked when the program is compiled.
        #[must_use]
        pub fn fixed(order: Order) -> Self {
            Self::with_storage(Fixed::new(), order)
        }
    }
}

#[cfg(feature = "alloc")]
impl<T: Element> Deque<T, Growable<T>> {
    const_unless_loom! {
        /// A deque that doubles its buffer when it is full. Allocates at the first push.
        #[must_use]
        pub fn growable(order: Order) -> Self {
            Self::with_storage(Growable::new(), order)
        }
    }
}

impl<T: Element, S: Storage<T>> Deque<T, S> {
    const_unless_loom! {
        fn with_storage(storage: S, order: Order) -> Self {
            Self {
                top: CachePadded::new(AtomicTop::new()),
                bottom: CachePadded::new(AtomicBottom::new()),
                shared: CachePadded::new(Shared {
                    storage,
                    order,
                    owned: AtomicBool::new(false),
                    fence: None,
                }),
                elements: PhantomData,
            }
        }
    }

    /// Lets the owner of a LIFO deque pop without a fence while no thread steals, see [`ProcessFence`].
    ///
    /// Has no effect on processors that are not multi-copy atomic, such as POWER: there the owner goes on
    /// with fences, and the process fence is never called.
    ///
    /// # Panics
    /// If the deque has a process fence already.
    #[must_use]
    pub fn with_process_fence(mut self, fence: &'static dyn ProcessFence) -> Self {
        let before = self.shared.fence.replace(fence);
        assert!(before.is_none(), "a deque has one process fence");
        if !bias::IS_MULTI_COPY_ATOMIC {
            self.shared.fence = None;
        }
        self
    }

    /// Starts counting at `index` instead of 0, so that a test meets the wrap-around.
    ///
    /// # Panics
    /// If the deque is not empty.
    #[must_use]
    pub fn starting_at(self, index: usize) -> Self {
        assert!(self.is_empty(), "only an empty deque can start elsewhere");
        self.top.start_at(index);
        self.bottom.start_at(position(index));
        self
    }

    /// The owner's handle. There is one at a time.
    ///
    /// # Errors
    /// [`AlreadyOwned`] while another `Worker` of this deque lives.
    pub fn worker(&self) -> Result<Worker<&Self>, AlreadyOwned> {
        Worker::new(self)
    }

    /// A thief's handle.
    #[must_use]
    pub fn stealer(&self) -> Stealer<&Self> {
        Stealer::new(self)
    }

    /// Returns about how many elements there are.
    ///
    /// An element that is there during the whole call is counted, and the number is never more than the
    /// deque's capacity. It is exact while no other thread uses the deque, and for its owner while no
    /// thread steals. Otherwise elements may be counted that were never there at the same moment.
    #[must_use]
    pub fn len(&self) -> usize {
        let len = self.len_between_looks();
        // The capacity is looked at last, since it may grow between the looks.
        if len <= 1 {
            len
        } else {
            len.min(self.shared.storage.buffer().slots.len())
        }
    }

    /// Whether there is no element. True only if no element was there during the whole call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len_between_looks() == 0
    }

    /// The distance from `top` to `bottom`, which may have moved on for long between the two looks.
    #[inline]
    fn len_between_looks(&self) -> usize {
        // Ordering: Relaxed. An element that is there throughout is always between the two
        // indices, whichever is read first; a caller that must see a certain push fences before.
        let top = self.top.load(Ordering::Relaxed);
        let bottom = self.bottom.load(Ordering::Relaxed);
        distance(top.position(), bottom).max(0).unsigned_abs()
    }

    /// Disables the owner's fast push until the owner calls [`Worker::enable_fast_push`]. Takes effect
    /// eventually; does not wait for the owner. Returns whether fast push was enabled.
    ///
    /// While fast push is disabled, [`Worker::fast_push`] answers
    /// [`PushedWhileDisabled`](FastPush::PushedWhileDisabled). A worker that is about to sleep disables
    /// the fast push of every deque that may hold jobs for it. So the owners need not ask at each push
    /// whether a worker sleeps:
    ///
    /// | owner: push | a thread that is about to sleep |
    /// | --- | --- |
    /// | | announces that it sleeps; **fence** |
    /// | publishes the element | disables fast push |
    /// | *light fence* | **fence** |
    /// | reads whether fast push is enabled | looks for elements |
    ///
    /// If the second fence of the thread is a [`ProcessFence`], either the owner sees that fast push is
    /// disabled, or the thread sees the element. With an ordinary fence there is a window: both may miss
    /// each other while the element's publication is in the store buffer of the owner's processor. That
    /// takes about a hundred nanoseconds. An interruption of the owner empties the buffer, so it does not
    /// widen the window. A pause before the thread looks makes the window practically vanish, though no
    /// memory model promises that. While fast push is disabled there is no such window, provided that the
    /// owner calls `enable_fast_push` after the push.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, FastPush, Fixed, Order};
    ///
    /// let deque = Deque::<usize, Fixed<usize, 8>>::fixed(Order::Lifo);
    /// let worker = deque.worker()?;
    /// worker.try_push(0)?;
    /// assert!(worker.enable_fast_push(|| true));
    /// assert!(deque.disable_fast_push());
    /// assert!(!deque.disable_fast_push(), "it is disabled already");
    /// // SAFETY: 1. the place is the next one, and nothing comes between.
    /// let pushed = unsafe { worker.fast_push(worker.next_position(), 1) };
    /// assert_eq!(pushed, FastPush::PushedWhileDisabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "alert")]
    pub fn disable_fast_push(&self) -> bool {
        self.bottom.disable_fast_push()
    }

    /// From which end the owner takes.
    #[must_use]
    pub fn order(&self) -> Order {
        self.shared.order
    }
}

impl<T: Element, S: Storage<T>> Drop for Deque<T, S> {
    fn drop(&mut self) {
        // Ordering: Relaxed throughout, nobody else has the deque any more.
        let mut next = self.top.load(Ordering::Relaxed).position();
        let bottom = self.bottom.load(Ordering::Relaxed);
        let buffer = self.shared.storage.buffer();
        drop_all(|| {
            (next != bottom).then(|| {
                let words = buffer.slot(next).load();
                next = next.wrapping_add(STEP);
                // SAFETY: 1. the slot was filled by a push, being between top and bottom; 2. no thread
                // took the element, and none will.
                unsafe { T::from_words(words) }
            })
        });
    }
}

impl<T: Element, S: Storage<T>> fmt::Debug for Deque<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deque")
            .field("len", &self.len())
            .field("order", &self.order())
            // Ordering: Relaxed, for looking on.
            .field("fence", &self.top.load(Ordering::Relaxed).mode())
            .finish_non_exhaustive()
    }
}

/// Another [`Worker`] of this deque lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyOwned;

impl fmt::Display for AlreadyOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this deque has an owner already")
    }
}

impl core::error::Error for AlreadyOwned {}

/// A way to hold a [`Deque`]: `&Deque`, or with `alloc` `Arc<Deque>`.
pub trait Handle:
    Clone + Deref<Target = Deque<Self::Element, Self::Storage>> + sealed::Sealed
{
    /// The deque's elements.
    type Element: Element;
    /// Where the deque keeps them.
    type Storage: Storage<Self::Element>;
}

impl<T: Element, S: Storage<T>> Handle for &Deque<T, S> {
    type Element = T;
    type Storage = S;
}

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<T: Element, S: Storage<T>> Handle for alloc::sync::Arc<Deque<T, S>> {
    type Element = T;
    type Storage = S;
}

mod sealed {
    use super::{Deque, Element, Storage};

    /// Sealed, since a handle must always lead to the same deque.
    pub trait Sealed {}

    impl<T: Element, S: Storage<T>> Sealed for &Deque<T, S> {}

    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    impl<T: Element, S: Storage<T>> Sealed for alloc::sync::Arc<Deque<T, S>> {}
}
