//! A lock-free stack. A pop moves the value out at once, and thread progress frees its node later.
//!
//! The stack is Treiber's ("Systems programming: coping with parallelism", 1986). Another thread
//! may be reading the link of a node that was just popped, so the node must stay in memory. A node
//! that was freed and pushed again at the same address would also let an exchange succeed that
//! should fail (ABA). Both end when the thread that has popped *retires* the node.
//!
//! Any thread may push and pop: no thread registers, and each call delays progress for itself.
//!
//! ```sh
//! cargo run --release -p progress-core --example stack
//! ```

use std::{
    mem::ManuallyDrop,
    ptr,
    sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering},
    thread,
};

use progress_core::{Parker, Participant, Progress, Reclaimable};

const THREADS: u64 = 4;
/// How many values each thread pushes.
const VALUES: u64 = if cfg!(miri) { 40 } else { 100_000 };

/// A stack of values.
struct Stack<T> {
    newest: AtomicPtr<Reclaimable<Node<T>>>,
    /// Frees the nodes that were popped. No thread is managed, so there is no participant.
    progress: Progress<(Yielding, [Participant<Yielding>; 0])>,
}

struct Node<T> {
    /// Belongs to the thread that has popped the node. So the drop of a node leaves it alone.
    value: ManuallyDrop<T>,
    next: AtomicPtr<Reclaimable<Self>>,
}

impl<T: Send + 'static> Stack<T> {
    const fn new() -> Self {
        Self {
            newest: AtomicPtr::new(ptr::null_mut()),
            progress: Progress::new([]),
        }
    }

    fn push(&self, value: T) {
        // A push reads no other thread's node, but it stores a pointer to the newest one. If that
        // was freed meanwhile, and another node was pushed at its address, the exchange would
        // succeed with a pointer to what was freed.
        let _delay = self.progress.delay();
        let mut newest = self.newest.load(Ordering::Relaxed);
        let (value, next) = (ManuallyDrop::new(value), AtomicPtr::new(newest));
        let node = Box::into_raw(Box::new(Reclaimable::new(Node { value, next })));
        // Release pairs with `pop`, which reads the node.
        while let Err(now) =
            (self.newest).compare_exchange_weak(newest, node, Ordering::Release, Ordering::Relaxed)
        {
            newest = now;
            // SAFETY: no other thread has seen the node.
            unsafe { &*node }.next.store(newest, Ordering::Relaxed);
        }
    }

    /// Takes the newest value.
    fn pop(&self) -> Option<T> {
        let delay = self.progress.delay();
        let mut newest = self.newest.load(Ordering::Acquire);
        let node = loop {
            // SAFETY: the node was in reach after the delay began, so it is not freed before the
            // delay ends.
            let node = unsafe { newest.as_ref() }?;
            let next = node.next.load(Ordering::Relaxed);
            // Acquire: the node that is the newest next was pushed by another thread.
            match (self.newest).compare_exchange_weak(
                newest,
                next,
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(node) => break node,
                Err(now) => newest = now,
            }
        };
        // SAFETY: only this thread has popped the node, which is still delayed, and nothing else
        // reads its value.
        let value = ManuallyDrop::into_inner(unsafe { ptr::read(&raw const (**node).value) });
        // Before the node is retired: its own delay would keep it.
        drop(delay);
        // SAFETY: 1. it came from a box, and was popped once; 2. it is out of reach.
        unsafe { self.progress.retire(node) };
        Some(value)
    }
}

impl<T> Drop for Stack<T> {
    fn drop(&mut self) {
        let mut newest = *self.newest.get_mut();
        while !newest.is_null() {
            // SAFETY: what is still linked was not popped, and no other thread has the stack.
            let mut node = unsafe { Box::from_raw(newest) };
            newest = *node.next.get_mut();
            // SAFETY: its value was not taken out.
            unsafe { ManuallyDrop::drop(&mut node.value) };
        }
        // The nodes that were popped are freed with `progress`.
    }
}

/// Waits by letting other threads run. Only threads that wait for progress would use it.
struct Yielding;

impl Parker for Yielding {
    fn park(&self) {
        thread::yield_now();
    }

    fn unpark(&self) {}
}

/// A value that counts its instances.
struct Counted(u64);

static ALIVE: AtomicUsize = AtomicUsize::new(0);

impl Counted {
    fn new(number: u64) -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self(number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

fn main() {
    let stack = Stack::new();
    let sum = AtomicU64::new(0);
    thread::scope(|scope| {
        for first in 0..THREADS {
            let (stack, sum) = (&stack, &sum);
            scope.spawn(move || {
                for number in (first..THREADS * VALUES).step_by(THREADS as usize) {
                    stack.push(Counted::new(number));
                    // Every fourth stays, for the end.
                    if !(number / THREADS).is_multiple_of(4) {
                        let popped = stack.pop().expect("each thread pushes before it pops");
                        sum.fetch_add(popped.0, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let left = ALIVE.load(Ordering::Relaxed);
    println!("{left} values are on the stack; {:?}", stack.progress);
    assert_eq!(left as u64, THREADS * VALUES.div_ceil(4));
    for _ in 0..left / 2 {
        let popped = stack.pop().expect("so many were left");
        sum.fetch_add(popped.0, Ordering::Relaxed);
    }
    drop(stack);
    assert_eq!(
        ALIVE.load(Ordering::Relaxed),
        0,
        "each value was dropped once"
    );
    println!("the sum of those that were popped is {}", sum.into_inner());
}
