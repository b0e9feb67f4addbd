//! The work-stealing deque: what its owner and its thieves share.

use core::{
    fmt,
    marker::PhantomData,
    panic::{RefUnwindSafe, UnwindSafe},
};

use crossbeam_utils::CachePadded;

use crate::{
    element::{Element, Slot, drop_all},
    primitive::{AtomicBool, Ordering},
};

mod bias;
mod ends;
mod handle;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
mod heap;
mod looks;
mod order;
mod position;
mod stealer;
mod storage;
mod worker;

#[cfg(all(test, feature = "alloc"))]
mod tests;

pub use bias::{FencePrice, IS_MULTI_COPY_ATOMIC};
pub use handle::Handle;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
pub use heap::{ArcStealer, ArcWorker};
pub use order::Order;
pub use position::Position;
pub use stealer::Stealer;
#[cfg(feature = "alloc")]
pub use storage::Growable;
pub use storage::{Fixed, Storage};
pub use worker::{FastPush, Full, TakeBack, Worker};

use ends::{AtomicBottom, AtomicTop};

/// A work-stealing deque: one owner pushes and pops, any number of thieves steal.
///
/// A deque can live anywhere, even in a `static`. It is used through handles: one [`Worker`] and
/// any number of [`Stealer`]s, either borrowed or, with `alloc`, through an `Arc`. When the deque
/// is dropped, its remaining elements are dropped with it.
///
/// | operation | cost |
/// | --- | --- |
/// | push | a store; never waits |
/// | pop, LIFO | a full fence; for the last element also a compare-exchange |
/// | pop, LIFO, [biased] | a compare-exchange at most once until a thief comes |
/// | pop, FIFO | a compare-exchange |
/// | steal | a compare-exchange, and a full fence from a LIFO owner |
///
/// After a batch was stolen, a pop of one of the oldest 32 elements also takes a compare-exchange.
/// The first steal from a biased owner waits for the owner's next pop, or else takes a process
/// fence.
///
/// [biased]: Self::with_process_fence
///
/// All are lock-free; push and LIFO pop are wait-free except when the buffer grows. If the system
/// refuses a process fence that it granted before, thieves of a biased owner get
/// [`Retry`](crate::Steal::Retry) until the owner pops, ends the bias, or is dropped.
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
/// written as fences. The crate's front page explains what differs.
pub struct Deque<T: Element, S: Storage<T>> {
    /// The position of the oldest element, which only grows, and the mode. Written by every thread
    /// that takes from this end.
    top: CachePadded<AtomicTop>,
    /// The position after the newest element.
    bottom: CachePadded<AtomicBottom>,
    /// Read by thieves, written when the buffer grows: on cache lines of its own.
    shared: CachePadded<Shared<S>>,
    elements: PhantomData<T>,
}

struct Shared<S> {
    storage: S,
    order: Order,
    owned: AtomicBool,
    fence: Option<&'static bias::ProcessFence>,
}

// SAFETY: elements move between threads, hence `T: Send`; no reference to one is handed out, so
// they need not be `Sync`. All else is atomic, and what only the owner may do needs the `Worker`.
unsafe impl<T: Element + Send, S: Storage<T>> Sync for Deque<T, S> {}
// SAFETY: as above.
unsafe impl<T: Element + Send, S: Storage<T>> Send for Deque<T, S> {}

// No operation leaves a deque between two states when it unwinds: elements are taken apart before
// anything is written, and no code of the user runs until they are put together again.
impl<T: Element, S: Storage<T>> UnwindSafe for Deque<T, S> {}
impl<T: Element, S: Storage<T>> RefUnwindSafe for Deque<T, S> {}

impl<T: Element, const CAPACITY: usize> Deque<T, Fixed<T, CAPACITY>> {
    const_unless_loom! {
        /// Creates a deque of fixed capacity, which never allocates.
        ///
        /// `CAPACITY` must be a power of two; that is checked when the program is compiled.
        ///
        /// # Examples
        /// ```
        /// use deque_core::{Deque, Fixed, Order};
        ///
        /// static DEQUE: Deque<usize, Fixed<usize, 64>> = Deque::fixed(Order::Lifo);
        /// assert!(DEQUE.is_empty());
        /// ```
        #[must_use]
        pub fn fixed(order: Order) -> Self {
            Self::with_storage(Fixed::new(), order)
        }
    }
}

#[cfg(feature = "alloc")]
impl<T: Element> Deque<T, Growable<T>> {
    const_unless_loom! {
        /// Creates a deque that doubles its buffer when it is full. Allocates at the first push.
        ///
        /// # Examples
        /// ```
        /// use deque_core::{Deque, Growable, Order};
        ///
        /// static DEQUE: Deque<usize, Growable<usize>> = Deque::growable(Order::Lifo);
        /// let worker = DEQUE.worker()?;
        /// (0..1000).for_each(|job| worker.push(job));
        /// # Ok::<(), deque_core::AlreadyOwned>(())
        /// ```
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

    /// Lets the owner of a LIFO deque pop without a fence while no thread steals, see
    /// [`FencePrice`].
    ///
    /// Has no effect on processors that are not multi-copy atomic, such as POWER: there, the owner
    /// continues with fences, and the process fence is never called.
    ///
    /// # Panics
    /// If the deque already has a process fence.
    ///
    /// # Examples
    /// See [`FencePrice`].
    #[must_use]
    pub fn with_process_fence<F: FencePrice>(mut self) -> Self {
        let before = self.shared.fence.replace(bias::ProcessFence::of::<F>());
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
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Fixed, Order};
    ///
    /// let deque = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Lifo).starting_at(usize::MAX);
    /// let worker = deque.worker()?;
    /// (0..3).for_each(|job| assert!(worker.try_push(job).is_ok()));
    /// assert_eq!(deque.len(), 3);
    /// # Ok::<(), deque_core::AlreadyOwned>(())
    /// ```
    #[must_use]
    pub fn starting_at(self, index: usize) -> Self {
        assert!(self.is_empty(), "only an empty deque can start elsewhere");
        let start = Position::from_index(index);
        self.top.start_at(start);
        self.bottom.start_at(start);
        self
    }

    /// Creates the owner's handle. There is at most one at a time.
    ///
    /// # Errors
    /// Returns [`AlreadyOwned`] while another `Worker` of this deque lives.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{AlreadyOwned, Deque, Order};
    ///
    /// let deque = Deque::growable(Order::Lifo);
    /// let worker = deque.worker()?;
    /// worker.push(1);
    /// assert_eq!(deque.worker().err(), Some(AlreadyOwned));
    /// drop(worker);
    /// assert_eq!(deque.worker()?.pop(), Some(1));
    /// # Ok::<(), AlreadyOwned>(())
    /// ```
    pub fn worker(&self) -> Result<Worker<&Self>, AlreadyOwned> {
        Worker::new(self)
    }

    /// Creates a thief's handle.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Order, Steal};
    ///
    /// let deque = Deque::growable(Order::Lifo);
    /// deque.worker()?.push(1);
    /// assert_eq!(deque.stealer().steal(), Steal::Success(1));
    /// # Ok::<(), deque_core::AlreadyOwned>(())
    /// ```
    #[must_use]
    pub fn stealer(&self) -> Stealer<&Self> {
        Stealer::new(self)
    }

    /// Disables the owner's fast push until the owner calls [`Worker::enable_fast_push`]. Takes
    /// effect eventually; does not wait for the owner. Returns whether fast push was enabled.
    ///
    /// While fast push is disabled, [`Worker::fast_push`] answers
    /// [`PushedWhileDisabled`](FastPush::PushedWhileDisabled). A worker that is about to sleep
    /// disables the fast push of every deque that may hold jobs for it. So the owners need not ask
    /// at each push whether a worker sleeps:
    ///
    /// | owner: push | a thread that is about to sleep |
    /// | --- | --- |
    /// | | announces that it sleeps; **fence** |
    /// | publishes the element | disables fast push |
    /// | *light fence* | **fence** |
    /// | reads whether fast push is enabled | looks for elements |
    ///
    /// If the second fence of the thread is a [process fence](FencePrice), either the owner sees
    /// that fast push is disabled, or the thread sees the element. With an ordinary fence there is
    /// a window: both may miss each other while the element's publication is in the store buffer of
    /// the owner's processor. That takes about a hundred nanoseconds. An interruption of the owner
    /// empties the buffer, so it does not widen the window. A pause before the thread looks makes
    /// the window practically vanish, although no memory model promises that. While fast push is
    /// disabled there is no such window, provided that the owner calls `enable_fast_push` after the
    /// push.
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
    /// // SAFETY: 1. the position is the next one, and nothing comes between.
    /// let pushed = unsafe { worker.fast_push(worker.next_position(), 1) };
    /// assert_eq!(pushed, FastPush::PushedWhileDisabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "alert")]
    pub fn disable_fast_push(&self) -> bool {
        self.bottom.disable_fast_push()
    }

    /// Returns the end from which the owner takes.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Growable, Order};
    ///
    /// let deque = Deque::<usize, Growable<usize>>::growable(Order::Fifo);
    /// assert_eq!(deque.order(), Order::Fifo);
    /// ```
    #[must_use]
    pub fn order(&self) -> Order {
        self.shared.order
    }
}

impl<T: Element, S: Storage<T>> Drop for Deque<T, S> {
    fn drop(&mut self) {
        // Ordering: Relaxed throughout, no other thread can access the deque any more.
        let mut next = self.top.load(Ordering::Relaxed).position();
        let bottom = self.bottom.load(Ordering::Relaxed);
        let buffer = self.shared.storage.buffer();
        drop_all(|| {
            (next != bottom).then(|| {
                let words = buffer.slot(next).load();
                next = next.plus(1);
                // SAFETY: 1. the cell was filled by a push, being between top and bottom; 2. no
                // thread took the element, and none will.
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
            // Ordering: Relaxed; debug output only.
            .field("fence", &self.top.load(Ordering::Relaxed).mode())
            .finish_non_exhaustive()
    }
}

/// The error of a second [`Worker`]: another one of this deque exists.
///
/// # Examples
/// See [`Deque::worker`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyOwned;

impl fmt::Display for AlreadyOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this deque already has an owner")
    }
}

impl core::error::Error for AlreadyOwned {}
