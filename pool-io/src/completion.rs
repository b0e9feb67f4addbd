//! The handle to an operation.

use std::{
    fmt,
    future::Future,
    io,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use crate::{
    error::{Transfer, TransferError, Transferred},
    file::File,
    operation::Operation,
    request::Request,
};

/// A handle to an operation that was started.
///
/// [`wait`](Self::wait) returns the result; as a [`Future`], the handle returns it to any executor.
/// Dropping a handle does not affect the operation: it continues, and its buffer lives until the
/// system has finished.
///
/// A [`Waker`](std::task::Waker) is called on a thread of the pool that is not a worker and that
/// other operations need. So it must not block or wait for an operation: it queues the task for an
/// executor and returns.
///
/// In a child of `fork`, an operation of the parent that had not finished by then is cancelled,
/// with the error `ECANCELED`: the threads that would finish it are in the parent, where the
/// operation continues. The child gets its copy of the buffer back, or no buffer if a thread of the
/// parent was finishing the operation at the fork.
///
/// # Examples
/// As a future, with an executor of the user:
/// ```
/// use std::{pin::pin, sync::Arc, task::{Context, Poll, Wake, Waker}, thread::{self, Thread}};
/// use pool_io::OpenOptions;
///
/// struct Unpark(Thread);
/// impl Wake for Unpark {
///     fn wake(self: Arc<Self>) {
///         self.0.unpark();
///     }
/// }
///
/// let waker = Waker::from(Arc::new(Unpark(thread::current())));
/// let mut future = pin!(pool_io::open("Cargo.toml", &OpenOptions::new().read(true)));
/// let file = loop {
///     match future.as_mut().poll(&mut Context::from_waker(&waker)) {
///         Poll::Ready(file) => break file,
///         Poll::Pending => thread::park(),
///     }
/// };
/// # use std::future::Future;
/// assert!(file.is_ok());
/// ```
#[must_use = "the result, and the buffer, come with the completion"]
pub struct Completion<T> {
    operation: Arc<Operation>,
    output: PhantomData<fn() -> T>,
}

impl<T: Output> Completion<T> {
    pub(super) fn new(operation: Arc<Operation>) -> Self {
        Self {
            operation,
            output: PhantomData,
        }
    }

    /// Waits until the operation has finished, and returns its result. A worker runs other jobs
    /// meanwhile, and sleeps when there are none; any other thread blocks.
    ///
    /// The other jobs run on the same stack, and the wait continues when they have ended. So two
    /// jobs that wait for each other's reads and writes may wait forever, because one may have been
    /// started while the other waited. Jobs that communicate with each other belong on threads, or
    /// in futures.
    ///
    /// # Panics
    /// If the result was returned by the [`Future`] already.
    pub fn wait(self) -> T {
        self.operation.wait();
        self.take().expect("the result has been taken")
    }

    /// Waits until the operation has finished, and returns its result. Blocks the thread: a worker
    /// runs no other jobs meanwhile.
    ///
    /// Use it for short waits in a job that reads a file from beginning to end, with one read
    /// ahead. If [`wait`](Self::wait) began another such job in each wait, more files, or parts of
    /// one file, would be read at a time than there are workers. The system's own read-ahead would
    /// have to serve them all, with smaller requests.
    ///
    /// # Panics
    /// If the result was returned by the [`Future`] already.
    ///
    /// # Examples
    /// ```
    /// use pool_io::OpenOptions;
    ///
    /// let file = pool_io::open("Cargo.toml", &OpenOptions::new().read(true)).wait_blocking()?;
    /// let mut length = 0;
    /// let mut next = pool_io::read_at(&file, vec![0; 512], 0);
    /// loop {
    ///     let read = next.wait_blocking()?;
    ///     if read.bytes == 0 {
    ///         break;
    ///     }
    ///     length += read.bytes as u64;
    ///     next = pool_io::read_at(&file, vec![0; 512], length);
    ///     // Here the job computes with `read.data()`.
    /// }
    /// assert_eq!(length, std::fs::metadata("Cargo.toml")?.len());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait_blocking(self) -> T {
        self.operation.wait_blocking();
        self.take().expect("the result has been taken")
    }

    /// Whether the operation has finished, so that [`wait`](Self::wait) returns at once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.operation.is_finished()
    }

    /// Asks the system to end the operation early, with the error `ECANCELED`. Does not wait for
    /// that.
    ///
    /// The operation may finish all the same, and what the system is in the middle of, such as a
    /// read of a disk, usually does.
    ///
    /// # Examples
    /// ```
    /// use pool_io::File;
    ///
    /// let (reader, _writer) = std::io::pipe()?;
    /// let read = pool_io::read(&File::new(reader)?, vec![0; 16]);
    /// read.cancel();
    /// let error = read.wait().unwrap_err();
    /// assert_eq!(error.buffer.len(), 16);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(&self) {
        self.operation.cancel();
    }

    fn take(&self) -> Option<T> {
        let (request, result) = self.operation.take()?;
        Some(T::from_finished(Finished { request, result }))
    }
}

impl<T: Output> Future for Completion<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        if self.operation.set_task(context.waker()) {
            return Poll::Pending;
        }
        Poll::Ready(self.take().expect("it has finished"))
    }
}

impl<T> Drop for Completion<T> {
    fn drop(&mut self) {
        self.operation.clear_task();
    }
}

impl<T> fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("is_finished", &self.operation.is_finished())
            .finish_non_exhaustive()
    }
}

/// An operation that has finished.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "no user has one")]
pub struct Finished {
    request: Request,
    result: Result<usize, i32>,
}

/// The result of an operation: of a read or a write, of opening a file, or of
/// [`sync`](super::sync).
///
/// # Examples
/// See [`Completion`], of which it is the result.
pub trait Output: private::Sealed {
    #[doc(hidden)]
    fn from_finished(finished: Finished) -> Self;
}

impl Output for Transfer {
    fn from_finished(Finished { request, result }: Finished) -> Self {
        let buffer = request.into_buffer();
        match result {
            Ok(bytes) => Ok(Transferred::new(bytes, buffer)),
            Err(error) => Err(TransferError::new(
                io::Error::from_raw_os_error(error),
                buffer,
            )),
        }
    }
}

impl Output for io::Result<File> {
    fn from_finished(Finished { request, result }: Finished) -> Self {
        result.map_err(io::Error::from_raw_os_error)?;
        request.into_opened().expect("a file was opened")
    }
}

impl Output for io::Result<()> {
    fn from_finished(finished: Finished) -> Self {
        finished
            .result
            .map(drop)
            .map_err(io::Error::from_raw_os_error)
    }
}

mod private {
    use super::{File, Transfer, io};

    pub trait Sealed {}
    impl Sealed for Transfer {}
    impl Sealed for io::Result<File> {}
    impl Sealed for io::Result<()> {}
}
