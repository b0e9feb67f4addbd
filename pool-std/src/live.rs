//! A live view of what the workers of a program are doing, even while the program hangs.
//!
//! With the feature `live`, a process answers viewers over a socket. For each pool, it tells what
//! each worker is doing, how long its deque is, which job it is running, and for how long.
//! `cargo xtask top` of the project is such a viewer, and any program that reads JSON can be one. A
//! thread outside the pools answers, so this works even if the program hangs. No worker is stopped.
//!
//! There are two ways to enable it:
//!
//! - In the program: [`serve`].
//! - From outside, also for programs that use a drop-in: the environment variable `POOL_STD_LIVE`
//!   is `1` when the process builds its first pool.
//!
//! # The socket
//!
//! The socket is a file whose name is the process number, in the directory `pool-std` in
//! `$XDG_RUNTIME_DIR`. If that variable is not set, the directory is `pool-std-USER` in the
//! directory for temporary files, where `USER` is the user's number. The directory belongs to the
//! user, and only that user's programs may open it. A viewer connects, reads one JSON object, and
//! closes the connection:
//!
//! | field | what it is |
//! | --- | --- |
//! | `process`, `program` | the number of the process, the name of its program |
//! | `time_ns` | when it answers; all times are in nanoseconds |
//! | `pools` | a list of the pools, each with `number`, `jobs_from_outside` and `workers` |
//!
//! Each worker has
//!
//! | field | what it is |
//! | --- | --- |
//! | `state` | `active`, `idle`, `asleep`, `blocked`, `absent` or `unknown`, as in [`PoolState`] |
//! | `label`, `blocked_ns` | of the section in which it is blocked, or null |
//! | `queued` | about how many jobs are on its deque |
//! | `jobs`, `posted`, `stolen`, `sleeps`, `wakes`, `fruitless` | numbers, as in [`Counts`] |
//! | `active_ns`, `idle_ns`, `asleep_ns` | as in [`WorkerTimes`](crate::WorkerTimes) |
//! | `job` | the job that it runs, or null |
//!
//! A job has `name`, `type`, `part` (its innermost [labeled](crate::labeled) part, or null),
//! `for_ns`, and `depth` (how many jobs wait below it on the worker's stack). The closure of a
//! thread outside the pool that has taken the worker's place has the name `guest`.
//!
//! [`PoolState`]: crate::PoolState
//! [`Counts`]: crate::Counts
//!
//! Only pools that are built after the process has begun to serve know which job a worker is
//! running: their workers keep their last 255 events (see [`trace`](crate::trace)). A job that
//! began before those events is not known.

#[cfg(unix)]
mod snapshot;
#[cfg(unix)]
mod socket;

use std::{
    io,
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::panics::print_error;

/// How many events each worker keeps for viewers, unless the program asks for more.
pub(crate) const EVENTS: usize = 255;

/// Starts to answer viewers, and returns the path of the socket. Later calls return the same path.
///
/// Call this before the first pool is built, so that viewers see which jobs are running.
///
/// # Errors
/// - The system cannot create the directory, the socket or the thread.
/// - The directory belongs to another user, or is open to others:
///   [`PermissionDenied`](io::ErrorKind::PermissionDenied).
/// - The system is not Unix: [`Unsupported`](io::ErrorKind::Unsupported).
///
/// # Examples
/// ```
/// # #[cfg(all(unix, not(miri)))] {
/// use std::{io::Read, os::unix::net::UnixStream};
///
/// let socket = pool_std::live::serve()?;
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
///
/// let mut answer = String::new();
/// UnixStream::connect(socket)?.read_to_string(&mut answer)?;
/// assert!(answer.contains(r#""workers":[{"#));
/// # }
/// # std::io::Result::Ok(())
/// ```
pub fn serve() -> io::Result<PathBuf> {
    #[cfg(unix)]
    {
        socket::serve()
    }
    #[cfg(not(unix))]
    {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Begins to answer viewers because the environment asks for it. Says once if that is not possible.
pub(crate) fn serve_or_warn() {
    static HAS_WARNED: AtomicBool = AtomicBool::new(false);

    if let Err(error) = serve() {
        // Ordering: Relaxed; nothing else depends on it.
        if !HAS_WARNED.swap(true, Ordering::Relaxed) {
            print_error(&format!("pool-std: viewers will get no answer: {error}\n"));
        }
    }
}

/// Whether the process answers viewers.
pub(crate) fn is_serving() -> bool {
    #[cfg(unix)]
    {
        socket::is_serving()
    }
    #[cfg(not(unix))]
    {
        false
    }
}
