//! What a worker may run while it waits.
//!
//! A worker that waits for a stolen half of a join, or for the jobs of a scope, runs other jobs
//! meanwhile. With [`Isolation::Anything`] these are any jobs of the pool. A job that holds a lock
//! across a parallel call may then run, on top of its own frame, another job that needs the lock.
//! With [`Isolation::Subtree`] it runs only jobs that descend from those that it waits for.
//!
//! | the worker waits for | its subtree is |
//! | --- | --- |
//! | the second half of a join | the jobs that it has pushed since, and that half |
//! | the jobs of a scope | the jobs that it has pushed since the scope began |
//! | anything else | nothing |
//!
//! The jobs of a scope that no worker has queued belong to the subtree, too: the worker finds them
//! through [`ScopeCore::run_taking`](crate::ScopeCore::run_taking). A wait for a job's handle, or
//! for a future, finds such jobs of all scopes that the waiting job has opened.
//!
//! The subtree also contains what descends from these jobs: the jobs that a thief pushes while it
//! runs one of them. See [`lineage`](crate::worker::lineage) for how a worker finds them.
//!
//! A job inherits the isolation of the job that has pushed it. A job of a scope inherits the
//! isolation of the job that has opened the scope. So a thief that runs a part of an isolated call
//! does not run, on top of that part, a job that needs a lock of the caller.
//!
//! # What can wait without end
//!
//! In a program that uses only joins and scopes, every isolated wait ends. Of all jobs that have
//! not ended, consider the one that was begun last. It is on top of the stack of its worker, since
//! the jobs below it were begun earlier. Either it runs, or it waits for other jobs. Those that
//! were begun later have ended, and the others are still queued. Queued jobs are on the worker's
//! own deque, in its subtree, and the worker runs them itself; or a thief has queued them in a job
//! that has ended. Then the thief runs them before it does anything else, even if its own wait is
//! over by then. So the thief cannot first run a job that blocks on a lock of the caller.
//!
//! A program that waits in another way, for example on a channel, can wait for a job that only an
//! isolated worker could run. So can one that waits for a [detached](crate::Registry::inject) job.
//! With `Nothing`, the jobs of a scope that other workers have queued need another worker.
//!
//! The body of a scope may run older jobs of its call, in a yield or in the wait for a handle. Jobs
//! that such a job leaves on the deque count as jobs of the open scopes.
//!
//! A thread that [borrows](crate::LentWorker) a worker in an isolated call runs any job, on a stack
//! of its own. It leaves no job on the deque, and takes older jobs from the thieves' end, so that
//! the lender's waits find the deque as it was.
//!
//! Source: C. D. Wagner and B. G. Calder, *Leapfrogging* (1993), in which the worker that waits
//! helps the thief; oneTBB's `this_task_arena::isolate`.

/// What a worker may run while it waits. Later variants allow less.
///
/// Jobs that only one worker may run, which are those of broadcasts, run in every wait, because no
/// other worker can run them. A [yield](crate::WorkerThread::yield_now) is not a wait: it asks for
/// any job.
///
/// # Examples
/// ```
/// use pool_core::Isolation;
///
/// // The stricter one of two wins.
/// let (of_pool, of_job) = (Isolation::Anything, Isolation::Subtree);
/// assert_eq!(of_pool.max(of_job), Isolation::Subtree);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Any job of the pool. Keeps all workers busy.
    #[default]
    Anything,
    /// Jobs that descend from those that the worker waits for.
    Subtree,
    /// Jobs that the worker itself has queued since the join or scope that it waits for began, and
    /// jobs of that scope that no worker has queued. The worker takes no jobs from other workers.
    Nothing,
}

impl Isolation {
    const ALL: [Self; 3] = [Self::Anything, Self::Subtree, Self::Nothing];

    /// Returns a number below 4.
    pub(crate) const fn into_bits(self) -> usize {
        self as usize
    }

    /// Returns the value from which [`into_bits`](Self::into_bits) made the number.
    pub(crate) fn from_bits(bits: usize) -> Self {
        Self::ALL[bits]
    }
}
