//! Operations that threads hand to each other.

use core::ptr::{self, NonNull};

use crate::operation::{Header, Queue};
use sleep_primitives::{AtomicPtr, Ordering, RawWord};

/// Operations that any thread adds to, and that a thread takes all at once: so there is no
/// operation in the middle that could come back meanwhile (ABA).
pub(crate) struct Stack {
    newest: AtomicPtr<Header>,
}

impl Stack {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { newest: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Adds an operation that is complete, with its value.
    pub(crate) fn push(&self, operation: NonNull<Header>, value: RawWord) {
        let mut queue = Queue::new();
        queue.push(operation, value);
        self.push_all(&mut queue);
    }

    /// Moves all operations of a queue here, with their values.
    pub(crate) fn push_all(&self, queue: &mut Queue) {
        let Some((first, mut last)) = queue.take_chain() else {
            return;
        };
        // Ordering: Relaxed; the exchange decides, and only the pointer is used.
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            // SAFETY: the last operation of the chain is ours until the exchange.
            unsafe { last.as_mut() }.set_next(newest);
            // Ordering: Release pairs with `take`: the operations are complete. Relaxed on
            // failure: as above.
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
        // Ordering: Relaxed, a hint.
        self.newest.load(Ordering::Relaxed).is_null()
    }

    /// Takes all operations out.
    pub(crate) fn take(&self) -> Chain {
        if self.is_empty() {
            return Chain(ptr::null_mut());
        }
        // Ordering: Acquire pairs with `push_all`.
        Chain(self.newest.swap(ptr::null_mut(), Ordering::Acquire))
    }
}

/// Operations that were taken. They belong to the owner of this value, which must not drop it
/// before its end: the rest would be leaked.
pub(crate) struct Chain(*mut Header);

impl Iterator for Chain {
    type Item = NonNull<Header>;

    fn next(&mut self) -> Option<NonNull<Header>> {
        let first = NonNull::new(self.0)?;
        // SAFETY: it was taken, with its chain, so it is ours.
        self.0 = unsafe { first.as_ref() }.next();
        Some(first)
    }
}
