//! Joins and scopes that end early: after the first error, jobs that have not started are skipped.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    api::{
        join::join,
        scope::{Scope, scope},
    },
    panics::drop_quietly,
    sync::{Mutex, lock},
};

mod on_drop;
mod signal;
#[cfg(test)]
mod tests;
mod token;

pub use on_drop::CancelOnDrop;
pub use signal::Cancelled;
pub use token::CancelToken;

/// Runs two closures as [`join`] does, but stops early if one of them fails.
///
/// If `a` returns an error before another worker has started `b`, `b` is not run. If `b` fails
/// first, `a` continues.
///
/// # Errors
/// Returns the error of `a`, or else that of `b`.
///
/// # Panics
/// As [`join`]. A panic in `a` does not prevent `b` from running.
///
/// # Examples
/// ```
/// fn parse(texts: &[&str]) -> Result<i32, std::num::ParseIntError> {
///     match texts {
///         [] => Ok(0),
///         [text] => text.parse(),
///         _ => {
///             let (left, right) = texts.split_at(texts.len() / 2);
///             let (left, right) = pool_std::try_join(|| parse(left), || parse(right))?;
///             Ok(left + right)
///         }
///     }
/// }
///
/// assert_eq!(parse(&["1", "2", "3"]), Ok(6));
/// assert!(parse(&["1", "two", "3"]).is_err());
/// ```
pub fn try_join<A, B, RA, RB, E>(a: A, b: B) -> Result<(RA, RB), E>
where
    A: FnOnce() -> Result<RA, E> + Send,
    B: FnOnce() -> Result<RB, E> + Send,
    RA: Send,
    RB: Send,
    E: Send,
{
    let has_failed = AtomicBool::new(false);
    let results = join(
        || {
            let result = a();
            if result.is_err() {
                // Ordering: Relaxed here and below. It decides whether work is left out; the join
                // passes the error on.
                has_failed.store(true, Ordering::Relaxed);
            }
            result
        },
        || (!has_failed.load(Ordering::Relaxed)).then(b),
    );
    match results {
        (Ok(a), Some(b)) => Ok((a, b?)),
        (Err(error), _) => Err(error),
        (Ok(_), None) => unreachable!("b is left out only after an error of a"),
    }
}

/// Runs a scope as [`scope`] does, until the body or one of its jobs fails. Jobs that have not
/// started by then are skipped: their closures are dropped.
///
/// # Errors
/// Returns the first error.
///
/// # Panics
/// As [`scope`]. A panic takes precedence over an error, and cancels nothing.
///
/// # Examples
/// ```
/// let words = ["1", "2", "three", "4"];
/// let result = pool_std::try_scope(|scope| {
///     for word in words {
///         scope.spawn(move |_| word.parse::<u32>().map(drop));
///     }
///     Ok(())
/// });
/// assert!(result.is_err());
/// ```
pub fn try_scope<'scope, F, R, E>(body: F) -> Result<R, E>
where
    F: FnOnce(&TryScope<'_, 'scope, E>) -> Result<R, E> + Send,
    R: Send,
    E: Send + 'scope,
{
    let outcome = Outcome::default();
    let run = || {
        scope(|scope: &Scope<'scope>| {
            let scope = TryScope {
                scope,
                outcome: outcome.clone(),
            };
            body(&scope).map_err(|error| outcome.fail(error))
        })
    };
    let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        // The first panic counts, and not that of the drop of an error.
        drop_quietly(outcome.take_error());
        resume_unwind(panic)
    });
    match (result, outcome.take_error()) {
        (Ok(result), None) => Ok(result),
        (_, Some(error)) => Err(error),
        (Err(()), None) => unreachable!("a body that fails leaves its error"),
    }
}

/// The outcome of a scope's jobs so far.
struct Outcome<E> {
    token: CancelToken,
    /// The first one.
    error: Arc<Mutex<Option<E>>>,
}

impl<E> Default for Outcome<E> {
    fn default() -> Self {
        Self {
            token: CancelToken::new(),
            error: Arc::default(),
        }
    }
}

impl<E> Clone for Outcome<E> {
    fn clone(&self) -> Self {
        Self {
            token: self.token.clone(),
            error: self.error.clone(),
        }
    }
}

impl<E> Outcome<E> {
    /// Stores an error if it is the first one, and drops it otherwise. Cancels the token after
    /// that, because a job that sees the cancellation may return an error itself.
    fn fail(&self, error: E) {
        let mut first = lock(&self.error);
        // Its drop is code of the user: not under the lock.
        let later = if first.is_none() {
            *first = Some(error);
            None
        } else {
            Some(error)
        };
        drop(first);
        self.token.cancel();
        drop(later);
    }

    fn take_error(&self) -> Option<E> {
        lock(&self.error).take()
    }
}

/// A scope that ends early at the first error. Created by [`try_scope`].
///
/// # Examples
/// ```
/// let result = pool_std::try_scope(|scope| {
///     scope.spawn(|_| Err("the first error ends the scope"));
///     Ok(())
/// });
/// assert_eq!(result, Err("the first error ends the scope"));
/// ```
pub struct TryScope<'a, 'scope, E> {
    scope: &'a Scope<'scope>,
    outcome: Outcome<E>,
}

impl<'scope, E: Send + 'scope> TryScope<'_, 'scope, E> {
    /// Spawns a job as [`Scope::spawn`] does. If the scope fails before the job starts, the job is
    /// skipped.
    ///
    /// # Examples
    /// ```
    /// let mut answer = 0;
    /// let result: Result<(), String> = pool_std::try_scope(|scope| {
    ///     scope.spawn(|_| {
    ///         answer = 42;
    ///         Ok(())
    ///     });
    ///     Ok(())
    /// });
    /// assert_eq!((result, answer), (Ok(()), 42));
    /// ```
    pub fn spawn<F>(&self, job: F)
    where
        F: FnOnce(&TryScope<'_, 'scope, E>) -> Result<(), E> + Send + 'scope,
    {
        if self.is_cancelled() {
            return;
        }
        let outcome = self.outcome.clone();
        self.scope.spawn(move |scope| {
            if outcome.token.is_cancelled() {
                return;
            }
            let scope = TryScope { scope, outcome };
            if let Err(error) = job(&scope) {
                scope.outcome.fail(error);
            }
        });
    }

    /// Whether the body or a job has failed, or the scope was [cancelled](Self::cancel_token).
    ///
    /// Long jobs can check this and return early. If another job has failed, the result of such a
    /// job is ignored: the scope returns the first error. If the scope was cancelled instead, an
    /// `Err` that the job returns is that first error.
    ///
    /// # Examples
    /// ```
    /// let result: Result<(), &str> = pool_std::try_scope(|scope| {
    ///     scope.spawn(|_| Err("no"));
    ///     while !scope.is_cancelled() {
    ///         pool_std::yield_now();
    ///         std::thread::yield_now();
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!(result, Err("no"));
    /// ```
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.outcome.token.is_cancelled()
    }

    /// Returns the scope's token, which its first error cancels. A program may also cancel it: then
    /// jobs that have not started are skipped, and if there is no error, the scope returns what its
    /// body returns.
    ///
    /// # Examples
    /// ```
    /// let result: Result<(), String> = pool_std::try_scope(|scope| {
    ///     let token = scope.cancel_token();
    ///     // Long work looks at it from time to time, also in functions that know no scope.
    ///     assert!(!token.is_cancelled());
    ///     Ok(())
    /// });
    /// assert!(result.is_ok());
    /// ```
    #[must_use]
    pub fn cancel_token(&self) -> CancelToken {
        self.outcome.token.clone()
    }
}

impl<E> fmt::Debug for TryScope<'_, '_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryScope")
            .field("is_cancelled", &self.outcome.token.is_cancelled())
            .finish_non_exhaustive()
    }
}
