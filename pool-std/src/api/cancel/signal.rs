//! A signal that is set once, and what follows it: signals of children, and futures.

use std::{
    collections::BTreeMap,
    fmt, mem,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

use crate::{
    panics::call_all,
    sync::{Mutex, lock},
};

#[cfg(test)]
mod tests;

/// The number of children from which on a signal looks for those that are gone.
const FEW_CHILDREN: usize = 8;

/// A signal that is set once.
///
/// # Why no follower is overlooked
///
/// The thread that sets the signal does so before it takes the lock, under which it collects the
/// followers. A follower looks at the signal under the lock, and then adds itself. If it has the
/// lock first, it is collected; if it has the lock later, it sees that the signal is set.
#[derive(Default)]
pub(super) struct Signal {
    is_set: AtomicBool,
    /// Kept, so that this signal follows its ancestors when no token of its parent is left.
    parent: Option<Arc<Self>>,
    followers: Mutex<Followers>,
}

#[derive(Default)]
struct Followers {
    /// Some may be gone.
    children: Vec<Weak<Signal>>,
    /// The number of children at which those that are gone are removed.
    limit: usize,
    /// The futures that wait, by their numbers.
    waiters: BTreeMap<u64, Waker>,
    /// The number of the next future.
    next: u64,
}

impl Signal {
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `mark`.
        self.is_set.load(Ordering::Acquire)
    }

    /// Sets the signal, and those of all descendants. When this returns, they are set, whichever
    /// thread was the first.
    ///
    /// # Panics
    /// Resumes the first panic of a waker, when all others have been called.
    pub(super) fn set(&self) {
        let (mut left, mut wakers) = (Vec::new(), Vec::new());
        self.mark(&mut left, &mut wakers);
        while let Some(signal) = left.pop() {
            signal.mark(&mut left, &mut wakers);
        }
        // Not before: another thread that sets the signal meanwhile must find them, too.
        lock(&self.followers).children = Vec::new();
        call_all(wakers.into_iter().map(|waker| move || waker.wake()));
    }

    /// Sets this signal alone. Adds its children to `left`, and the wakers of those that wait to
    /// `wakers`.
    fn mark(&self, left: &mut Vec<Arc<Self>>, wakers: &mut Vec<Waker>) {
        // Ordering: Release pairs with the Acquire of `is_set`.
        self.is_set.store(true, Ordering::Release);
        let mut followers = lock(&self.followers);
        left.extend(followers.children.iter().filter_map(Weak::upgrade));
        wakers.extend(mem::take(&mut followers.waiters).into_values());
    }

    /// Creates a signal that follows this one.
    pub(super) fn child(self: &Arc<Self>) -> Arc<Self> {
        let child = |is_set, parent| {
            Arc::new(Self {
                is_set: AtomicBool::new(is_set),
                parent,
                followers: Mutex::default(),
            })
        };
        let mut followers = lock(&self.followers);
        if self.is_set() {
            return child(true, None);
        }
        let child = child(false, Some(self.clone()));
        followers.children.push(Arc::downgrade(&child));
        if followers.children.len() > followers.limit {
            // Not each time: only when there are twice as many as after the last time.
            followers.children.retain(|child| child.strong_count() > 0);
            followers.limit = FEW_CHILDREN.max(2 * followers.children.len());
        }
        drop(followers);
        child
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // In a loop, because a signal may have any number of ancestors that only it has kept.
        let mut next = self.parent.take();
        while let Some(parent) = next {
            next = Arc::into_inner(parent).and_then(|mut parent| parent.parent.take());
        }
    }
}

/// A future that completes when a token is cancelled. Created by
/// [`CancelToken::cancelled`](crate::CancelToken::cancelled).
///
/// # Examples
/// ```
/// let token = pool_std::CancelToken::new();
/// let cancelled = token.cancelled();
/// token.child_token().cancel(); // that is another one
/// token.cancel();
/// pool_std::block_on(cancelled);
/// ```
#[must_use = "a future does nothing until it is awaited"]
pub struct Cancelled {
    signal: Arc<Signal>,
    /// Its number among those that wait, after the first poll.
    number: Option<u64>,
}

impl Cancelled {
    pub(super) fn new(signal: Arc<Signal>) -> Self {
        let number = None;
        Self { signal, number }
    }
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.signal.is_set() {
            return Poll::Ready(());
        }
        // A waker is code of the user: it is cloned and dropped without the lock.
        let waker = context.waker().clone();
        let this = &mut *self;
        let mut followers = lock(&this.signal.followers);
        if this.signal.is_set() {
            return Poll::Ready(());
        }
        let number = *this.number.get_or_insert_with(|| followers.new_number());
        let unused = followers.waiters.insert(number, waker);
        drop(followers);
        drop(unused);
        Poll::Pending
    }
}

impl Followers {
    fn new_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        // The lock ends before the waker is dropped.
        let waker = lock(&self.signal.followers).waiters.remove(&number);
        drop(waker);
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled")
            .field("is_cancelled", &self.signal.is_set())
            .finish_non_exhaustive()
    }
}
