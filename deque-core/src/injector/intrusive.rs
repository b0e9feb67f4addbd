//! The queue without memory of its own: elements bring their links.

use core::{cell::Cell, fmt, marker::PhantomData, ptr, ptr::NonNull};

use crossbeam_utils::CachePadded;

use crate::{
    primitive::{AtomicPtr, Ordering},
    steal::Steal,
};

#[cfg(test)]
mod tests;

/// A first-in first-out queue of unbounded length that needs no allocation.
///
/// A push is one compare-exchange, lock-free, and may be done in an interrupt handler. A steal
/// never waits: while another thread is taking an element it answers [`Steal::Retry`]. Do not
/// steal in an interrupt handler; the interrupted thread could be that other one.
///
/// New nodes go on a Treiber stack, the inbox. A consumer that finds the outbox empty takes the
/// whole inbox at once and reverses it. So no single node is ever taken off the inbox, and no freed
/// node is read. A push may link to a node that was stolen, freed, and pushed again at the same
/// address meanwhile; that node is then also the newest one. (Strictly by Rust's memory model, the
/// link is a pointer to the freed node. This cannot happen with [`push`](Self::push).)
///
/// # Examples
/// ```
/// use deque_core::{IntrusiveInjector, Node, Steal};
///
/// let (mut first, mut second) = (Node::new("first"), Node::new("second"));
/// let queue = IntrusiveInjector::new();
/// queue.push(&mut first);
/// queue.push(&mut second);
/// let Steal::Success(node) = queue.steal() else { panic!() };
/// assert_eq!(*node.value(), "first");
/// ```
///
/// A node must outlive the queue's use:
/// ```compile_fail,E0597
/// use deque_core::{IntrusiveInjector, Node, Steal};
///
/// fn dangling(queue: &IntrusiveInjector<'static, u32>) -> Steal<&'static mut Node<u32>> {
///     let mut node = Node::new(1);
///     queue.push(&mut node);
///     queue.steal()
/// }
/// ```
///
/// Source: R. K. Treiber, *Systems programming: coping with parallelism* (1986), for the inbox.
pub struct IntrusiveInjector<'a, T> {
    /// Newest first.
    inbox: CachePadded<AtomicPtr<Node<T>>>,
    /// Oldest first, or [`taking`].
    outbox: CachePadded<AtomicPtr<Node<T>>>,
    /// Invariant in `'a`: a queue must not be used as one of shorter-lived nodes. Such a node
    /// could be pushed into it, and would come out as a longer-lived one.
    nodes: PhantomData<Cell<&'a mut Node<T>>>,
}

/// An element of an [`IntrusiveInjector`] with its link.
///
/// It belongs to the queue from the push to the steal.
///
/// # Examples
/// ```
/// use deque_core::{IntrusiveInjector, Node};
///
/// let mut node = Node::new(7);
/// let queue = IntrusiveInjector::new();
/// queue.push(&mut node);
/// let node = queue.steal().success().expect("there is one");
/// *node.value_mut() += 1;
/// queue.push(node);
/// assert_eq!(*queue.steal().success().expect("it is back").value(), 8);
/// ```
#[derive(Debug)]
pub struct Node<T> {
    next: AtomicPtr<Node<T>>,
    value: T,
}

impl<T> Node<T> {
    const_unless_loom! {
        /// Creates a node that is in no queue.
        ///
        /// # Examples
        /// See [`Node`].
        pub fn new(value: T) -> Self {
            Self { next: AtomicPtr::new(ptr::null_mut()), value }
        }
    }

    /// Returns the element.
    ///
    /// # Examples
    /// See [`Node`].
    pub const fn value(&self) -> &T {
        &self.value
    }

    /// Returns the element, so that the caller can change it.
    ///
    /// # Examples
    /// See [`Node`].
    pub const fn value_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the element alone.
    ///
    /// # Examples
    /// ```
    /// assert_eq!(deque_core::Node::new(7).into_value(), 7);
    /// ```
    pub fn into_value(self) -> T {
        self.value
    }
}

// SAFETY: nodes move between threads, hence `T: Send`; none is shared.
unsafe impl<T: Send> Send for IntrusiveInjector<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for IntrusiveInjector<'_, T> {}

/// Returns what stands in the outbox while a thread is taking from it. No node has this address.
fn taking<T>() -> *mut Node<T> {
    ptr::without_provenance_mut(usize::MAX)
}

impl<'a, T> IntrusiveInjector<'a, T> {
    const_unless_loom! {
        /// Creates an empty queue.
        ///
        /// # Examples
        /// ```
        /// use deque_core::IntrusiveInjector;
        ///
        /// static QUEUE: IntrusiveInjector<'static, u32> = IntrusiveInjector::new();
        /// assert!(QUEUE.is_empty());
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                inbox: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
                outbox: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
                nodes: PhantomData,
            }
        }
    }

    /// Adds a node at the back.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{IntrusiveInjector, Node};
    ///
    /// let mut nodes = [1, 2, 3].map(Node::new);
    /// let queue = IntrusiveInjector::new();
    /// nodes.iter_mut().for_each(|node| queue.push(node));
    /// assert_eq!(*queue.steal().success().expect("there are three").value(), 1);
    /// ```
    pub fn push(&self, node: &'a mut Node<T>) {
        // SAFETY: obligations 1 to 3: the exclusive reference lives for `'a`.
        unsafe { self.push_raw(NonNull::from(node)) };
    }

    /// Adds a node at the back. Intended for nodes whose lifetime no reference can express.
    ///
    /// # Safety
    /// 1. The node is valid until a steal has returned it.
    /// 2. Until then nothing else uses it.
    /// 3. If the queue's user calls [`steal`](Self::steal), not only
    ///    [`steal_raw`](Self::steal_raw), both hold for all of `'a`.
    ///
    /// # Examples
    /// ```
    /// use std::ptr::NonNull;
    ///
    /// use deque_core::{IntrusiveInjector, Node};
    ///
    /// let queue = IntrusiveInjector::<u32>::new();
    /// let node = NonNull::from(Box::leak(Box::new(Node::new(7))));
    /// // SAFETY: 1. and 2. the box is freed after the steal, and not used before; 3. only
    /// // `steal_raw` is called.
    /// unsafe { queue.push_raw(node) };
    /// let stolen = queue.steal_raw().success().expect("there is one");
    /// // SAFETY: the node came from a box, and was stolen once.
    /// let node = unsafe { Box::from_raw(stolen.as_ptr()) };
    /// assert_eq!(node.into_value(), 7);
    /// ```
    pub unsafe fn push_raw(&self, node: NonNull<Node<T>>) {
        // Ordering: Relaxed, confirmed by the exchange.
        let mut newest = self.inbox.load(Ordering::Relaxed);
        loop {
            // SAFETY: by obligations 1 and 2 the node is ours until the exchange succeeds.
            // Ordering: Relaxed, published by the exchange.
            unsafe { node.as_ref() }
                .next
                .store(newest, Ordering::Relaxed);
            // Ordering: Release publishes the node. The nodes of other producers below it need no
            // Acquire: their pushes head release sequences that this exchange continues.
            match self.inbox.compare_exchange_weak(
                newest,
                node.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// Takes the node at the front.
    ///
    /// `Retry` means that another thread is taking one.
    ///
    /// # Examples
    /// See [`push`](Self::push).
    pub fn steal(&self) -> Steal<&'a mut Node<T>> {
        // SAFETY: the nodes came as exclusive references for `'a`, or are as good as that by
        // obligation 3 of `push_raw`; the queue forgets them.
        self.steal_raw().map(|mut node| unsafe { node.as_mut() })
    }

    /// Takes the node at the front as [`steal`](Self::steal) does, for nodes that were pushed with
    /// [`push_raw`](Self::push_raw).
    ///
    /// # Examples
    /// See [`push_raw`](Self::push_raw).
    pub fn steal_raw(&self) -> Steal<NonNull<Node<T>>> {
        if self.is_empty() {
            return Steal::Empty;
        }
        // Ordering: Relaxed, confirmed by the exchange.
        let mut oldest = self.outbox.load(Ordering::Relaxed);
        // Only the thread that takes writes the outbox meanwhile; others leave it alone.
        //
        // Ordering: Acquire pairs with the Release store below: the list's links were written, or
        // read last, by the thread that took before us.
        if oldest == taking()
            || self
                .outbox
                .compare_exchange(oldest, taking(), Ordering::Acquire, Ordering::Relaxed)
                .is_err()
        {
            return Steal::Retry;
        }
        if oldest.is_null() {
            oldest = self.take_inbox();
        }
        let mut rest = ptr::null_mut();
        // SAFETY: a node in the outbox is valid and ours, since no other thread takes now.
        if let Some(node) = unsafe { oldest.as_ref() } {
            // Ordering: Relaxed, written by us or by a thread whose outbox we acquired.
            rest = node.next.load(Ordering::Relaxed);
            // For `is_empty`: the outbox becomes empty only if the inbox was empty, too.
            //
            // Ordering: Relaxed, because the exchange acquires. A push that happens before this
            // steal is seen.
            if rest.is_null() && !self.inbox.load(Ordering::Relaxed).is_null() {
                rest = self.take_inbox();
            }
        }
        // Ordering: Release pairs with the exchange of the next thread that takes.
        self.outbox.store(rest, Ordering::Release);
        NonNull::new(oldest).map_or(Steal::Empty, Steal::Success)
    }

    /// Takes all nodes out of the inbox. Returns them oldest first. Only the thread that has the
    /// outbox calls this.
    fn take_inbox(&self) -> *mut Node<T> {
        // Ordering: Acquire receives the pushed nodes. Release pairs with `is_empty`: a thread that
        // sees the inbox empty because of this also sees the outbox taken before.
        reverse(self.inbox.swap(ptr::null_mut(), Ordering::AcqRel))
    }

    /// Whether there was no element at some moment during the call.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{IntrusiveInjector, Node};
    ///
    /// let mut node = Node::new(7);
    /// let queue = IntrusiveInjector::new();
    /// assert!(queue.is_empty());
    /// queue.push(&mut node);
    /// assert!(!queue.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // The inbox first: elements go from there to the outbox, so in the other order we could
        // miss one. The inbox may receive one before we look at the outbox. Even so there was a
        // moment without any: the thread that took the last one from the outbox found the inbox
        // empty before that.
        //
        // Ordering: Acquire keeps that order, and pairs with the swap of the inbox. Relaxed for
        // the outbox: a thread that takes leaves it non-null until the element is gone.
        self.inbox.load(Ordering::Acquire).is_null()
            && self.outbox.load(Ordering::Relaxed).is_null()
    }
}

/// Reverses a list that no other thread can reach.
fn reverse<T>(mut node: *mut Node<T>) -> *mut Node<T> {
    let mut reversed = ptr::null_mut();
    // SAFETY: the nodes of a list are valid, and the caller took this one for itself.
    while let Some(reference) = unsafe { node.as_ref() } {
        // Ordering: Relaxed, no other thread reads the links.
        let next = reference.next.load(Ordering::Relaxed);
        reference.next.store(reversed, Ordering::Relaxed);
        reversed = node;
        node = next;
    }
    reversed
}

impl<T> Default for IntrusiveInjector<'_, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for IntrusiveInjector<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntrusiveInjector")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}
