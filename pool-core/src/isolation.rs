//! What a worker may run while it waits.
//!
//! A worker that waits for a stolen half of a join, or for the jobs of a scope, runs other jobs
//! meanwhile. With [`Isolation::Anything`] these are any jobs of the pool. A job that holds a lock
//! across a parallel call may then run, below its own frame, another job that needs the lock. With
//! [`Isolation::Subtree`] it runs only jobs that descend from those that it waits for.
//!
//! | the worker waits for | its subtree is |
//! | --- | --- |
//! | the second half of a join | the jobs that it has pushed since, and that half |
//! | the jobs of a scope | the jobs that it has pushed since the scope began |
//! | anything else | nothing |
//!
//! The jobs of a scope that no worker has queued are in its subtree, too: the worker finds them by
//! [`ScopeCore::run_taking`](crate::ScopeCore::run_taking). A wait for a job by its
//! handle, or for a future, finds those of all scopes that its own job has opened.
//!
//! And so is what descends from these: the jobs that a thief pushes while it runs one of them. How
//! a worker finds these, [`Lineage`](crate::worker::lineage) says.
//!
//! A job inherits the isolation of the job that has pushed it, and a job of a scope that of the job
//! which has opened the scope. So a thief that runs a part of an isolated call does not run, below
//! that part, a job that needs a lock of the caller.
//!
//! # What can wait without end
//!
//! In a program of joins and scopes alone, an isolated wait ends. Consider the job that was begun
//! last of all jobs that have not ended. It is the uppermost one on the stack of its worker, since
//! a job below it was begun before. Either it runs, or it waits for jobs that were begun later,
//! which have ended, or that are still queued. Those are on the worker's own deque, in its subtree,
//! and the worker runs them itself; or they were queued by a thief that has ended the job which
//! queued them. The thief runs them before it does anything else, also if its own wait is over by
//! then, so that a lock of the caller, which another job needs, cannot keep it from them.
//!
//! A program that waits in another way, for example on a channel, can wait for a job that only an
//! isolated worker could run. So can one that waits for a [detached](crate::Registry::inject) job.
//! With `Nothing`, the jobs of a scope that other workers have queued need another worker.
//!
//! A body of a scope may run older jobs of its call, by a yield or by the wait for a handle. What
//! such a job leaves on the deque counts as a job of the scopes that are open.
//!
//! A thread that [borrows](crate::LentWorker) a worker in an isolated call runs any job, on a stack
//! of its own. It leaves no job on the deque, and takes older ones from the thieves' end, so that
//! the lender's waits find the deque as it was.
//!
//! Source: C. D. Wagner and B. G. Calder, *Leapfrogging* (1993), in which the worker that waits
//! helps the thief; oneTBB's `this_task_arena::isolate`.

/// What a worker may run while it waits. Later variants allow less.
///
/// Jobs that one worker alone may run, which are those of broadcasts, are run in every wait,
/// because no other worker can run them. A [yield](crate::WorkerThread::yield_now) is not a wait:
/// it asks for any job.
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
    /// Jobs that the worker itself has queued since what it waits for began, and those of the scope
    /// that no worker has queued. The worker takes none from other workers.
    Nothing,
}

impl Isolation {
    const ALL: [Self; 3] = [Self::Anything, Self::Subtree, Self::Nothing];

    /// Returns a number below 4.
    pub(crate) const fn into_bits(self) -> usize {
        self as usize
    }

    /// Returns what [`into_bits`](Self::into_bits) has made the number from.
    pub(crate) fn from_bits(bits: usize) -> Self {
        Self::ALL[bits]
    }
}
