//! Names for parts of jobs.

use crate::tracer;

/// Runs a closure as a named part of a job: in the pool's trace, the timeline shows a slice with
/// this name inside the job's slice.
///
/// A job is already named after its closure's type. Use this for the phases of a long job, for
/// closures of the same type that do different things, and for the second closures of joins, which
/// record no event unless they are stolen.
///
/// The label is a reference to a string literal, `&"like this"`, so that it takes one word in the
/// trace. Without the feature `trace`, or on a thread that is not a worker, this only calls the
/// closure. In a pool that records a trace, it costs two events of some twenty nanoseconds each.
///
/// # Panics
/// Resumes the panic of the closure.
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
