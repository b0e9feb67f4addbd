//! A handle that aborts its job when it is dropped.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::{JoinError, JoinHandle};

/// A handle that [aborts](JoinHandle::abort) its job when it is dropped, unless the job has
/// started. Created by [`JoinHandle::abort_on_drop`].
///
/// Use it in async tasks that may be dropped while they await a job, as in a `select!` or when a
/// client disconnects: a [`JoinHandle`] would detach the job, which would then run although its
/// result is no longer needed.
///
/// A job that has started continues. Let a long job check a [`CancelToken`](crate::CancelToken).
///
/// # Examples
/// ```
/// async fn checksum(data: Vec<u8>) -> u32 {
///     let job = pool_std::spawn_handle(move || data.iter().map(|&byte| u32::from(byte)).sum());
///     // If this future is dropped before the job has begun, the job does not run.
///     job.abort_on_drop().await.unwrap_or_else(|error| error.resume())
/// }
///
/// assert_eq!(pool_std::block_on(checksum(vec![1, 2, 3])), 6);
/// ```
#[must_use = "a handle that is dropped aborts its job"]
pub struct AbortOnDropHandle<T> {
    /// None when the handle was detached.
    handle: Option<JoinHandle<T>>,
}

impl<T> JoinHandle<T> {
    /// Turns this into a handle that aborts the job when it is dropped, unless the job has started.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// pool.install(|| {
    ///     let job = pool_std::spawn_handle(|| unreachable!("the only worker is here"));
    ///     drop(job.abort_on_drop());
    /// });
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn abort_on_drop(self) -> AbortOnDropHandle<T> {
        AbortOnDropHandle { handle: Some(self) }
    }
}

impl<T> AbortOnDropHandle<T> {
    /// Whether the job has finished, so that [`join`](Self::join) and an `await` return at once.
    ///
    /// # Examples
    /// ```
    /// let job = pool_std::spawn_handle(|| 6 * 7).abort_on_drop();
    /// while !job.is_finished() {
    ///     std::thread::yield_now();
    /// }
    /// ```
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.handle().is_finished()
    }

    /// Waits until the job has finished, and returns its result, as [`JoinHandle::join`] does.
    ///
    /// # Errors
    /// As [`JoinHandle::join`].
    ///
    /// # Panics
    /// If the handle has already returned its result as a future.
    ///
    /// # Examples
    /// ```
    /// let jobs: Vec<_> = ["1", "two", "3"]
    ///     .map(|text| pool_std::spawn_handle(|| text.parse::<u32>()).abort_on_drop())
    ///     .into();
    /// // The first error ends the loop, which drops the other handles.
    /// let sum: Result<u32, _> = jobs.into_iter().map(|job| job.join().unwrap()).sum();
    /// assert!(sum.is_err());
    /// ```
    pub fn join(self) -> Result<T, JoinError> {
        self.detach().join()
    }

    /// Waits until the job has finished, but no longer than `timeout`, as
    /// [`JoinHandle::wait_timeout`] does. Returns whether it has finished.
    ///
    /// # Examples
    /// ```
    /// use std::{thread::sleep, time::Duration};
    ///
    /// let mut job = pool_std::spawn_handle(|| sleep(Duration::from_millis(20))).abort_on_drop();
    /// while !job.wait_timeout(Duration::from_millis(5)) {
    ///     println!("not yet");
    /// }
    /// ```
    pub fn wait_timeout(&mut self, timeout: Duration) -> bool {
        self.handle.as_mut().expect(IS_THERE).wait_timeout(timeout)
    }

    /// Drops the job's closure if the job has not started, as [`JoinHandle::abort`] does. Returns
    /// whether it did.
    ///
    /// # Panics
    /// As [`JoinHandle::abort`].
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// pool.install(|| {
    ///     let job = pool_std::spawn_handle(|| unreachable!("the only worker is here"));
    ///     let job = job.abort_on_drop();
    ///     assert!(job.abort());
    ///     assert!(job.join().unwrap_err().is_aborted());
    /// });
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn abort(&self) -> bool {
        self.handle().abort()
    }

    /// Turns this back into a handle that detaches the job when it is dropped.
    ///
    /// # Examples
    /// ```
    /// let job = pool_std::spawn_handle(|| println!("done")).abort_on_drop();
    /// drop(job.detach()); // the job runs
    /// ```
    pub fn detach(mut self) -> JoinHandle<T> {
        self.handle.take().expect(IS_THERE)
    }

    fn handle(&self) -> &JoinHandle<T> {
        self.handle.as_ref().expect(IS_THERE)
    }
}

const IS_THERE: &str = "only `detach` takes the handle, and with it the value";

impl<T> Future for AbortOnDropHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(self.handle.as_mut().expect(IS_THERE)).poll(context)
    }
}

/// # Panics
/// As [`JoinHandle::abort`]: resumes a panic of the closure's drop.
impl<T> Drop for AbortOnDropHandle<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.abort();
        }
    }
}

impl<T> fmt::Debug for AbortOnDropHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AbortOnDropHandle")
            .field(self.handle())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use crate::{ThreadPool, ThreadPoolBuilder, block_on, spawn_handle};

    /// A pool whose only worker runs the calls of a test.
    fn pool() -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(1).build().unwrap()
    }

    #[test]
    fn a_job_that_has_not_begun_is_dropped_with_its_handle() {
        let (sender, receiver) = mpsc::channel();
        pool().install(move || {
            let job = spawn_handle(move || sender.send(()).unwrap()).abort_on_drop();
            assert!(!job.is_finished());
            drop(job);
            assert_eq!(
                receiver.recv(),
                Err(mpsc::RecvError),
                "the closure is dropped"
            );
        });
    }

    #[test]
    fn a_job_that_was_detached_runs() {
        let (sender, receiver) = mpsc::channel();
        let pool = pool();
        pool.install(|| {
            let job = spawn_handle(move || sender.send(42).unwrap()).abort_on_drop();
            drop(job.detach());
        });
        assert_eq!(receiver.recv(), Ok(42));
    }

    #[test]
    fn a_job_is_aborted_once_its_time_is_up() {
        let pool = pool();
        let (sender, receiver) = mpsc::channel();
        let busy = pool.spawn_handle(move || receiver.recv().unwrap());
        let mut job = pool
            .spawn_handle(|| unreachable!("the only worker is busy"))
            .abort_on_drop();
        assert!(!job.wait_timeout(Duration::from_millis(1)));
        assert!(job.abort());
        assert!(!job.abort(), "it has ended");
        assert!(job.wait_timeout(Duration::from_secs(60)));
        sender.send(()).unwrap();
        busy.join().unwrap();
        assert!(job.join().unwrap_err().is_aborted());
    }

    /// The only worker joins the newest job first, and so begins no other one before that.
    #[test]
    fn a_panic_of_a_job_drops_those_that_have_not_begun() {
        let (sender, receiver) = mpsc::channel();
        pool().install(move || {
            let jobs = [0, 1, 2].map(|number| {
                let sender = sender.clone();
                let job = move || {
                    sender.send(number).unwrap();
                    assert_ne!(number, 1, "as told");
                    number
                };
                spawn_handle(job).abort_on_drop()
            });
            let newest_first = jobs.into_iter().rev();
            let sum: Result<i32, _> = newest_first.map(super::AbortOnDropHandle::join).sum();
            assert!(sum.unwrap_err().is_panic());
        });
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn a_result_is_awaited_and_the_drop_after_it_does_nothing() {
        let mut job = pool().spawn_handle(|| 42).abort_on_drop();
        assert_eq!(block_on(&mut job).unwrap(), 42);
        assert!(job.is_finished());
        drop(job);
    }
}
