//! A token that is cancelled when its owner is dropped.

use super::CancelToken;

/// Cancels a token when it is dropped. Created by [`CancelToken::cancel_on_drop`].
///
/// Use it where a job is awaited that checks the token: an async task may be dropped while it
/// awaits the job, and a function may return early, with `?` or by a panic.
/// [`AbortOnDropHandle`](crate::AbortOnDropHandle) drops jobs that have not started; this also
/// reaches those that have.
///
/// # Examples
/// ```
/// use pool_std::CancelToken;
///
/// async fn search(range: std::ops::Range<u64>) -> Option<u64> {
///     let token = CancelToken::new();
///     let job = token.spawn_handle({
///         let token = token.clone();
///         move || {
///             let mut numbers = range.take_while(|_| !token.is_cancelled());
///             numbers.find(|number| number * number == 1_764)
///         }
///     });
///     // If this future is dropped, the search ends.
///     let _guard = token.cancel_on_drop();
///     job.await.unwrap_or_else(|error| error.resume())
/// }
///
/// assert_eq!(pool_std::block_on(search(0..100)), Some(42));
/// ```
#[doc(alias = "DropGuard")]
#[must_use = "the token is cancelled when this is dropped"]
#[derive(Debug)]
pub struct CancelOnDrop {
    /// None when it was disarmed.
    token: Option<CancelToken>,
}

impl CancelToken {
    /// Returns a value that cancels this token when it is dropped.
    ///
    /// # Examples
    /// ```
    /// let token = pool_std::CancelToken::new();
    /// drop(token.clone().cancel_on_drop());
    /// assert!(token.is_cancelled());
    /// ```
    #[doc(alias = "drop_guard")]
    pub fn cancel_on_drop(self) -> CancelOnDrop {
        CancelOnDrop { token: Some(self) }
    }
}

impl CancelOnDrop {
    /// Returns the token. It is not cancelled then.
    ///
    /// # Examples
    /// ```
    /// let guard = pool_std::CancelToken::new().cancel_on_drop();
    /// // The work is complete.
    /// let token = guard.disarm();
    /// assert!(!token.is_cancelled());
    /// ```
    #[must_use]
    pub fn disarm(mut self) -> CancelToken {
        self.token.take().expect("only this takes the token")
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel();
        }
    }
}
