//! Closures that block while a spare thread takes over the worker.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    blocking::handlers::is_in_handler,
    fork,
    platform::{WorkerThread, pool_of},
    seeded::point_if_seeded,
    thread_pool::spares::{Spare, Spares},
    worker::frames,
};

/// Runs a closure that blocks, and lends the worker's place to a spare thread in the meantime, if
/// the pool has one.
///
/// **By default a pool has no spare threads**, and this function only calls its closure. With
/// [`max_blocking_threads`](crate::ThreadPoolBuilder::max_blocking_threads), the pool starts a
/// spare thread when it first needs one, and runs jobs on as many threads as before.
///
/// Use it for waits that end without the pool: input and output, a process, a lock or a channel of
/// other threads. If another job of the same pool ends the wait, use
/// [`blocking`](crate::blocking()) instead: it is cheaper, and takes part in [deadlock
/// detection](crate::ThreadPoolBuilder::deadlock_handler), whereas a worker in this function counts
/// as active. A wait for a job that may be queued behind the caller needs this function. [Which way
/// to wait](crate::guide::waiting) compares them all.
///
/// # Where the closure runs
///
/// The closure always runs on the calling thread. What happens to the worker depends on the case:
///
/// - The pool has a [spare thread](crate::ThreadPoolBuilder::max_blocking_threads) left. The spare
///   becomes this worker: it takes over its number and its queues, and runs jobs. In the closure,
///   the calling thread is not a worker, so [`current_thread_index`](crate::current_thread_index)
///   is `None`, and `join`, `scope` and the other free functions call into this pool from outside.
///   When the closure has returned, the caller waits until the spare has finished its current job,
///   and then becomes the worker again. If the closure returns before the spare has begun, the
///   caller does not wait.
/// - The pool has no spare threads (the default), all of them are in use, or the system refuses a
///   thread. The closure runs as if it were called directly, and the pool has one worker fewer
///   while it blocks. The worker first wakes another one for the jobs that it has queued.
/// - The worker is in a blocked section of [`blocking`](crate::blocking()) or
///   [`mark_blocked`](crate::mark_blocked()). The closure runs as if all spares were in use,
///   because the jobs that a spare runs would be part of that section.
/// - The calling thread is not a worker: it is outside every pool, or in the closure of another
///   `block_in_place`. The closure runs as if it were called directly.
///
/// So the pool is guaranteed to make progress only if a spare is available. If it must, for example
/// because the closure waits for a job in a pool of one worker, give the pool as many spares as
/// there can be concurrent calls.
///
/// # What to look out for
///
/// - The job that the spare is running when the closure returns delays the caller, as a job delays
///   a `join` that waits. If that job needs a lock that the caller holds, both wait forever. So do
///   not hold a lock that jobs of the pool take across the call, and do not return its guard from
///   the closure. Nor may that job wait for something that the caller does after the call, such as
///   its result or its next message. So jobs that exchange several messages must not use this
///   function; [futures](crate::spawn_future) that await an async channel can.
/// - Jobs that the spare runs see the spare's thread-locals. In an [isolated](crate::isolate) call,
///   the waits of such a job are isolated, too.
/// - The closure is `Send`, although it does not leave the thread: it must not hold a
///   [`Worker`](crate::Worker), which belongs to the spare meanwhile. Move values that are `Send`
///   but not `Sync`, such as the receiver of a channel, into it; in a loop, move a `&mut` reference
///   to the value.
/// - The call wakes the spare, and then perhaps the caller, which takes some microseconds. It does
///   not pay off for shorter waits.
///
/// # Panics
/// Resumes the closure's panic, when the caller is the worker again.
///
/// # Examples
/// ```
/// use std::{fs, io};
///
/// let pool = pool_std::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .max_blocking_threads(4)
///     .build()?;
/// let lines: io::Result<usize> = pool.install(|| {
///     let text = pool_std::block_in_place(|| fs::read_to_string("Cargo.toml"))?;
///     Ok(text.lines().count())
/// });
/// assert!(lines.unwrap() > 0);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
///
/// The worker's handle stays on the worker:
/// ```compile_fail,E0277
/// pool_std::with_worker(|worker| pool_std::block_in_place(|| worker.index()));
/// ```
///
/// Source: the name and the idea are Tokio's, whose worker gives its place away permanently. Here
/// the caller takes it back, because the frames of joins and scopes above it belong to the worker.
/// The docs of `pool-core`'s module `lend` explain why they stay valid.
#[doc(alias = "managed_blocker")]
#[doc(alias = "blocking")]
pub fn block_in_place<F, R>(closure: F) -> R
where
    F: FnOnce() -> R + Send,
{
    // SAFETY: 1. the thread is the worker when the closure ends, and not in between.
    let Some(worker) = (unsafe { WorkerThread::current() }) else {
        return closure();
    };
    // A handler may be called under locks that another worker needs.
    if is_in_handler() {
        return closure();
    }
    let registry = worker.registry();
    let spares = &registry.data().spares;
    let spare = if is_blocked(worker) {
        None
    } else {
        spares.take(|| pool_of(worker))
    };
    let Some(spare) = spare else {
        worker.notify_leftovers();
        return closure();
    };
    let taken = Taken {
        spares,
        spare,
        worker: worker.index().get(),
        reclaims: AtomicBool::new(false),
    };
    // In a seeded pool, the turn is this thread's again after that, and not the spare's.
    let _point = PointAtEnd(worker);
    // SAFETY: 1. the first closure, the waiter, the sleep protocol and the parkers use no worker; a
    // driver's parker is called as on a thread outside the pool. The user's closure, and a handler
    // for deadlocks, can reach one only through a handle. `Worker::join` checks that the thread
    // is the worker, and a `BroadcastContext` reads only the number and the registry.
    frames::while_lending(worker, || unsafe {
        worker.lend(
            |lent| taken.spare.give(lent),
            || {
                let _end = ClosureEnd(&taken);
                // The lender waits for the spare thread.
                fork::abort_if_forked_in(registry, &|| true, closure)
            },
        )
    })
}

/// When dropped, even by a panic, lets the schedule of a seeded pool choose the next worker.
struct PointAtEnd<'w>(&'w WorkerThread);

impl Drop for PointAtEnd<'_> {
    fn drop(&mut self) {
        point_if_seeded(self.0);
    }
}

/// Whether the worker is in a blocked section. The accounting knows workers, not threads, so what a
/// spare marks in the worker's place would belong to that section.
fn is_blocked(worker: &WorkerThread) -> bool {
    let deadlock = worker.registry().deadlock();
    deadlock.ticket(worker.index()).is_some()
}

/// The end of the closure. The drop, by a panic too, takes the worker back from a spare that has
/// not begun to be it: so a closure that does not block at all waits for no other thread.
struct ClosureEnd<'s>(&'s Taken<'s>);

impl Drop for ClosureEnd<'_> {
    fn drop(&mut self) {
        let taken = self.0;
        taken.reclaims.store(true, Ordering::Relaxed);
        taken.spares.begin_reclaim(taken.worker);
        taken.spare.take_back();
    }
}

/// A spare in use. The drop puts it back.
struct Taken<'s> {
    spares: &'s Spares,
    spare: Arc<Spare>,
    /// The number of the worker.
    worker: usize,
    /// Whether the closure has ended, so that this thread waits to be the worker again. Only this
    /// thread accesses it.
    reclaims: AtomicBool,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if *self.reclaims.get_mut() {
            self.spares.end_reclaim(self.worker);
        }
        self.spares.put_back(self.spare.clone());
    }
}
