//! The owner's end of a deque.

use core::{
    cell::Cell,
    fmt,
    marker::PhantomData,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr::NonNull,
};

use super::{
    AlreadyOwned, Deque, FastPush, Full, Handle, Order, Position, Stealer, Storage,
    bias::Patience,
    top::{STEP, distance, position},
};
#[cfg(feature = "alloc")]
use crate::deque::Growable;
use crate::{
    element::{Element, Slot, SlotOf},
    primitive::{Ordering, full_fence, interruption_point, light_fence},
};

mod pop;

/// The owner's handle to a [`Deque`]: pushes, and pops at the end that the deque's
/// [`Order`] names.
///
/// There is one at a time for each deque; dropping it lets another thread become the owner. It can
/// be sent to another thread but not shared.
pub struct Worker<H: Handle> {
    deque: H,
    /// The ring that the deque uses: only the owner replaces it, so no need to ask for it.
    slots: Cell<NonNull<SlotOf<H::Element>>>,
    /// What a position must be masked with to be one within the ring.
    mask: Cell<usize>,
    /// The position of `bottom` at which the ring may be full, by the `top` that was loaded last. Pushes
    /// below it need not load `top`.
    fast_push_limit: Cell<usize>,
    order: Order,
    /// With fences, if the deque has a process fence.
    patience: Patience,
    not_sync: PhantomData<Cell<()>>,
}

// SAFETY: the pointer leads into the deque, which may be used from any thread; that there is one
// owner at a time does not depend on which thread it is on.
unsafe impl<H: Handle + Send> Send for Worker<H> where H::Element: Send {}

// See `Deque`; the owner's own notes are numbers, which are right or too careful.
impl<H: Handle> UnwindSafe for Worker<H> {}
impl<H: Handle> RefUnwindSafe for Worker<H> {}

impl<H: Handle> Worker<H> {
    /// Becomes the owner of a deque.
    ///
    /// # Errors
    /// [`AlreadyOwned`] while another `Worker` of this deque lives.
    pub fn new(deque: H) -> Result<Self, AlreadyOwned> {
        // Ordering: Acquire pairs with the Release in `drop`: this owner goes on where the last
        // one stopped, and must see its indices and its ring.
        if deque.shared.owned.swap(true, Ordering::Acquire) {
            return Err(AlreadyOwned);
        }
        // Ordering: Relaxed, only the owner writes it. No room is known of until the first push looks.
        let fast_push_limit = Cell::new(deque.bottom.load(Ordering::Relaxed));
        let worker = Self {
            order: deque.shared.order,
            deque,
            slots: Cell::new(NonNull::dangling()),
            mask: Cell::new(0),
            fast_push_limit,
            patience: Patience::new(),
            not_sync: PhantomData,
        };
        worker.look_at_ring();
        // The first push must check whether another worker sleeps.
        worker.deque.disable_fast_push();
        Ok(worker)
    }

    fn look_at_ring(&self) {
        let slots = self.deque.shared.storage.buffer().slots;
        debug_assert!(slots.is_empty() || slots.len().is_power_of_two());
        self.slots.set(NonNull::from(slots).cast());
        self.mask.set(position(slots.len().saturating_sub(1)));
    }

    /// The deque.
    #[must_use]
    pub fn deque(&self) -> &Deque<H::Element, H::Storage> {
        &self.deque
    }

    /// A thief's handle.
    #[must_use]
    pub fn stealer(&self) -> Stealer<H> {
        Stealer::new(self.deque.clone())
    }

    /// Returns how many elements there are; thieves may make it fewer at any time.
    #[must_use]
    pub fn len(&self) -> usize {
        // Never more than the capacity: only the owner moves `bottom`.
        self.deque.len_between_looks()
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }

    /// The slot of a position in the ring.
    #[inline]
    pub(super) fn slot(&self, position: usize) -> &SlotOf<H::Element> {
        const {
            assert!(size_of::<SlotOf<H::Element>>().is_multiple_of(STEP));
        }
        // In bytes at once: that is one instruction less than by way of the index.
        let offset = (position & self.mask.get()) * (size_of::<SlotOf<H::Element>>() / STEP);
        // SAFETY: the ring is not empty (a position is asked for only when there is room for it or
        // an element at it), the masked position is that of a slot within it, and it lives as long
        // as the deque.
        unsafe { self.slots.get().byte_add(offset).as_ref() }
    }

    /// Adds an element.
    ///
    /// # Errors
    /// Gives the element back if a deque of fixed capacity is full.
    #[inline]
    pub fn try_push(&self, element: H::Element) -> Result<Position, Full<H::Element>> {
        // First of all: this is code of the element's type, which may use the deque.
        let words = element.into_words();
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque.bottom.load(Ordering::Relaxed);
        if bottom == self.fast_push_limit.get() && !self.has_room(bottom, 1) {
            // SAFETY: 1. the words are from just now; 2. they are in no slot.
            return Err(Full(unsafe { H::Element::from_words(words) }));
        }
        self.put(bottom, words);
        Ok(match self.order {
            Order::Lifo => Position::new(bottom),
            // What the owner takes is never the newest.
            Order::Fifo => Position::NOWHERE,
        })
    }

    /// Where the next element comes.
    #[inline]
    #[must_use]
    pub fn next_position(&self) -> Position {
        // Ordering: Relaxed, only the owner writes it.
        Position::new(self.deque.bottom.load(Ordering::Relaxed))
    }

    /// Adds an element at the next place if the worker knows of room, and then checks whether fast push is
    /// still [enabled](Self::enable_fast_push).
    ///
    /// In a LIFO deque this takes one load and two comparisons more than the push itself. In a FIFO deque
    /// fast push is never enabled, and the element can never be [taken back](Self::take_back).
    ///
    /// # Safety
    /// 1. [`next_position`](Self::next_position) has given the place, and nothing was pushed or taken by this
    ///    worker since; nor does [`Element::into_words`] push or take anything.
    #[doc(alias = "push_at")]
    #[inline]
    pub unsafe fn fast_push(&self, place: Position, element: H::Element) -> FastPush
    where
        H::Element: Copy,
    {
        let words = element.into_words();
        debug_assert_eq!(place, self.next_position());
        let bottom = place.into_word();
        if bottom == self.fast_push_limit.get() {
            return FastPush::LimitReached;
        }
        // This address is computed before the fence, after which the compiler would compute it again.
        let end = &self.deque.bottom;
        self.put(bottom, words);
        // After the push, not before it: whatever interrupts the worker between the two, a thread that
        // looked too early to see the element has disabled fast push by now.
        if end.fast_push_enabled() {
            FastPush::Pushed
        } else {
            FastPush::PushedWhileDisabled
        }
    }

    /// Adds an element at `bottom`, where there is room. A process fence orders this push before what the
    /// caller reads next, see [`Deque::disable_fast_push`].
    #[inline]
    fn put(&self, bottom: usize, words: <H::Element as Element>::Words) {
        // This address is computed before the slot is written, after which the compiler would compute it
        // again.
        let end = &self.deque.bottom;
        self.slot(bottom).store(words);
        interruption_point();
        end.publish(bottom.wrapping_add(STEP));
        // Ordering: keeps the compiler from loading the fast-push flag before the store above. The
        // processor may still do so while the store is in its buffer, unless the disabling thread calls a
        // process fence, or the system interrupts this thread.
        light_fence();
    }

    /// Enables fast push until a thread [disables](Deque::disable_fast_push) it, if `may_enable` returns
    /// true. Returns what `may_enable` returned. In a FIFO deque fast push stays disabled.
    ///
    /// `may_enable` is called after a sequentially consistent fence. A thread that disables fast push has
    /// written what `may_enable` reads before a fence of its own. So there are two cases. Either
    /// `may_enable` reads it; or the thread disables fast push after this call has enabled it, and then the
    /// thread also sees every element that was pushed before this call.
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
        // Ordering: pairs with the fence before `Deque::disable_fast_push`. If our fence comes first, the
        // thread disables fast push after our store above, and sees what we have pushed. If the other
        // fence comes first, `may_enable` sees what was written before it. Nothing weaker orders the
        // stores before the loads.
        full_fence();
        let enables = may_enable();
        if !enables {
            self.deque.disable_fast_push();
        }
        enables
    }

    /// Whether `count` more elements fit from the position `bottom` on; grows the ring if it may.
    #[cold]
    pub(super) fn has_room(&self, bottom: usize, count: usize) -> bool {
        // Ordering: Acquire pairs with the Release of `AtomicTop::claim`: when we see a position
        // taken, its thief has read the slot that we are about to overwrite.
        let top = self.deque.top.load(Ordering::Acquire).position();
        let used = distance(top, bottom).unsigned_abs();
        while used + count > self.capacity() {
            // SAFETY: 1. `self` is the owner.
            if unsafe { self.deque.shared.storage.grow(top, bottom) }.is_none() {
                return false;
            }
            self.look_at_ring();
        }
        self.set_fast_push_limit(top);
        true
    }

    /// Sets the fast push limit for a ring whose elements begin at the position `top`.
    fn set_fast_push_limit(&self, top: usize) {
        self.fast_push_limit
            .set(top.wrapping_add(position(self.capacity())));
    }

    /// Gives memory back after a burst: if the deque uses at most a quarter of its slots, they are
    /// replaced by at least `least` slots, and by twice as many as are in use. Returns whether.
    ///
    /// Call it when there is little to do, for example before the owner sleeps. It costs two loads if
    /// there is nothing to give back. The old slots are freed when the owner [takes them
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
    /// assert!(!worker.shrink_to(256), "256 slots are what is left");
    /// // SAFETY: 1. no other thread has a handle to the deque, so no steal is under way.
    /// drop(unsafe { worker.take_replaced() });
    /// ```
    pub fn shrink_to(&self, least: usize) -> bool {
        if self.capacity() <= least {
            return false;
        }
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque.bottom.load(Ordering::Relaxed);
        // Ordering: Acquire, as in `has_room`: the slots of the new ring are reused by this `top` too.
        let top = self.deque.top.load(Ordering::Acquire).position();
        // SAFETY: 1. `self` is the owner, and between two operations.
        let shrinks = unsafe { self.deque.shared.storage.shrink(top, bottom, least) };
        if shrinks {
            self.look_at_ring();
            self.set_fast_push_limit(top);
        }
        shrinks
    }

    /// How many elements fit from the position `bottom` on, without growth.
    pub(super) fn free_slots(&self, bottom: usize) -> usize {
        // Ordering: Acquire, as in `has_room`.
        let top = self.deque.top.load(Ordering::Acquire).position();
        self.capacity() - distance(top, bottom).unsigned_abs()
    }

    /// Whether fast push is enabled: no thread has [disabled](Deque::disable_fast_push) it since the worker
    /// has [enabled](Self::enable_fast_push) it.
    #[doc(alias = "is_calm")]
    #[inline]
    #[must_use]
    pub fn fast_push_enabled(&self) -> bool {
        self.deque.bottom.fast_push_enabled()
    }

    fn capacity(&self) -> usize {
        self.deque.shared.storage.buffer().slots.len()
    }
}

impl<H: Handle> Worker<H> {
    /// The rings that the deque has replaced by others since the last call, if any. They are
    /// freed when the value is dropped; without this call, when the deque is.
    ///
    /// # Safety
    /// 1. The value is dropped only when every steal from the deque that began before this call
    ///    has ended. Epochs tell, or thread progress.
    pub unsafe fn take_replaced(&self) -> Option<<H::Storage as Storage<H::Element>>::Replaced> {
        // SAFETY: 1. we are the owner.
        unsafe { self.deque.shared.storage.take_replaced() }
    }
}

#[cfg(feature = "alloc")]
impl<T: Element, H: Handle<Element = T, Storage = Growable<T>>> Worker<H> {
    /// Adds an element; the deque grows as needed.
    #[inline]
    pub fn push(&self, element: T) {
        let pushed = self.try_push(element);
        debug_assert!(pushed.is_ok(), "a growable deque has always room");
    }
}

impl<H: Handle> Drop for Worker<H> {
    fn drop(&mut self) {
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
