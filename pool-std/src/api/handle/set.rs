//! Jobs whose results are taken in the order in which they end.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use pool_core::Isolation;

use super::{JoinError, ScopedJoinHandle, waiter::Waiter};
use crate::{
    api::block_on,
    fork::Process,
    panics::call_all,
    platform::WorkerThread,
    sync::{Mutex, lock},
};

/// Jobs whose results are taken in the order in which they end.
///
/// It is made of handles: of jobs and of futures, on any pools, and of jobs of a scope. Use it
/// where the first results are used while other jobs go on, and to wait for the next job of
/// several: to keep a number of jobs in flight, or to use the first answer and abort the rest.
///
/// Dropping the set detaches its jobs, as dropping a handle does. To drop those that have not
/// started, [`abort_all`](Self::abort_all) before.
///
/// # Complexity
/// A job takes two allocations more than its handle, and its end takes a lock of the set.
///
/// # Examples
/// The first factor that any of several jobs finds:
/// ```
/// use pool_std::{CancelToken, JoinSet};
///
/// let token = CancelToken::new();
/// let ranges = [2..1_000_u64, 1_000..2_000, 2_000..3_000];
/// let mut jobs: JoinSet<_> = ranges
///     .into_iter()
///     .map(|range| {
///         let cancelled = token.clone();
///         let mut candidates = range.take_while(move |_| !cancelled.is_cancelled());
///         token.spawn_handle(move || candidates.find(|factor| 3_233 % factor == 0))
///     })
///     .collect();
/// let mut found = None;
/// while let Some(result) = jobs.join_next() {
///     if let Ok(Some(factor)) = result {
///         found = Some(factor);
///         token.cancel(); // the others end soon
///     }
/// }
/// assert!(matches!(found, Some(53 | 61)));
/// ```
#[doc(alias = "FuturesUnordered")]
pub struct JoinSet<'scope, T> {
    /// By the numbers in which they came.
    handles: BTreeMap<u64, ScopedJoinHandle<'scope, T>>,
    /// The number of the next one.
    next: u64,
    ended: Arc<Mutex<Ended>>,
    /// The process that `ended` is of.
    process: Process,
}

/// The jobs that have ended, and whose results were not taken.
#[derive(Default)]
struct Ended {
    /// Their numbers, in the order in which they ended.
    jobs: VecDeque<u64>,
    /// Of the task that waits for the next one.
    waiting: Option<Waker>,
}

impl<'scope, T> JoinSet<'scope, T> {
    /// Creates a set without jobs.
    ///
    /// # Examples
    /// ```
    /// assert!(pool_std::JoinSet::<u32>::new().is_empty());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            handles: BTreeMap::new(),
            next: 0,
            ended: Arc::default(),
            process: Process::current(),
        }
    }

    /// Adds a job.
    ///
    /// # Panics
    /// If the handle has already returned its result as a future.
    ///
    /// # Examples
    /// ```
    /// let mut jobs = pool_std::JoinSet::new();
    /// jobs.push(pool_std::spawn_handle(|| 1));
    /// jobs.push(pool_std::spawn_future(async { 2 }));
    /// let results = [jobs.join_next(), jobs.join_next()];
    /// assert_eq!(results.into_iter().flatten().flatten().sum::<i32>(), 3);
    /// assert!(jobs.join_next().is_none());
    /// ```
    pub fn push(&mut self, mut handle: ScopedJoinHandle<'scope, T>) {
        self.forget_parent();
        let number = self.next;
        self.next += 1;
        let bell = Waker::from(Arc::new(Bell {
            number,
            ended: self.ended.clone(),
            process: self.process,
        }));
        let is_pending =
            handle.is_here() && handle.clear_waiter() && handle.set_waiter(Waiter::Task(bell));
        if !is_pending {
            lock(&self.ended).jobs.push_back(number);
        }
        self.handles.insert(number, handle);
    }

    /// Returns the number of jobs whose results were not taken.
    ///
    /// # Examples
    /// See [`join_next`](Self::join_next).
    #[must_use]
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Whether all results were taken.
    ///
    /// # Examples
    /// See [`new`](Self::new).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Waits until the next job has ended, and returns its result. Returns `None` if all results
    /// were taken.
    ///
    /// A worker runs other jobs meanwhile, as in [`block_on`](crate::block_on()). In an
    /// [isolated](crate::isolate()) call it runs jobs of the set that no other worker has started,
    /// and polls its [futures](crate::spawn_future) that are woken. Any other thread blocks.
    ///
    /// # Errors
    /// As [`ScopedJoinHandle::join`].
    ///
    /// # Examples
    /// At most four jobs at a time:
    /// ```
    /// use pool_std::{JoinSet, spawn_handle};
    ///
    /// let (mut jobs, mut sum) = (JoinSet::new(), 0);
    /// for number in 0..100_u64 {
    ///     if jobs.len() == 4 {
    ///         sum += jobs.join_next().expect("there are four")?;
    ///     }
    ///     jobs.push(spawn_handle(move || number * number));
    /// }
    /// while let Some(square) = jobs.join_next() {
    ///     sum += square?;
    /// }
    /// assert_eq!(sum, 328_350);
    /// # Ok::<(), pool_std::JoinError>(())
    /// ```
    pub fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        match self.try_join_next() {
            None => block_on(self.next()),
            result => result,
        }
    }

    /// Returns the result of the next job if it has ended.
    ///
    /// # Errors
    /// As [`ScopedJoinHandle::join`].
    ///
    /// # Examples
    /// ```
    /// let mut jobs = pool_std::JoinSet::from_iter([pool_std::spawn_handle(|| 6 * 7)]);
    /// let result = loop {
    ///     if let Some(result) = jobs.try_join_next() {
    ///         break result;
    ///     }
    ///     println!("not yet");
    /// };
    /// assert_eq!(result.ok(), Some(42));
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.forget_parent();
        let number = lock(&self.ended).jobs.pop_front()?;
        let handle = self.handles.remove(&number);
        let mut handle = handle.expect("it is there until its result is taken");
        Some(handle.take())
    }

    /// Whether this process has used the set last, and not a parent of it.
    fn is_here(&self) -> bool {
        self.process == Process::current()
    }

    /// In a child of the process that has used this set, leaves behind what a thread of the parent
    /// may have locked.
    fn forget_parent(&mut self) {
        if !self.is_here() {
            self.process = Process::current();
            // The jobs that have not ended never will here.
            let (jobs, waiting) = (self.handles.keys().copied().collect(), None);
            self.ended = Arc::new(Mutex::new(Ended { jobs, waiting }));
        }
    }

    /// Waits as [`join_next`](Self::join_next) does, in async code. If the future is dropped, no
    /// result is lost.
    ///
    /// # Errors
    /// As [`ScopedJoinHandle::join`].
    ///
    /// # Examples
    /// ```
    /// async fn longest(words: Vec<String>) -> usize {
    ///     let jobs = words.into_iter().map(|word| pool_std::spawn_handle(move || word.len()));
    ///     let (mut jobs, mut longest) = (pool_std::JoinSet::from_iter(jobs), 0);
    ///     while let Some(length) = jobs.next().await {
    ///         longest = longest.max(length.unwrap_or_else(|error| error.resume()));
    ///     }
    ///     longest
    /// }
    ///
    /// let words = ["one", "three", "two"].map(String::from);
    /// assert_eq!(pool_std::block_on(longest(words.to_vec())), 5);
    /// ```
    pub async fn next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        if let Some(result) = self.try_join_next() {
            return Poll::Ready(Some(result));
        }
        if self.handles.is_empty() {
            return Poll::Ready(None);
        }
        self.help(context.waker());
        if !self.is_here() {
            // One of the jobs has forked the process.
            return Poll::Ready(self.try_join_next());
        }
        // Code of the user, not under the lock.
        let waker = context.waker().clone();
        let mut ended = lock(&self.ended);
        if ended.jobs.is_empty() {
            let unused = ended.waiting.replace(waker);
            drop(ended);
            drop(unused);
            return Poll::Pending;
        }
        drop(ended);
        Poll::Ready(self.try_join_next())
    }

    /// On a worker that runs no other jobs in its waits, runs jobs that no other worker has
    /// started, the newest first, until one has ended. The waker is woken when a future can
    /// continue. If a job forks the process, ends in the child.
    fn help(&self, waker: &Waker) {
        // SAFETY: 1. the reference is used in the next statement.
        let worker = unsafe { WorkerThread::current() };
        if worker.is_none_or(|worker| worker.isolation() == Isolation::Anything) {
            // Not after a look at each handle: there may be many.
            return;
        }
        let mut handles = self.handles.values().rev();
        while self.is_here()
            && lock(&self.ended).jobs.is_empty()
            && let Some(handle) = handles.next()
        {
            handle.help_isolated(waker);
        }
    }

    /// Drops the closures of all jobs that have not started. Their results say that they were
    /// [aborted](JoinError::is_aborted); the other jobs continue.
    ///
    /// # Panics
    /// Resumes the first panic of a closure's drop, when all jobs were aborted.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// pool.install(|| {
    ///     // The only worker is in this closure.
    ///     let jobs = [1, 2].map(|number| pool_std::spawn_handle(move || number));
    ///     let mut jobs = pool_std::JoinSet::from_iter(jobs);
    ///     jobs.abort_all();
    ///     while let Some(result) = jobs.join_next() {
    ///         assert!(result.is_err_and(|error| error.is_aborted()));
    ///     }
    /// });
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn abort_all(&self) {
        let abort = |handle: &ScopedJoinHandle<'_, T>| _ = handle.abort();
        call_all(self.handles.values().map(|handle| move || abort(handle)));
    }
}

/// Notes that a job has ended.
struct Bell {
    number: u64,
    ended: Arc<Mutex<Ended>>,
    process: Process,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        if self.process != Process::current() {
            // A child aborts a job of its parent, a thread of which may have locked `ended`.
            return;
        }
        let mut ended = lock(&self.ended);
        ended.jobs.push_back(self.number);
        let waiting = ended.waiting.take();
        drop(ended);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl<T> Default for JoinSet<'_, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'scope, T> Extend<ScopedJoinHandle<'scope, T>> for JoinSet<'scope, T> {
    fn extend<I: IntoIterator<Item = ScopedJoinHandle<'scope, T>>>(&mut self, handles: I) {
        handles.into_iter().for_each(|handle| self.push(handle));
    }
}

impl<'scope, T> FromIterator<ScopedJoinHandle<'scope, T>> for JoinSet<'scope, T> {
    fn from_iter<I: IntoIterator<Item = ScopedJoinHandle<'scope, T>>>(handles: I) -> Self {
        let mut set = Self::new();
        set.extend(handles);
        set
    }
}

impl<T> fmt::Debug for JoinSet<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
