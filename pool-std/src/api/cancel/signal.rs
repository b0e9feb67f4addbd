//! A signal that is set once, and what follows it: signals of children, and futures.

use std::{
    collections::BTreeMap,
    fmt, mem,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, Ordering},
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

/// The bit of a signal's state that says that it is set.
const SET: u8 = 1;
/// The bit that says that it has, or has had, a follower.
const FOLLOWED: u8 = 2;

/// A signal that is set once.
///
/// # Why no follower is overlooked
///
/// A follower sets a bit of the state under the lock, and then adds itself, unless the signal was
/// set before. The thread that sets the signal sets another bit of the same word. If the follower
/// comes first, that thread sees its bit, takes the lock, and finds the follower; if not, the
/// follower sees that the signal is set.
///
/// Without followers a signal is set without the lock, also in a child of a process that has forked
/// while another thread had the lock, and in a handler of the system's signals.
#[derive(Default)]
pub(super) struct Signal {
    state: AtomicU8,
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
        self.state.load(Ordering::Acquire) & SET != 0
    }

    /// Sets the signal, and those of all descendants. When this returns, they are set, whichever
    /// thread was the first.
    ///
    /// # Panics
    /// Resumes the first panic of a waker, when all others have been called.
    pub(super) fn set(&self) {
        let (mut left, mut wakers) = (Vec::new(), Vec::new());
        if !self.mark(&mut left, &mut wakers) {
            return;
        }
        while let Some(signal) = left.pop() {
            signal.mark(&mut left, &mut wakers);
        }
        // Not before: another thread that sets the signal meanwhile must find them, too.
        lock(&self.followers).children = Vec::new();
        call_all(wakers.into_iter().map(|waker| move || waker.wake()));
    }

    /// Sets this signal alone. Adds its children to `left`, and the wakers of those that wait to
    /// `wakers`. Returns whether it may have followers.
    fn mark(&self, left: &mut Vec<Arc<Self>>, wakers: &mut Vec<Waker>) -> bool {
        // Ordering: Release pairs with the Acquire of `is_set` and of `is_set_for_follower`. The
        // followers come with the lock.
        if self.state.fetch_or(SET, Ordering::Release) & FOLLOWED == 0 {
            return false;
        }
        let mut followers = lock(&self.followers);
        left.extend(followers.children.iter().filter_map(Weak::upgrade));
        wakers.extend(mem::take(&mut followers.waiters).into_values());
        true
    }

    /// Whether the signal is set, for a follower that has the lock, and adds itself if not.
    fn is_set_for_follower(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `mark`.
        self.state.fetch_or(FOLLOWED, Ordering::Acquire) & SET != 0
    }

    /// Creates a signal that follows this one.
    pub(super) fn child(self: &Arc<Self>) -> Arc<Self> {
        let child = |state, parent| {
            Arc::new(Self {
                state: AtomicU8::new(state),
                parent,
                followers: Mutex::default(),
            })
        };
        let mut followers = lock(&self.followers);
        if self.is_set_for_follower() {
            return child(SET, None);
        }
        let child = child(0, Some(self.clone()));
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
        if this.signal.is_set_for_follower() {
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
