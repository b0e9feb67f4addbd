//! The handle of a signal that work is no longer needed.

use std::{fmt, sync::Arc};

use super::signal::{Cancelled, Signal};
use crate::{
    api::{
        JoinHandle,
        handle::{Wanted, spawn_handle_on},
    },
    thread_pool::current::with_job_reference,
};

/// Signals that work is no longer needed. Clones share the signal, and a
/// [child](Self::child_token) receives it.
///
/// A job checks the token in its loops; a check is one load. A future awaits it with
/// [`cancelled`](Self::cancelled). The token of a scope is returned by
/// [`TryScope::cancel_token`](crate::TryScope::cancel_token).
///
/// # Examples
/// ```
/// use pool_std::CancelToken;
///
/// let token = CancelToken::new();
/// let job = pool_std::spawn_handle({
///     let token = token.clone();
///     move || (0..u64::MAX).take_while(|_| !token.is_cancelled()).last()
/// });
/// token.cancel();
/// assert!(job.join().is_ok());
/// ```
#[doc(alias = "CancellationToken")]
#[derive(Clone, Default)]
pub struct CancelToken {
    signal: Arc<Signal>,
}

impl CancelToken {
    /// Creates a token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a token that is cancelled when this one is, or by itself. To cancel the child leaves
    /// this token as it is.
    ///
    /// Use it for a part of the work that may also end alone. A child of a cancelled token is
    /// cancelled.
    ///
    /// A child keeps its ancestors in memory, but not their tokens alive: when the last clone of a
    /// token is dropped, its children are not cancelled.
    ///
    /// # Complexity
    /// One allocation, and a lock of this token, which has a list of its living children. A check
    /// of a child is one load, whatever the number of its ancestors.
    ///
    /// # Examples
    /// ```
    /// use pool_std::CancelToken;
    ///
    /// let server = CancelToken::new();
    /// let (first, second) = (server.child_token(), server.child_token());
    /// first.cancel(); // one client has gone
    /// assert!(first.is_cancelled() && !second.is_cancelled());
    /// server.cancel();
    /// assert!(second.is_cancelled());
    /// ```
    #[must_use]
    pub fn child_token(&self) -> Self {
        let signal = self.signal.child();
        Self { signal }
    }

    /// Cancels this token, its clones and their children, permanently. Everything that this thread
    /// did before is visible to a thread that sees the cancellation. Futures that await it are
    /// woken.
    ///
    /// # Panics
    /// Resumes the first panic of a waker, when all others have been called.
    pub fn cancel(&self) {
        self.signal.set();
    }

    /// Whether this token, a clone of it or one of its ancestors was cancelled.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.signal.is_set()
    }

    /// Returns a future that completes when this token is cancelled.
    ///
    /// If all clones of the token and of its ancestors are dropped, it never completes. It needs no
    /// runtime, and suits the `select!` of any. A job that may wait for nothing else
    /// can [`block_on`](crate::block_on()) it.
    ///
    /// # Examples
    /// ```
    /// use pool_std::CancelToken;
    ///
    /// let token = CancelToken::new();
    /// let waiter = pool_std::spawn_future({
    ///     let token = token.clone();
    ///     async move { token.cancelled().await }
    /// });
    /// token.cancel();
    /// assert!(waiter.join().is_ok());
    /// ```
    pub fn cancelled(&self) -> Cancelled {
        Cancelled::new(self.signal.clone())
    }

    /// Spawns a job on the current pool as [`spawn_handle`](crate::spawn_handle()) does, but does
    /// not run it if this token is cancelled before it starts. Then the job is dropped, and its
    /// handle reports that it was [aborted](crate::JoinError::is_aborted).
    ///
    /// A job that has started continues; let a long job check a clone of the token. The token is
    /// checked by the worker that takes the job from its queue, so a task that awaits the handle
    /// may be notified late.
    ///
    /// [`ThreadPool::spawn_handle_unless`](crate::ThreadPool::spawn_handle_unless) does the same on
    /// a given pool.
    ///
    /// # Examples
    /// ```
    /// let (token, pool) = (pool_std::CancelToken::new(), pool_std::ThreadPoolBuilder::new());
    /// let pool = pool.num_threads(1).build()?;
    /// let jobs = pool.install(|| {
    ///     // The only worker is in this closure.
    ///     let jobs = [1, 2, 3].map(|number| token.spawn_handle(move || number * 2));
    ///     token.cancel();
    ///     jobs
    /// });
    /// for job in jobs {
    ///     assert!(job.join().unwrap_err().is_aborted());
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_handle<F, T>(&self, job: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        with_job_reference(|registry| spawn_handle_on(registry, self.clone(), job))
    }
}

impl Wanted for CancelToken {
    fn is_wanted(&self) -> bool {
        !self.is_cancelled()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken")
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
