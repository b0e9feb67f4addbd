//! The owner's end of a deque.

use core::{cell::Cell, fmt, marker::PhantomData, ptr::NonNull};

use super::{
    AlreadyOwned, Deque, Full, Handle, Order, Place, Stealer, Storage, TakeBack,
    bias::{Due, Patience},
    top::{Mode, STEP, Top, distance, position},
};
#[cfg(feature = "alloc")]
use crate::deque::Growable;
use crate::{
    element::{Element, Slot, SlotOf},
    primitive::{Ordering, full_fence, interruption_point, light_fence},
};

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
    /// When `bottom` gets here, the ring may be full: as of when `top` was last looked at.
    full_at: Cell<usize>,
    order: Order,
    /// With fences, if the deque has a process fence.
    patience: Patience,
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
        // Ordering: Relaxed, only the owner writes it: full, until the first push looks.
        let full_at = Cell::new(deque.bottom.load(Ordering::Relaxed));
        let worker = Self {
            order: deque.shared.order,
            deque,
            slots: Cell::new(NonNull::dangling()),
            mask: Cell::new(0),
            full_at,
            patience: Patience::new(),
            not_sync: PhantomData,
        };
        worker.look_at_ring();
        // The first push looks.
        worker.deque.alert();
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
    pub fn try_push(&self, element: H::Element) -> Result<Place, Full<H::Element>> {
        // First of all: this is code of the element's type, which may use the deque.
        let words = element.into_words();
        // Ordering: Relaxed, only the owner writes it.
        let bottom = self.deque.bottom.load(Ordering::Relaxed);
        if bottom == self.full_at.get() && !self.has_room(bottom, 1) {
            // SAFETY: 1. the words are from just now; 2. they are in no slot.
            return Err(Full(unsafe { H::Element::from_words(words) }));
        }
        self.put(bottom, words);
        Ok(match self.order {
            Order::Lifo => Place::new(bottom),
            // What the owner takes is never the newest.
            Order::Fifo => Place::NOWHERE,
        })
    }

    /// Where the next element comes.
    #[inline]
    #[must_use]
    pub fn next_place(&self) -> Place {
        // Ordering: Relaxed, only the owner writes it.
        Place::new(self.deque.bottom.load(Ordering::Relaxed))
    }

    /// Adds an element at the next place, if there is room and nobody has [alerted](Deque::alert) the
    /// owner, which takes one load and one comparison. False when only [`try_push`](Self::try_push) can
    /// tell.
    ///
    /// Only to a LIFO deque, and after it was told to [calm down](Self::calm_down).
    ///
    /// # Safety
    /// 1. [`next_place`](Self::next_place) has given the place, and nothing was pushed or taken by this
    ///    worker since; nor does [`Element::into_words`] push or take anything.
    #[inline]
    #[must_use]
    pub unsafe fn push_at(&self, place: Place, element: H::Element) -> bool
    where
        H::Element: Copy,
    {
        let words = element.into_words();
        debug_assert_eq!(place, self.next_place());
        let bottom = place.into_word();
        let is_calm = self.deque.bottom.is_calm_at(bottom);
        if is_calm {
            self.put(bottom, words);
        }
        is_calm
    }

    /// Adds an element at `bottom`, where there is room.
    #[inline]
    fn put(&self, bottom: usize, words: <H::Element as Element>::Words) {
        // Before the slot is written: the compiler does not know that this leaves the way there as
        // it was.
        let end = &self.deque.bottom;
        self.slot(bottom).store(words);
        end.publish(bottom.wrapping_add(STEP));
    }

    /// From now on [`push_at`](Self::push_at) adds elements as long as there is room, until the next
    /// [alert](Deque::alert); unless `is_calm` says no. It is asked after a sequentially consistent
    /// fence: whoever calls `alert` after `is_calm` has looked, alerts the owner anew.
    pub fn calm_down(&self, is_calm: impl FnOnce() -> bool) {
        if self.order == Order::Fifo || self.deque.bottom.is_calm() {
            return;
        }
        self.deque.bottom.set_calm(self.full_at.get());
        // Ordering: pairs with the fence of whoever alerts. If ours comes first, its alert is after
        // our store above; if its fence, `is_calm` sees what it wrote. Nothing weaker orders the store
        // and the loads.
        full_fence();
        if !is_calm() {
            self.deque.alert();
        }
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
        let full_at = top.wrapping_add(position(self.capacity()));
        let before = self.full_at.replace(full_at);
        self.deque.bottom.move_calm(before, full_at);
        true
    }

    /// Whether nobody has [alerted](Deque::alert) the owner since it [calmed down](Self::calm_down).
    #[must_use]
    pub fn is_calm(&self) -> bool {
        self.deque.bottom.is_calm()
    }

    fn capacity(&self) -> usize {
        self.deque.shared.storage.buffer().slots.len()
    }

    /// Takes the newest element (LIFO) or the oldest (FIFO).
    #[inline]
    pub fn pop(&self) -> Option<H::Element> {
        match self.order {
            Order::Lifo => self.pop_newest(),
            Order::Fifo => self.pop_oldest(),
        }
    }

    #[inline]
    fn pop_newest(&self) -> Option<H::Element> {
        // Ordering: Relaxed, only the owner writes it.
        let end = self.deque.bottom.load(Ordering::Relaxed);
        let newest = end.wrapping_sub(STEP);
        let top = self.lower(newest);
        if !top.leaves_to_owner(newest) {
            return self.pop_slowly(top, end);
        }
        // SAFETY: 1. the slot holds what was pushed at this position; 2. `top` says that it is ours.
        Some(unsafe { H::Element::from_words(self.slot(newest).load()) })
    }

    /// Lowers `bottom` to the position of the newest element, and then looks at `top`.
    #[inline]
    fn lower(&self, newest: usize) -> Top {
        let deque = &*self.deque;
        interruption_point();
        // A thief may read this value too, and then sees the elements before it.
        deque.bottom.publish(newest);
        // Ordering: orders the store above and the load below for a process fence of a thief, which
        // comes before or after it (`ProcessFence`).
        light_fence();
        // Ordering: Relaxed, the fence orders it.
        let top = deque.top.load(Ordering::Relaxed);
        interruption_point();
        top
    }

    /// The rest of a pop that has lowered `bottom` from `end`, if the newest element is not simply the
    /// owner's.
    #[cold]
    #[inline(never)]
    fn pop_slowly(&self, top: Top, end: usize) -> Option<H::Element> {
        let (answer, due) = self.settle(top, end);
        // Before the process fence is asked for anything: it may push to this slot.
        let words = (answer == TakeBack::Taken).then(|| self.slot(end.wrapping_sub(STEP)).load());
        self.bias_if_due(due);
        // SAFETY: 1. the slot held what was pushed at this position; 2. `settle` says that it is ours.
        words.map(|words| unsafe { H::Element::from_words(words) })
    }

    /// As [`pop_slowly`](Self::pop_slowly), without reading the element.
    #[cold]
    #[inline(never)]
    fn take_back_slowly(&self, top: Top, end: usize) -> TakeBack {
        let (answer, due) = self.settle(top, end);
        self.bias_if_due(due);
        answer
    }

    /// Decides about the element before `end`, from where `bottom` was lowered, if a fence is needed,
    /// or an exchange, or if there is no element. Also tells what is to be done after that.
    fn settle(&self, mut top: Top, end: usize) -> (TakeBack, Due) {
        debug_assert_eq!(self.order, Order::Lifo);
        let mut due = Due::Nothing;
        // `top` only grows, so an old value that says "empty" is right. Idle owners take no fence,
        // unless a thief waits for it.
        if !top.is_biased() && (distance(top.position(), end) > 0 || top.mode() == Mode::Revoking) {
            (top, due) = self.top_after_fence();
        }
        // Thieves take only from below `bottom`, or lose the compare-exchange.
        let answer = if distance(top.position(), end) > 1 || self.take_last(top, end) {
            TakeBack::Taken
        } else {
            TakeBack::Stolen
        };
        (answer, due)
    }

    /// `top` after a full fence, and what is due then.
    #[inline]
    fn top_after_fence(&self) -> (Top, Due) {
        let deque = &*self.deque;
        // Ordering: pairs with the thief's fence in `Stealer`. Of two fences one comes first: if
        // ours, the thief sees the lower bottom and leaves the element alone; if the thief's, we
        // see every top that it saw and so count the elements right. With less, both could take
        // the same element: the store of `bottom` and the load below may otherwise change places.
        full_fence();
        // Ordering: Relaxed, the fence orders it.
        let top = deque.top.load(Ordering::Relaxed);
        let due = match top.mode() {
            Mode::Revoking => {
                deque.top.answer();
                Due::Nothing
            }
            Mode::Fenced => self.patience.note_pop(top.position()),
            Mode::Biased => Due::Nothing,
        };
        (top, due)
    }

    /// Asks the process fence for its price, if that is due, and may bias the deque.
    ///
    /// For the end of a pop: the process fence may use this deque.
    #[inline]
    fn bias_if_due(&self, due: Due) {
        if due == Due::Nothing {
            return;
        }
        let deque = &*self.deque;
        let is_answered = || deque.top.was_answered();
        let ends = self
            .patience
            .begin_or_end(due, deque.shared.fence, is_answered);
        if ends {
            self.bias();
        }
    }

    /// Biases a fenced deque. If a thief is faster, patience begins anew.
    fn bias(&self) {
        // Ordering: Relaxed, the exchange confirms it.
        let top = self.deque.top.load(Ordering::Relaxed);
        if top.mode() == Mode::Fenced {
            let _ = self.deque.top.bias(top);
        }
    }

    /// As after many pops with a fence.
    #[cfg(all(test, loom))]
    pub(super) fn bias_now(&self) {
        self.bias();
    }

    /// Takes the last element, before the position `end`, if `top` is there and a thief is not
    /// faster; then there is none, and `bottom` goes back to `end`.
    fn take_last(&self, mut top: Top, end: usize) -> bool {
        let deque = &*self.deque;
        let newest = end.wrapping_sub(STEP);
        let mut won = false;
        while !won && top.position() == newest {
            match deque.top.claim(top, 1) {
                Ok(()) => won = true,
                // A thief was faster, and its `top` ends the loop; or the mode has changed.
                Err(now) => top = now,
            }
        }
        if won {
            self.patience.follow(end);
        }
        deque.bottom.publish(end);
        won
    }

    /// Takes back an element that was pushed, if it is the newest, without reading it. Only from a
    /// LIFO deque: the places of a FIFO one are [nowhere](Place::NOWHERE).
    ///
    /// It is told by its place alone: if the owner has popped it and pushed another to the same place,
    /// that one is taken. A caller that may have done so must know otherwise.
    ///
    /// # Safety
    /// 1. It is the place of an element that this worker has pushed, or nowhere.
    #[inline]
    pub unsafe fn take_back(&self, place: Place) -> TakeBack
    where
        H::Element: Copy,
    {
        // Ordering: Relaxed, only the owner writes it.
        let end = self.deque.bottom.load(Ordering::Relaxed);
        let newest = end.wrapping_sub(STEP);
        if !place.is_at(newest) {
            return TakeBack::NotNewest;
        }
        let top = self.lower(newest);
        if top.leaves_to_owner(newest) {
            TakeBack::Taken
        } else {
            self.take_back_slowly(top, end)
        }
    }

    fn pop_oldest(&self) -> Option<H::Element> {
        let deque = &*self.deque;
        // Ordering: Relaxed, only the owner writes it.
        let bottom = deque.bottom.load(Ordering::Relaxed);
        loop {
            // Ordering: Relaxed, the compare-exchange confirms it. No fence: a FIFO owner takes
            // elements by moving `top`, as thieves do, and never lowers `bottom`.
            let top = deque.top.load(Ordering::Relaxed);
            if distance(top.position(), bottom) <= 0 {
                return None;
            }
            let words = self.slot(top.position()).load();
            if deque.top.claim(top, 1).is_ok() {
                // SAFETY: 1. the words were read while `top` stood at their position; 2. moving
                // `top` makes them ours.
                return Some(unsafe { H::Element::from_words(words) });
            }
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
