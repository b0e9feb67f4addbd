//! The owner's end of a deque.

use core::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
};

use super::{
    AlreadyOwned, Deque, Handle, Order, Stealer, Storage, bias::RebiasBudget, position::Position,
};
use crate::{element::SlotOf, primitive::Ordering};

mod pop;
mod push;
mod reserved;

pub use pop::TakeBack;
pub use push::{FastPush, Full};

/// The owner's handle to a [`Deque`]: pushes, and pops at the end that the deque's
/// [`Order`] names.
///
/// Each deque has at most one at a time; dropping it lets another thread become the owner. It can
/// be sent to another thread but not shared.
///
/// # Examples
/// ```
/// use deque_core::Worker;
///
/// let worker = Worker::new_lifo();
/// worker.push("first");
/// worker.push("second");
/// assert_eq!(worker.pop(), Some("second"));
/// assert_eq!(worker.len(), 1);
/// ```
///
/// `H` is the type of the handle. In a struct, write `ArcWorker<T>` for what
/// `Worker::new_lifo` and `Worker::new_fifo` create:
/// ```
/// use deque_core::{ArcWorker, Worker};
///
/// type Job = Box<dyn FnOnce() + Send>;
///
/// struct Scheduler {
///     queue: ArcWorker<Job>,
/// }
///
/// let scheduler = Scheduler { queue: Worker::new_lifo() };
/// scheduler.queue.push(Box::new(|| println!("done")));
/// ```
///
/// A deque that is borrowed has a `Worker<&Deque<_, _>>`. The type of the elements alone is an
/// error:
/// ```compile_fail,E0277
/// use deque_core::Worker;
///
/// type Job = Box<dyn FnOnce() + Send>;
///
/// struct Scheduler {
///     queue: Worker<Job>,
/// }
/// ```
pub struct Worker<H: Handle> {
    deque: H,
    /// The ring that the deque uses. Only the owner replaces it, so this copy is current.
    slots: Cell<NonNull<SlotOf<H::Element>>>,
    /// Which bits of a position tell its cell in the ring.
    mask: Cell<usize>,
    /// The position of `bottom` at which the ring may be full, by the `top` that was loaded last.
    /// Pushes below it need not load `top`. `bottom` never comes to stand beyond it: pushes
    /// compare for equality.
    fast_push_limit: Cell<Position>,
    order: Order,
    /// Used while the deque is fenced.
    rebias_budget: RebiasBudget,
    not_sync: PhantomData<Cell<()>>,
}

// SAFETY: the pointer leads into the deque, which may be used from any thread; that there is one
// owner at a time does not depend on which thread it is on.
unsafe impl<H: Handle + Send> Send for Worker<H> where H::Element: Send {}

// See `Deque`; what the owner itself remembers are numbers, which are right or too careful.
impl<H: Handle> UnwindSafe for Worker<H> {}
impl<H: Handle> RefUnwindSafe for Worker<H> {}

impl<H: Handle> Worker<H> {
    /// Creates the owner's handle to a deque.
    ///
    /// # Errors
    /// Returns [`AlreadyOwned`] while another `Worker` of this deque lives.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use deque_core::{AlreadyOwned, Deque, Order, Worker};
    ///
    /// let deque = Arc::new(Deque::growable(Order::Lifo));
    /// let worker = Worker::new(deque.clone())?;
    /// worker.push(1);
    /// assert_eq!(Worker::new(deque).err(), Some(AlreadyOwned));
    /// # Ok::<(), AlreadyOwned>(())
    /// ```
    pub fn new(deque: H) -> Result<Self, AlreadyOwned> {
        // Ordering: Acquire pairs with the Release in `drop`: this owner goes on where the last
        // one stopped, and must see its positions and its ring.
        if deque.shared.owned.swap(true, Ordering::Acquire) {
            return Err(AlreadyOwned);
        }
        // Ordering: Relaxed, only the owner writes it. No room is known of until the first push
        // looks.
        let fast_push_limit = Cell::new(deque.bottom.load(Ordering::Relaxed));
        let worker = Self {
            order: deque.shared.order,
            deque,
            slots: Cell::new(NonNull::dangling()),
            mask: Cell::new(0),
            fast_push_limit,
            rebias_budget: RebiasBudget::new(),
            not_sync: PhantomData,
        };
        worker.refresh_buffer();
        // The first push must check whether another worker sleeps.
        worker.deque.disable_fast_push();
        Ok(worker)
    }

    /// Copies where the ring is, after it was replaced.
    fn refresh_buffer(&self) {
        let slots = self.deque.shared.storage.buffer().slots;
        debug_assert!(slots.is_empty() || slots.len().is_power_of_two());
        self.slots.set(NonNull::from(slots).cast());
        let last = Position::from_index(slots.len().saturating_sub(1));
        self.mask.set(last.into_word());
    }

    /// Returns the deque.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Order, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push(1);
    /// assert_eq!(worker.deque().order(), Order::Lifo);
    /// ```
    #[must_use]
    pub fn deque(&self) -> &Deque<H::Element, H::Storage> {
        &self.deque
    }

    /// Creates a thief's handle.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push(1);
    /// assert_eq!(worker.stealer().steal(), Steal::Success(1));
    /// ```
    #[must_use]
    pub fn stealer(&self) -> Stealer<H> {
        Stealer::new(self.deque.clone())
    }

    /// Returns the number of elements; thieves may reduce it at any time.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// (0..3).for_each(|job| worker.push(job));
    /// assert_eq!(worker.len(), 3);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Never more than the capacity: only the owner moves `bottom`.
        self.deque.len_between_looks()
    }

    /// Whether the deque has no element.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// assert!(worker.is_empty());
    /// worker.push(1);
    /// assert!(!worker.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }

    /// Returns the cell of a position in the ring.
    #[inline]
    fn slot(&self, position: Position) -> &SlotOf<H::Element> {
        let size = size_of::<SlotOf<H::Element>>();
        let masked = position.into_word() & self.mask.get();
        // Directly in bytes if that is possible: one instruction less than by way of the index.
        let offset = if size.is_multiple_of(Position::STEP) {
            masked * (size / Position::STEP)
        } else {
            masked / Position::STEP * size
        };
        // SAFETY: the ring is not empty (a position is passed only when there is room for it or
        // an element at it), the masked position is that of a cell within it, and it lives as long
        // as the deque.
        unsafe { self.slots.get().byte_add(offset).as_ref() }
    }

    /// Returns the number of cells.
    fn capacity(&self) -> usize {
        self.deque.shared.storage.buffer().slots.len()
    }

    /// Sets the fast push limit for a ring whose elements begin at the position `top`.
    fn set_fast_push_limit(&self, top: Position) {
        self.fast_push_limit.set(top.plus(self.capacity()));
    }

    /// Gives back memory after a burst: if the deque uses at most a quarter of its cells, they are
    /// replaced by twice as many as are in use, but at least `least`. Returns whether they were
    /// replaced.
    ///
    /// Call it when there is little to do, for example before the owner sleeps. It costs two loads
    /// if there is nothing to give back. The old cells are freed when the owner [takes them
    /// away](Self::take_replaced), or with the deque.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// (0..100_000).for_each(|job| worker.push(job));
    /// assert!(!worker.shrink_to(256), "the deque is in use");
    /// while worker.pop().is_some() {}
    /// assert!(worker.shrink_to(256));
    /// assert!(!worker.shrink_to(256), "256 cells are what is left");
    /// // SAFETY: 1. no other thread has a handle to the deque, so no steal is under way.
    /// drop(unsafe { worker.take_replaced() });
    /// ```
    pub fn shrink_to(&self, least: usize) -> bool {
        if self.capacity() <= least {
            return false;
        }
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque.bottom.load(Ordering::Relaxed);
        // Ordering: Acquire, as in `make_room`: pushes up to the new limit rely on this `top`.
        let top = self.deque.top.load(Ordering::Acquire).position();
        // SAFETY: 1. `self` is the owner, and between two operations.
        let shrinks = unsafe { self.deque.shared.storage.shrink(top, bottom, least) };
        if shrinks {
            self.refresh_buffer();
            self.set_fast_push_limit(top);
        }
        shrinks
    }

    /// Returns the rings that the deque has replaced since the last call, if any. They are freed
    /// when the value is dropped; without this call, when the deque is.
    ///
    /// # Safety
    /// 1. The value is dropped only when every steal from the deque that began before this call has
    ///    ended. Epochs tell, or thread progress.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// (0..100_000).for_each(|job| worker.push(job));
    /// // SAFETY: 1. no other thread has a handle to the deque, so no steal is under way.
    /// let outgrown = unsafe { worker.take_replaced() };
    /// assert!(outgrown.is_some());
    /// drop(outgrown);
    /// ```
    pub unsafe fn take_replaced(&self) -> Option<<H::Storage as Storage<H::Element>>::Replaced> {
        // SAFETY: 1. `self` is the owner.
        unsafe { self.deque.shared.storage.take_replaced() }
    }
}

impl<H: Handle> Drop for Worker<H> {
    fn drop(&mut self) {
        // Or no pop would answer a thief that needs a fence which the system refuses.
        self.end_bias();
        // Ordering: Release pairs with the next owner's Acquire in `new`.
        self.deque.shared.owned.store(false, Ordering::Release);
    }
}

impl<H: Handle> fmt::Debug for Worker<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("deque", &*self.deque)
            .finish()
    }
}
