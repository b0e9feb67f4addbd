//! Names for parts of jobs.

use crate::tracer;

/// Runs a closure as a part of a job that has a name, which the trace of the pool shows: the
/// timeline has a slice of this name, inside that of the job.
///
/// A job has the name of its closure's type already. Use this for the phases of a long job, for
/// closures of one type that do different things, and for the second closures of joins, which leave
/// no event unless they are stolen.
///
/// The label is a reference to a string literal, `&"like this"`, so that it takes one word of the
/// trace. Without the feature `trace`, and on a thread that is not a worker, this only calls the
/// closure. In a pool that keeps a trace it costs two events, of some twenty nanoseconds each.
///
/// # Panics
/// Continues the panic of the closure.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let words = pool.install(|| {
///     let text = pool_std::labeled(&"read", || String::from("to be or not"));
///     pool_std::labeled(&"count", || text.split(' ').count())
/// });
/// assert_eq!(words, 4);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[doc(alias = "span", alias = "zone", alias = "task_name")]
pub fn labeled<R>(label: &'static &'static str, closure: impl FnOnce() -> R) -> R {
    tracer::labeled(label, closure)
}
