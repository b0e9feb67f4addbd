//! Why a job has no result.

use std::{
    any::Any,
    error::Error,
    fmt,
    panic::{AssertUnwindSafe, resume_unwind},
};

/// Why a job has no result: it panicked, or it was aborted before it started or, for a future,
/// before it completed.
///
/// # Examples
/// ```
/// let job = pool_std::spawn_handle(|| -> u32 { panic!("no luck") });
/// let error = job.join().unwrap_err();
/// assert!(error.is_panic());
/// assert_eq!(error.to_string(), "the job panicked: no luck");
/// ```
pub struct JoinError(Reason);

enum Reason {
    Panicked(Payload),
    Aborted,
    Forked,
}

impl JoinError {
    pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        Self(Reason::Panicked(Payload(AssertUnwindSafe(payload))))
    }

    pub(super) const fn aborted() -> Self {
        Self(Reason::Aborted)
    }

    pub(super) const fn forked() -> Self {
        Self(Reason::Forked)
    }

    /// Whether the job panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.0, Reason::Panicked(_))
    }

    /// Whether the job was [aborted](crate::ScopedJoinHandle::abort), discarded by the [end of its
    /// pool](crate::ThreadPool::shutdown_now), or spawned after that.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let token = pool_std::CancelToken::new();
    /// token.cancel();
    /// let handle = pool.spawn_handle_unless(&token, || 1);
    /// assert!(handle.join().is_err_and(|error| error.is_aborted()));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        matches!(self.0, Reason::Aborted)
    }

    /// Whether the job was spawned by a parent of this process and had not finished when the parent
    /// forked.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let handle = pool.spawn_handle(|| panic!("a reason"));
    /// // Only in a child of `fork`, for a job of the parent.
    /// assert!(handle.join().is_err_and(|error: pool_std::JoinError| !error.is_forked()));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_forked(&self) -> bool {
        matches!(self.0, Reason::Forked)
    }

    /// Returns the payload of the job's panic.
    ///
    /// # Errors
    /// Returns this error if the job did not panic.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let handle = pool.spawn_handle(|| -> u32 { panic!("a reason") });
    /// let payload = handle.join().unwrap_err().try_into_panic().expect("it panicked");
    /// assert_eq!(payload.downcast_ref(), Some(&"a reason"));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self.0 {
            Reason::Panicked(_) => Ok(self.into_payload()),
            _ => Err(self),
        }
    }

    /// Resumes the job's panic on this thread.
    ///
    /// # Panics
    /// Always. If the job was aborted, the message is this error.
    ///
    /// # Examples
    /// ```should_panic
    /// let job = pool_std::spawn_handle(|| panic!("no luck"));
    /// job.join().unwrap_or_else(|error| error.resume());
    /// ```
    pub fn resume(self) -> ! {
        match self.try_into_panic() {
            Ok(payload) => resume_unwind(payload),
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns what the job panicked with, or else this error.
    pub(super) fn into_payload(self) -> Box<dyn Any + Send> {
        match self.0 {
            Reason::Panicked(payload) => payload.0.0,
            reason => Box::new(Self(reason)),
        }
    }
}

/// What a job panicked with. It is only taken or shown, so that a later panic finds it whole.
struct Payload(AssertUnwindSafe<Box<dyn Any + Send>>);

// SAFETY: a shared reference is asked for the type of the value alone, and gives the value only if
// it is a text, which is `Sync`.
unsafe impl Sync for Payload {}

impl Payload {
    /// Returns the message of the panic, if it is a text.
    fn message(&self) -> Option<&str> {
        let text = self.0.downcast_ref::<&'static str>().copied();
        text.or_else(|| self.0.downcast_ref::<String>().map(String::as_str))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Panicked(payload) => match payload.message() {
                Some(text) => write!(f, "the job panicked: {text}"),
                None => f.write_str("the job panicked"),
            },
            Reason::Aborted => f.write_str("the job was aborted"),
            Reason::Forked => f.write_str("the job belongs to the parent of this process"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl Error for JoinError {}
