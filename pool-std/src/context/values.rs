//! Values that a program sets for its jobs.

use std::{any::Any, cell::Cell, sync::Arc};

thread_local! {
    static CURRENT: Cell<Values> = const { Cell::new(Values(None)) };
}

/// The values that are set on a thread, the innermost one first.
#[derive(Clone)]
pub(super) struct Values(Option<Arc<Link>>);

/// A value, and the values that were set before it.
struct Link {
    value: Arc<dyn Any + Send + Sync>,
    outer: Values,
}

impl Drop for Link {
    /// Drops the outer links without recursion: in a chain of jobs, each may set a value.
    fn drop(&mut self) {
        let mut next = self.outer.0.take();
        while let Some(mut link) = next.and_then(Arc::into_inner) {
            next = link.outer.0.take();
        }
    }
}

impl Values {
    /// Returns the values of this thread. There are none while the thread ends.
    #[inline]
    pub(super) fn current() -> Self {
        let look = |current: &Cell<Self>| {
            let values = current.replace(Self(None));
            let copy = values.clone();
            // The replaced value is empty, so that no code of the user runs here.
            current.set(values);
            copy
        };
        CURRENT.try_with(look).unwrap_or(Self(None))
    }

    /// Calls a closure on a thread with these values.
    #[inline]
    pub(super) fn run<R>(self, closure: impl FnOnce() -> R) -> R {
        let _restore = Restore(Some(self.replace()));
        closure()
    }

    /// Sets the values of this thread, and returns the previous ones.
    fn replace(self) -> Self {
        let mut values = Some(self);
        let before = CURRENT.try_with(|current| match values.take() {
            Some(values) => current.replace(values),
            None => unreachable!("it is called once"),
        });
        before.unwrap_or(Self(None))
    }

    /// Returns these values without the value of a type.
    fn without<T: Any>(self) -> Self {
        let mut links = Vec::new();
        let mut values = &self;
        while let Some(link) = &values.0 {
            if link.value.is::<T>() {
                let add = |outer, value: &Arc<_>| {
                    let value = Arc::clone(value);
                    Self(Some(Arc::new(Link { value, outer })))
                };
                return links.into_iter().rev().fold(link.outer.clone(), add);
            }
            links.push(&link.value);
            values = &link.outer;
        }
        self
    }

    /// Returns the innermost value of a type.
    fn find<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let mut values = self;
        while let Some(link) = &values.0 {
            if let Ok(value) = link.value.clone().downcast() {
                return Some(value);
            }
            values = &link.outer;
        }
        None
    }
}

/// Restores the values of a thread when a closure returns or unwinds.
struct Restore(Option<Values>);

impl Drop for Restore {
    #[inline]
    fn drop(&mut self) {
        if let Some(values) = self.0.take() {
            // Dropping the last reference to a value runs code of the user, which finds the thread
            // as it was before.
            drop(values.replace());
        }
    }
}

/// Calls a closure with a value set: [`get`] finds the value in the closure and in the jobs that
/// the closure creates, whichever worker runs them. A value of the same type that was set before is
/// restored when the closure ends.
///
/// # Panics
/// Resumes the closure's panic.
///
/// # Examples
/// ```
/// use pool_std::context;
///
/// /// The number of the request that a job belongs to.
/// struct Request(u32);
///
/// let log = |text: &str| match context::get::<Request>() {
///     Some(request) => format!("request {}: {text}", request.0),
///     None => text.to_owned(),
/// };
/// let (a, b) = context::with(Request(7), || pool_std::join(|| log("left"), || log("right")));
/// assert_eq!([a, b], ["request 7: left", "request 7: right"]);
/// assert_eq!(log("over"), "over");
/// ```
pub fn with<T: Any + Send + Sync, R>(value: T, closure: impl FnOnce() -> R) -> R {
    let link = Link {
        value: Arc::new(value),
        // Jobs only find the innermost value of each type.
        outer: Values::current().without::<T>(),
    };
    Values(Some(Arc::new(link))).run(closure)
}

/// Returns the value of a type with which the current job was created, or that was set in it.
///
/// # Complexity
/// Linear in the number of values that are set.
///
/// # Examples
/// See [`with`].
#[must_use]
pub fn get<T: Any + Send + Sync>() -> Option<Arc<T>> {
    Values::current().find()
}
