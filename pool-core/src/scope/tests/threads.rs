use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::Arc,
    thread,
    vec::Vec,
};

use super::{super::*, Sent};
use crate::{
    Priority,
    job::{Job, JobHeader, JobRef},
    queue::JobQueue as _,
    testing::{self, Test, TestPlatform as _, with_pool},
};

#[test]
fn smoke() {
    with_pool(1, |registry| {
        let scope = ScopeCore::<Test>::new(None, registry);
        assert_eq!(scope.complete(None, || 5), 5);
    });
}

/// Checks that of many panics one continues and the others are dropped, after all jobs have ended.
#[test]
fn panics() {
    with_pool(1, |registry| {
        let ended = AtomicU8::new(0);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let scope = ScopeCore::<Test>::new(None, registry);
            thread::scope(|threads| {
                scope.complete(None, || {
                    for number in 0..3_u8 {
                        scope.add_job(None);
                        let (scope, ended) = (&scope, &ended);
                        threads.spawn(move || {
                            scope.catch(|| {
                                ended.fetch_add(1, Ordering::SeqCst);
                                std::panic::panic_any(number);
                            });
                            // SAFETY: 1. it was added above.
                            unsafe { ScopeCore::job_done(scope) };
                        });
                    }
                });
            });
        }))
        .unwrap_err();
        assert!(*panic.downcast::<u8>().unwrap() < 3);
        assert_eq!(ended.load(Ordering::SeqCst), 3);
    });
}

/// Completes a scope twice, which would set its latch twice and drop its waiter's handle twice.
#[test]
#[should_panic(expected = "a scope is completed once")]
fn a_scope_is_completed_once() {
    with_pool(1, |registry| {
        let scope = ScopeCore::<Test>::new(None, registry);
        scope.complete(None, || ());
        scope.complete(None, || scope.add_job(None));
    });
}

/// Calls a closure with the only worker of a pool without threads, as that worker.
fn with_worker(body: impl FnOnce(&WorkerThread<Test>)) {
    testing::with_worker(&Test::registry(1), 0, body);
}

/// A job that counts itself, and may belong to a scope.
#[repr(C)]
struct Counting<'s> {
    header: JobHeader,
    runs: &'s AtomicU8,
    scope: Option<&'s ScopeCore<'s, Test>>,
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl Job for Counting<'_> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligation 1.
        let Self { runs, scope, .. } = unsafe { &*this.cast::<Self>() };
        runs.fetch_add(1, Ordering::Relaxed);
        if let Some(scope) = scope {
            // SAFETY: 1. `post` has added it; 2. this is the scope's worker.
            unsafe { ScopeCore::job_done(*scope) };
        }
    }
}

impl<'s> Counting<'s> {
    fn new(runs: &'s AtomicU8, scope: Option<&'s ScopeCore<'s, Test>>) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            runs,
            scope,
        }
    }

    /// Queues the job on a worker, which adds it to its scope. The test runs the job before it
    /// ends.
    fn post(&self, worker: &WorkerThread<Test>) {
        if let Some(scope) = self.scope {
            scope.add_job(Some(worker));
        }
        // SAFETY: `new`: 1. it lives until it is run, see above; 2. it consists of references to
        // shared values. `post`: 1. the reference is used for this alone.
        unsafe { worker.post(JobRef::new(self)) };
    }
}

#[test]
fn the_worker_of_a_scope_leaves_the_latch_alone() {
    with_worker(|worker| {
        let (scope, runs) = (
            ScopeCore::new(Some(worker), worker.registry()),
            AtomicU8::new(0),
        );
        let jobs: Vec<_> = (0..4).map(|_| Counting::new(&runs, Some(&scope))).collect();
        scope.complete(Some(worker), || {
            jobs[0].post(worker);
            let counted = scope.pending.counted();
            assert!(counted > 2, "counts are prepaid");
            assert_eq!(scope.pending.count(), 2, "a job and the body");
            jobs[1].post(worker);
            while worker.yield_local() {}
            for job in &jobs[2..] {
                job.post(worker);
            }
            assert_eq!(scope.pending.counted(), counted);
            assert_eq!(scope.pending.count(), 3);
        });
        assert_eq!((scope.pending.counted(), runs.into_inner()), (0, 4));
    });
}

/// Checks that counts do not gather where other threads count jobs and the scope's worker runs
/// them.
#[test]
fn counts_that_are_taken_over_are_limited() {
    with_worker(|worker| {
        let (scope, runs) = (
            ScopeCore::new(Some(worker), worker.registry()),
            AtomicU8::new(0),
        );
        scope.complete(Some(worker), || {
            for _ in 0..100 {
                scope.add_job(None);
                let job = Counting::new(&runs, Some(&scope));
                // SAFETY: as in `Counting::post`; the job is run before it is dropped.
                unsafe { worker.post(JobRef::new(&job)) };
                assert!(worker.yield_local());
            }
            assert_eq!(scope.pending.count(), 1, "the body");
            assert!(scope.pending.counted() < 20);
        });
        assert_eq!((scope.pending.counted(), runs.into_inner()), (0, 100));
    });
}

/// Counts jobs whose number overflows with the counts that would be prepaid beside them.
#[test]
fn too_many_jobs_at_once_are_refused() {
    with_worker(|worker| {
        let scope = ScopeCore::new(Some(worker), worker.registry());
        let add = || scope.add_jobs(Some(worker), usize::MAX);
        assert!(catch_unwind(AssertUnwindSafe(add)).is_err());
        assert_eq!(scope.pending.count(), 1, "the body");
        scope.complete(Some(worker), || ());
    });
}

/// Checks that the worker of a scope runs no job of its own that the scope does not wait for, when
/// the scope's jobs are done. Such a job may wait for what comes after the scope.
#[test]
fn a_scope_ends_before_other_jobs() {
    with_worker(|worker| {
        let (older, other, runs) = (AtomicU8::new(0), AtomicU8::new(0), AtomicU8::new(0));
        let older_job = Counting::new(&older, None);
        older_job.post(worker);
        let other_job = Counting::new(&other, None);
        let scope = ScopeCore::new(Some(worker), worker.registry());
        let jobs: Vec<_> = (0..3).map(|_| Counting::new(&runs, Some(&scope))).collect();
        scope.complete(Some(worker), || {
            other_job.post(worker);
            jobs.iter().for_each(|job| job.post(worker));
        });
        let counts = [&runs, &other, &older].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [3, 0, 0]);
        while worker.yield_local() {}
        let counts = [&runs, &other, &older].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [3, 1, 1]);
    });
}

/// A worker that looks for a job takes an urgent one first, also at the end of a scope.
#[test]
fn an_urgent_job_comes_before_those_of_a_scope() {
    with_worker(|worker| {
        let (urgent, runs) = (AtomicU8::new(0), AtomicU8::new(0));
        let urgent_job = Counting::new(&urgent, None);
        let mut node = <Test as Platform>::Queue::node();
        let scope = ScopeCore::new(Some(worker), worker.registry());
        let jobs: Vec<_> = (0..3).map(|_| Counting::new(&runs, Some(&scope))).collect();
        scope.complete(Some(worker), || {
            jobs.iter().for_each(|job| job.post(worker));
            let node = NonNull::from(&mut node);
            // SAFETY: `new`: as in `post`. `inject_with`: 1. it lives as long as the job.
            unsafe {
                let job = JobRef::new(&raw const urgent_job);
                worker.registry().inject_with(Priority::Urgent, node, job);
            }
        });
        let ran_first = urgent.load(Ordering::Relaxed);
        while worker.yield_now() {}
        assert_eq!((ran_first, runs.into_inner()), (1, 3));
    });
}

/// Completes a scope while other threads end its jobs. Under Miri, a thread that uses the scope too
/// late is an error.
#[test]
fn a_scope_waits_for_jobs_that_other_threads_end() {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 200 };
    for _ in 0..ROUNDS {
        with_worker(|worker| {
            let runs = Arc::new(AtomicU8::new(0));
            let theirs = 3;
            let scope = std::boxed::Box::new(ScopeCore::new(Some(worker), worker.registry()));
            let mut threads = Vec::new();
            scope.complete(Some(worker), || {
                for _ in 0..theirs {
                    scope.add_job(Some(worker));
                    let (runs, scope) = (runs.clone(), Sent::new(&scope));
                    threads.push(thread::spawn(move || {
                        runs.fetch_add(1, Ordering::Relaxed);
                        // SAFETY: 1. it was added above; 2. the test holds the pool until the
                        // thread has ended.
                        unsafe { scope.job_done() };
                    }));
                }
                scope.add_job(Some(worker));
                // SAFETY: 1. it was added above; 2. this is the scope's worker.
                unsafe { ScopeCore::job_done(&raw const *scope) };
            });
            assert_eq!(runs.load(Ordering::Relaxed), theirs);
            drop(scope);
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}
