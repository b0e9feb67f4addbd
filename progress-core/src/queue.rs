//! The lists that hold operations: a thread's queue, its batch, and the stacks of an instance.

use core::{
    mem::{self, MaybeUninit},
    ptr::{self, NonNull},
};

use sleep_primitives::{AtomicPtr, Ordering, RawWord};

use crate::{moment::is_reached, operation::Header};

/// The operations of one thread, in the order in which they were scheduled.
pub(crate) struct Queue {
    first: *mut Header,
    last: *mut Header,
    length: usize,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            length: 0,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Adds an operation that may be run at this value. From now on the queue owns it.
    pub(crate) fn push(&mut self, mut operation: NonNull<Header>, value: RawWord) {
        // SAFETY: `IntoOperation` gave the operation away, or it was taken from another list.
        let header = unsafe { operation.as_mut() };
        header.set_next(ptr::null_mut());
        header.set_value(value);
        // SAFETY: the last operation is in the queue, so the queue owns it.
        match unsafe { self.last.as_mut() } {
            Some(last) => last.set_next(operation.as_ptr()),
            None => self.first = operation.as_ptr(),
        }
        self.last = operation.as_ptr();
        self.length += 1;
    }

    /// Adds an operation before the first one, as [`push`](Self::push) does behind the last one.
    pub(crate) fn push_front(&mut self, mut operation: NonNull<Header>, value: RawWord) {
        // SAFETY: as in `push`.
        let header = unsafe { operation.as_mut() };
        header.set_next(self.first);
        header.set_value(value);
        if self.last.is_null() {
            self.last = operation.as_ptr();
        }
        self.first = operation.as_ptr();
        self.length += 1;
    }

    /// Returns the value at which the first operation may be run.
    pub(crate) fn first_value(&self) -> Option<RawWord> {
        // SAFETY: the first operation is in the queue, so the queue owns it.
        unsafe { self.first.as_ref() }.map(Header::value)
    }

    /// Moves all operations of another queue to the end of this one. They may be run at this value.
    pub(crate) fn append(&mut self, other: &mut Self, value: RawWord) {
        while let Some(operation) = other.pop() {
            self.push(operation, value);
        }
    }

    /// Takes out the first operation.
    pub(crate) fn pop(&mut self) -> Option<NonNull<Header>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: the first operation is in the queue, so the queue owns it.
        self.first = unsafe { first.as_ref() }.next();
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        self.length -= 1;
        Some(first)
    }

    /// Takes out the first operation if progress has come to its value.
    pub(crate) fn pop_reached(&mut self, current: RawWord) -> Option<NonNull<Header>> {
        self.first_value()
            .filter(|value| is_reached(current, *value))?;
        self.pop()
    }

    /// Takes out all operations and returns the first and the last one.
    fn take_chain(&mut self) -> Option<(NonNull<Header>, NonNull<Header>)> {
        let queue = mem::take(self);
        Some((NonNull::new(queue.first)?, NonNull::new(queue.last)?))
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of operations that are sealed at once.
const BATCH: usize = 32;

/// Operations that have no value yet, in the order in which they were scheduled.
///
/// All of them get one value together, so that they share one fence. Until then the batch writes
/// nothing to them, because such a write would wait for the operation's cache line, which another
/// processor may have.
pub(crate) struct Batch {
    operations: [MaybeUninit<NonNull<Header>>; BATCH],
    /// The number of entries that are initialized, from the first one on.
    count: usize,
}

impl Batch {
    pub(crate) const fn new() -> Self {
        Self {
            operations: [MaybeUninit::uninit(); BATCH],
            count: 0,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.count == BATCH
    }

    /// Adds an operation.
    ///
    /// # Panics
    /// Panics if the batch is full.
    #[inline]
    pub(crate) fn push(&mut self, operation: NonNull<Header>) {
        self.operations[self.count].write(operation);
        self.count += 1;
    }

    /// Takes out all operations.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = NonNull<Header>> {
        let count = mem::take(&mut self.count);
        // SAFETY: `push` wrote the first `count` entries.
        self.operations[..count]
            .iter()
            .map(|operation| unsafe { operation.assume_init() })
    }
}

/// Operations that any thread adds to and that one thread takes out all at once.
///
/// No thread takes a single operation. One that comes back at the same address, while another
/// thread is about to link to it, is the newest one again.
pub(crate) struct Stack {
    newest: AtomicPtr<Header>,
}

impl Stack {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { newest: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Adds a complete operation that may be run at this value.
    pub(crate) fn push(&self, operation: NonNull<Header>, value: RawWord) {
        let mut queue = Queue::new();
        queue.push(operation, value);
        self.push_all(&mut queue);
    }

    /// Moves all operations of a queue to this stack. They keep their values.
    pub(crate) fn push_all(&self, queue: &mut Queue) {
        let Some((first, mut last)) = queue.take_chain() else {
            return;
        };
        // Ordering: Relaxed; the exchange decides, and only the pointer is used.
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: this call owns the chain until the exchange.
            unsafe { last.as_mut() }.set_next(newest);
            // Ordering: Release pairs with `take`: the operations are complete. Relaxed on
            // failure, as above.
            match self.newest.compare_exchange_weak(
                newest,
                first.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.newest.load(Ordering::Relaxed).is_null()
    }

    /// Takes out all operations.
    pub(crate) fn take(&self) -> Chain {
        if self.is_empty() {
            return Chain(ptr::null_mut());
        }
        // Ordering: Acquire pairs with `push_all`.
        Chain(self.newest.swap(ptr::null_mut(), Ordering::Acquire))
    }
}

/// Operations that were taken out of a [`Stack`].
///
/// The owner of this value owns the operations. It iterates to the end, because a drop would leak
/// the rest.
pub(crate) struct Chain(*mut Header);

impl Iterator for Chain {
    type Item = NonNull<Header>;

    fn next(&mut self) -> Option<NonNull<Header>> {
        let first = NonNull::new(self.0)?;
        // SAFETY: the operation was taken with its chain, so the chain owns it.
        self.0 = unsafe { first.as_ref() }.next();
        Some(first)
    }
}
