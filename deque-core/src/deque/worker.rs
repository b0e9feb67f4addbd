//! The owner's end of a deque.

use core::{cell::Cell, fmt, marker::PhantomData, ptr::NonNull};

use super::{AlreadyOwned, Deque, Handle, Order, Stealer, Storage, distance};
#[cfg(feature = "alloc")]
use crate::deque::Growable;
use crate::{
    element::{Element, Slot, SlotOf},
    primitive::{Ordering, full_fence},
};

/// The owner's handle to a [`Deque`]: pushes, and pops at the end that the deque's
/// [`Order`] names.
///
/// There is one at a time for each deque; dropping it lets another thread become the owner. It can
/// be sent to another thread but not shared.
pub struct Worker<H: Handle> {
    deque: H,
    /// The ring that the deque uses: only the owner replaces it, so no need to ask for it.
    slots: Cell<NonNull<[SlotOf<H::Element>]>>,
    not_sync: PhantomData<Cell<()>>,
}

// SAFETY: the pointer leads into the deque, which may be used from any thread; that there is one
// owner at a time does not depend on which thread it is on.
unsafe impl<H: Handle + Send> Send for Worker<H> where H::Element: Send {}

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
        let slots = Cell::new(NonNull::from(deque.shared.storage.buffer().slots));
        Ok(Self {
            deque,
            slots,
            not_sync: PhantomData,
        })
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

    /// How many elements there are; thieves may make it fewer at any time.
    #[must_use]
    pub fn len(&self) -> usize {
        self.deque.len()
    }

    /// True if there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }

    /// The slot of an index in the ring.
    #[inline]
    fn slot(&self, index: usize) -> &SlotOf<H::Element> {
        let slots = self.slots.get();
        debug_assert!(slots.len().is_power_of_two());
        // SAFETY: the ring is not empty (an index is asked for only when there is room for it or
        // an element at it), the masked index is within it, and it lives as long as the deque.
        unsafe {
            slots
                .cast::<SlotOf<H::Element>>()
                .add(index & (slots.len() - 1))
                .as_ref()
        }
    }

    /// Adds an element.
    ///
    /// # Errors
    /// Gives the element back if a deque of fixed capacity is full.
    #[inline]
    pub fn try_push(&self, element: H::Element) -> Result<(), Full<H::Element>> {
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque.bottom.load(Ordering::Relaxed);
        if !self.has_room(bottom, 1) {
            return Err(Full(element));
        }
        self.slot(bottom).store(element.into_words());
        self.publish(bottom.wrapping_add(1));
        Ok(())
    }

    /// Makes the elements before the index `bottom` visible.
    #[inline]
    fn publish(&self, bottom: usize) {
        // Ordering: Release pairs with the thief's Acquire of `bottom` in `Stealer`: the thief
        // must see the slots, and what the elements refer to. (A release fence with a relaxed
        // store, as in the paper, does the same, but ThreadSanitizer does not know fences.)
        self.deque.bottom.store(bottom, Ordering::Release);
    }

    /// Whether `count` more elements fit from the index `bottom` on; grows the ring if it may.
    #[inline]
    fn has_room(&self, bottom: usize, count: usize) -> bool {
        // Ordering: Acquire pairs with the Release of `Deque::claim_top`: when we see an index
        // taken, its thief has read the slot that we are about to overwrite.
        let top = self.deque.top.load(Ordering::Acquire);
        let used = distance(top, bottom).unsigned_abs();
        used + count <= self.slots.get().len() || self.grow(top, bottom, count)
    }

    #[cold]
    fn grow(&self, top: usize, bottom: usize, count: usize) -> bool {
        while distance(top, bottom).unsigned_abs() + count > self.slots.get().len() {
            // SAFETY: 1. `self` is the owner.
            let Some(buffer) = (unsafe { self.deque.shared.storage.grow(top, bottom) }) else {
                return false;
            };
            self.slots.set(NonNull::from(buffer.slots));
        }
        true
    }

    /// Takes the newest element (LIFO) or the oldest (FIFO).
    #[inline]
    pub fn pop(&self) -> Option<H::Element> {
        match self.deque.shared.order {
            Order::Lifo => self.pop_newest(),
            Order::Fifo => self.pop_oldest(),
        }
    }

    #[inline]
    fn pop_newest(&self) -> Option<H::Element> {
        let deque = &*self.deque;
        // Ordering: Relaxed. Only the owner writes `bottom`; and `top` only grows, so an old
        // value that says "empty" is right. Saying it here spares idle owners the fence.
        let end = deque.bottom.load(Ordering::Relaxed);
        if distance(deque.top.load(Ordering::Relaxed), end) <= 0 {
            return None;
        }
        let newest = end.wrapping_sub(1);
        // Ordering: Release, as in `publish`: a thief may read this value too, and then sees the
        // elements before it.
        deque.bottom.store(newest, Ordering::Release);
        // Ordering: pairs with the thief's fence in `Stealer`. Of two fences one comes first: if
        // ours, the thief sees the lower bottom and leaves the element alone; if the thief's, we
        // see every top that it saw and so count the elements right. With less, both could take
        // the same element: the store and the load below may otherwise change places.
        full_fence();
        // Ordering: Relaxed, the fence orders it.
        let top = deque.top.load(Ordering::Relaxed);
        let older = distance(top, newest);
        if older > 0 {
            // SAFETY: 1. the slot holds what was pushed at this index; 2. thieves take only from
            // below `bottom`, or lose the compare-exchange, and the owner took it just now.
            return Some(unsafe { H::Element::from_words(self.slot(newest).load()) });
        }
        let taken = if older == 0 && deque.claim_top(top, 1) {
            // SAFETY: 1. as above; 2. it was the last element, and winning `top` makes it ours.
            Some(unsafe { H::Element::from_words(self.slot(newest).load()) })
        } else {
            None
        };
        // Ordering: Release, as in `publish`.
        deque.bottom.store(end, Ordering::Release);
        taken
    }

    fn pop_oldest(&self) -> Option<H::Element> {
        let deque = &*self.deque;
        // Ordering: Relaxed, only the owner writes it.
        let bottom = deque.bottom.load(Ordering::Relaxed);
        loop {
            // Ordering: Relaxed, the compare-exchange confirms it. No fence: a FIFO owner takes
            // elements by moving `top`, as thieves do, and never lowers `bottom`.
            let top = deque.top.load(Ordering::Relaxed);
            if distance(top, bottom) <= 0 {
                return None;
            }
            let words = self.slot(top).load();
            if deque.claim_top(top, 1) {
                // SAFETY: 1. the words were read while `top` stood at their index; 2. moving
                // `top` makes them ours.
                return Some(unsafe { H::Element::from_words(words) });
            }
        }
    }

    /// Room for up to `count` elements that are not pushed one by one.
    pub(super) fn reserve(&self, count: usize) -> Reserved<'_, H> {
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque.bottom.load(Ordering::Relaxed);
        let mut room = count;
        while room > 0 && !self.has_room(bottom, room) {
            room /= 2;
        }
        Reserved {
            worker: self,
            bottom,
            room,
        }
    }
}

impl<H: Handle> Worker<H> {
    /// The rings that the deque has replaced by larger ones since the last call, if any. They are
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

/// Free slots beyond `bottom`, which a batch steal fills before it knows whether the elements are
/// its own.
pub(super) struct Reserved<'a, H: Handle> {
    worker: &'a Worker<H>,
    bottom: usize,
    pub(super) room: usize,
}

impl<H: Handle> Reserved<'_, H> {
    /// Writes words into the free slot number `offset`; nobody sees them yet.
    pub(super) fn write(&self, offset: usize, words: <H::Element as Element>::Words) {
        debug_assert!(offset < self.room);
        self.worker
            .slot(self.bottom.wrapping_add(offset))
            .store(words);
    }

    /// The first `count` slots become elements.
    ///
    /// # Safety
    /// 1. They were written, and their words now belong to this deque alone.
    pub(super) unsafe fn publish(self, count: usize) {
        debug_assert!(count <= self.room);
        self.worker.publish(self.bottom.wrapping_add(count));
    }
}

/// The deque has a fixed capacity and is full; here is the element back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deque is full")
    }
}

impl<T: fmt::Debug> core::error::Error for Full<T> {}
