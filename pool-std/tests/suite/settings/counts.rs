//! What a program should do, and what it has done.

use std::{
    any::Any,
    panic::resume_unwind,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
};

use pool_std::{Isolation, JoinError, JoinHandle, ScopedJoinHandle, ThreadPool};

use super::{
    program::{Leaf, Program},
    run::run,
};

/// What the closures of a program have in common.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    shared: Arc<Shared>,
    /// What the waits of these calls may run at most.
    pub(super) isolation: Isolation,
    /// Whether waits may have limits of time, and other threads may spawn jobs.
    pub(super) may_depend_on_time: bool,
}

#[derive(Debug, Default)]
struct Shared {
    made: AtomicUsize,
    /// Closures that were run as often as they should be.
    run: AtomicUsize,
    /// The second halves of joins whose first half has panicked.
    skipped: AtomicUsize,
    /// Closures that were dropped instead of being run.
    dropped: AtomicUsize,
    /// Handles with which a job was aborted that had not begun.
    aborted: AtomicUsize,
    /// Handles with which a future was aborted.
    aborted_futures: AtomicUsize,
    is_discarding: AtomicBool,
    kept: Mutex<Vec<(JoinHandle<()>, Leaf)>>,
    /// The closures in the order in which they were run, and the workers that ran them.
    order: Mutex<Vec<(usize, Option<usize>)>>,
}

/// The payload of each panic of a program.
#[derive(Debug)]
struct Thrown;

pub(super) fn throw() -> ! {
    resume_unwind(Box::new(Thrown))
}

/// Checks the payload of a panic, which is the program's own one, or that of a check.
pub(super) fn caught(payload: Box<dyn Any + Send>) {
    if !payload.is::<Thrown>() {
        resume_unwind(payload);
    }
}

impl Counts {
    pub(super) fn new(isolation: Isolation, may_depend_on_time: bool) -> Self {
        Self {
            shared: Arc::default(),
            isolation,
            may_depend_on_time,
        }
    }

    /// Returns the same for calls in such isolation.
    pub(super) fn isolated(&self, isolation: Isolation) -> Self {
        Self {
            isolation: self.isolation.max(isolation),
            ..self.clone()
        }
    }

    /// Returns a closure that counts itself and runs a program.
    pub(super) fn closure(
        &self,
        pool: &Arc<ThreadPool>,
        program: &Program,
    ) -> impl Fn() + Send + Sync + use<> {
        self.closure_for(pool, program, 1, false)
    }

    /// Returns a closure that is run so many times, or not at all if it may be skipped.
    pub(super) fn closure_for(
        &self,
        pool: &Arc<ThreadPool>,
        program: &Program,
        expected: usize,
        may_be_skipped: bool,
    ) -> impl Fn() + Send + Sync + use<> {
        let closure = Closure {
            number: self.shared.made.fetch_add(1, SeqCst),
            counts: self.clone(),
            pool: pool.clone(),
            program: program.clone(),
            times: AtomicUsize::new(0),
            expected,
            may_be_skipped,
        };
        move || closure.run()
    }

    /// Says that from now on the pool discards spawned jobs that have not begun.
    pub(super) fn begin_to_discard(&self) {
        self.shared.is_discarding.store(true, SeqCst);
    }

    /// Continues the panic of a job that was joined. Only a pool that discards jobs has aborted it.
    pub(super) fn check(&self, result: Result<(), JoinError>) {
        match result {
            Err(error) if error.is_aborted() => assert!(self.shared.is_discarding.load(SeqCst)),
            Err(error) => error.resume(),
            Ok(()) => {}
        }
    }

    pub(super) fn join(&self, handle: ScopedJoinHandle<'_, ()>) {
        self.check(handle.join());
    }

    /// Counts that a handle has aborted its job.
    pub(super) fn abort(&self) {
        self.shared.aborted.fetch_add(1, SeqCst);
    }

    /// Counts that a handle has aborted its future.
    pub(super) fn abort_future(&self) {
        self.shared.aborted_futures.fetch_add(1, SeqCst);
    }

    pub(super) fn keep(&self, handle: JoinHandle<()>, leaf: Leaf) {
        self.shared.kept.lock().unwrap().push((handle, leaf));
    }

    pub(super) fn take_kept(&self) -> Option<(JoinHandle<()>, Leaf)> {
        self.shared.kept.lock().unwrap().pop()
    }

    pub(super) fn take_order(&self) -> Vec<(usize, Option<usize>)> {
        std::mem::take(&mut *self.shared.order.lock().unwrap())
    }

    /// Checks that nothing was forgotten, in a pool that has nothing to do.
    pub(super) fn check_all(&self, discarded: usize) {
        let shared = &*self.shared;
        let [made, run, skipped, dropped, aborted, aborted_futures] = [
            &shared.made,
            &shared.run,
            &shared.skipped,
            &shared.dropped,
            &shared.aborted,
            &shared.aborted_futures,
        ]
        .map(|count| count.load(SeqCst));
        assert_eq!(run + skipped + dropped, made, "{self:?}");
        // A future that is discarded or aborted may have run its closure.
        let may_be_dropped = aborted + aborted_futures + discarded;
        assert!((aborted..=may_be_dropped).contains(&dropped), "{self:?}");
        while let Some((handle, _)) = self.take_kept() {
            assert!(handle.is_finished());
            let result = handle.join();
            assert!(discarded > 0 || !result.is_err_and(|error| error.is_aborted()));
        }
    }
}

/// A closure, which is counted when it is dropped.
struct Closure {
    number: usize,
    counts: Counts,
    pool: Arc<ThreadPool>,
    program: Program,
    times: AtomicUsize,
    expected: usize,
    may_be_skipped: bool,
}

impl Closure {
    fn run(&self) {
        self.times.fetch_add(1, Relaxed);
        let run_by = (self.number, self.pool.current_thread_index());
        self.counts.shared.order.lock().unwrap().push(run_by);
        run(&self.pool, &self.program, &self.counts);
    }
}

impl Drop for Closure {
    fn drop(&mut self) {
        let shared = &self.counts.shared;
        let count = match *self.times.get_mut() {
            0 if self.may_be_skipped => &shared.skipped,
            0 => &shared.dropped,
            times if times == self.expected => &shared.run,
            _ => return,
        };
        count.fetch_add(1, SeqCst);
    }
}
