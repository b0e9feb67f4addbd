//! Isolated waits against what wakes them. A worker that is not woken in time is a deadlock, which
//! loom reports.
//!
//! What fails if something were missing:
//! - `an_isolated_join_against_a_thief`: the look at the word of a lone sleeper when a latch is
//!   set.
//! - `a_job_for_a_worker_that_falls_asleep_isolated`: the fence of a thread that gives a lone
//!   sleeper a job.
//! - `a_job_of_a_scope_from_outside_against_its_worker_that_falls_asleep`: the fence of a thread
//!   that calls the worker, or the worker's look at its call.
//! - `two_jobs_of_a_scope_from_outside_against_its_worker_that_falls_asleep`: the exchange by which
//!   a thread calls the worker, if it were a store instead.
//! - `a_job_of_a_stolen_one_…`, `no_worker_pushes_unseen_…`: the look of a poster for a worker that
//!   waits for it, or what a lone sleeper does before its last look.
//! - `a_job_of_a_stolen_one_is_posted_before_an_isolated_call`: the second look of a lone sleeper
//!   whose last look met a change of a lineage.
//! - `an_isolated_worker_leaves_older_jobs_to_one_that_falls_asleep`: the announcement of what a
//!   lone sleeper leaves.
//! - `a_worker_that_leaves_against_a_thief`: the repeated attempt of a borrower to take its oldest
//!   job.

use std::{ptr::NonNull, sync::Arc, vec::Vec};

use ::loom::thread;
use deque_core::Position;
use sleep_core::CoreLatch;

use crate::{
    Isolation, JobContext, Registry,
    job::{JobFn, JobRef, StackJob},
    latch::BlockingLatch,
    queue::{JobInjector, JobQueue},
    scope::ScopeCore,
    testing::{Test, TestQueue, model, registry, run_until_terminated, spawn_other, with_worker},
    worker::{WorkerThread, lineage::Theft},
};

/// Models a latch that is set while its waiter falls asleep, or after that.
#[test]
fn an_isolated_join_against_a_thief() {
    model(4, || {
        let registry = registry::<Test>(2);
        with_worker(&registry, 0, |worker| {
            let thief = spawn_other(&registry, |worker| {
                worker.yield_now();
            });
            let join = || worker.join_context(|_| 1, |_| 2, false);
            assert_eq!(worker.isolate(Isolation::Subtree, join), (1, 2));
            thief.join().unwrap();
        });
    });
}

/// Models a thief that joins in what it has stolen. Its second half may be stolen back.
#[test]
fn an_isolated_join_against_a_thief_that_joins() {
    model(2, || {
        let registry = registry::<Test>(2);
        with_worker(&registry, 0, |worker| {
            let thief = spawn_other(&registry, |worker| {
                worker.yield_now();
            });
            let join = || {
                worker.join_context(
                    |_| 1,
                    |context| context.worker().join_context(|_| 2, |_| 3, false),
                    false,
                )
            };
            assert_eq!(worker.isolate(Isolation::Subtree, join), (1, (2, 3)));
            thief.join().unwrap();
        });
    });
}

/// Models a thief of a worker that leaves, and that first runs what is on its deque.
#[test]
fn a_worker_that_leaves_against_a_thief() {
    model(3, || {
        let registry = registry::<Test>(2);
        with_worker(&registry, 0, |worker| {
            let new = || StackJob::new(|_: JobContext<'_, Test>| (), BlockingLatch::<Test>::new());
            let jobs = [new(), new()];
            for job in &jobs {
                // SAFETY: `as_job_ref`: 1. it stays until its latch is set, below; 2. any thread
                // may set it. `post`: 1. once.
                unsafe { worker.post(job.as_job_ref()) };
            }
            let thief = spawn_other(&registry, |worker| {
                worker.yield_now();
            });
            worker.run_leftovers();
            let leaves_job = worker.has_pending_jobs();
            // Before a panic, which would end this frame.
            while worker.has_pending_jobs() {
                worker.run_leftovers();
            }
            jobs.iter().for_each(|job| job.latch().wait());
            thief.join().unwrap();
            assert!(!leaves_job);
        });
    });
}

/// Runs an isolated wait on a thread of its own, which is the first worker, until `latch` is set.
fn spawn_waiter(
    registry: &Arc<Registry<Test>>,
    latch: &Arc<CoreLatch>,
    begin: fn(&WorkerThread<Test>),
) -> thread::JoinHandle<()> {
    let (registry, latch) = (registry.clone(), latch.clone());
    thread::spawn(move || {
        with_worker(&registry, 0, |worker| {
            begin(worker);
            worker.isolate(Isolation::Subtree, || worker.wait_until(&latch));
        });
    })
}

/// Returns a job that ends the wait of the first worker.
fn ends_wait(
    registry: &Arc<Registry<Test>>,
    latch: &Arc<CoreLatch>,
) -> StackJob<BlockingLatch<Test>, impl JobFn<Test, Returned = ()> + use<>> {
    let (registry, latch) = (registry.clone(), latch.clone());
    StackJob::new(
        move |_: JobContext<'_, Test>| {
            // SAFETY: 1. and 3. this holds both; 2. the first worker waits for it; 4. for this.
            unsafe { registry.set_latch(&*latch, registry.worker(0).unwrap()) };
        },
        BlockingLatch::new(),
    )
}

/// Models the only worker that may run a job, and that the job wakes.
#[test]
fn a_job_for_a_worker_that_falls_asleep_isolated() {
    model(3, || {
        let (registry, latch) = (registry::<Test>(1), Arc::new(CoreLatch::new()));
        let waiter = spawn_waiter(&registry, &latch, |_| ());
        let job = ends_wait(&registry, &latch);
        let mut node = TestQueue::node();
        // SAFETY: `as_job_ref`: 1. it stays until its latch is set; 2. any thread may set that.
        // `inject_for`: 1. the node stays as well.
        unsafe {
            let worker = registry.worker(0).unwrap();
            registry.inject_for(worker, NonNull::from(&mut node), job.as_job_ref());
        }
        job.latch().wait();
        waiter.join().unwrap();
    });
}

/// What the model gives to a thread outside the pool.
struct Sent<A, B>(NonNull<A>, NonNull<B>);

// SAFETY: the model keeps both in place until that thread has ended.
unsafe impl<A, B> Send for Sent<A, B> {}

/// Opens a scope whose worker falls asleep, while each of several threads outside queues a job of
/// it.
fn open_scope_with_jobs_from_outside<const POSTERS: usize>() {
    let registry = registry::<Test>(1);
    let outside = JobInjector::new();
    with_worker(&registry, 0, |worker| {
        worker.isolate(Isolation::Subtree, || {
            let scope = ScopeCore::new(Some(worker), &registry);
            let jobs = [(); POSTERS].map(|()| {
                StackJob::new(
                    // SAFETY: 1. it was added below; 2. a worker of the pool runs it.
                    |_: JobContext<'_, Test>| unsafe { ScopeCore::job_done(&raw const scope) },
                    BlockingLatch::new(),
                )
            });
            let mut nodes = [(); POSTERS].map(|()| JobInjector::node());
            let waiter = scope.isolated_waiter().expect("it is isolated");
            let posters: Vec<_> = jobs
                .iter()
                .zip(&mut nodes)
                .map(|(job, node)| {
                    scope.add_job(None);
                    // SAFETY: 1. it stays until the scope has ended, which waits for it; 2. any
                    // thread may set its latch.
                    let job = unsafe { job.as_job_ref() };
                    let sent = Sent(NonNull::from(&outside), NonNull::from(node));
                    let pool = registry.clone();
                    thread::spawn(move || {
                        let Sent(queue, node) = sent;
                        // SAFETY: both stay until the scope has ended. `push`: 1. likewise.
                        unsafe { JobQueue::push(queue.as_ref(), node, job) };
                        pool.call_isolated_waiter(waiter);
                    })
                })
                .collect();
            let take = || JobQueue::steal(&outside).success();
            // SAFETY: 1. the queue gives it out once.
            unsafe { scope.run_taking(Some(worker), &take, &mut || ()) };
            posters
                .into_iter()
                .for_each(|poster| poster.join().unwrap());
        });
    });
}

/// Models a scope whose worker falls asleep, and a job of it that a thread outside queues.
#[test]
fn a_job_of_a_scope_from_outside_against_its_worker_that_falls_asleep() {
    model(3, open_scope_with_jobs_from_outside::<1>);
}

/// Models two such threads: the second call may come when the worker answers the first one.
#[test]
fn two_jobs_of_a_scope_from_outside_against_its_worker_that_falls_asleep() {
    model(3, open_scope_with_jobs_from_outside::<2>);
}

/// Models a worker that has a job from before its isolated wait, which no worker has announced,
/// beside the only other worker, which falls asleep.
#[test]
fn an_isolated_worker_leaves_older_jobs_to_one_that_falls_asleep() {
    model(2, || {
        let (registry, latch) = (registry::<Test>(2), Arc::new(CoreLatch::new()));
        let other = spawn_other(&registry, run_until_terminated);
        with_worker(&registry, 0, |worker| {
            let job = ends_wait(&registry, &latch);
            // SAFETY: 1. it stays until its latch is set; 2. any thread may set that.
            worker.own().try_push(unsafe { job.as_job_ref() }).unwrap();
            worker.isolate(Isolation::Subtree, || worker.wait_until(&latch));
            job.latch().wait();
        });
        registry.remove_reference();
        other.join().unwrap();
    });
}

/// Runs a closure on the second worker, in a job that it has stolen from the first one, which waits
/// for it in isolation.
fn in_stolen_job(closure: impl FnOnce(&Arc<Registry<Test>>, &WorkerThread<Test>, &Arc<CoreLatch>)) {
    let (registry, latch) = (registry::<Test>(2), Arc::new(CoreLatch::new()));
    // This makes the jobs event counter odd. Before that, posters cannot be sure that all workers
    // are awake.
    registry.announce_seen_jobs();
    assert!(registry.all_are_awake());
    let waiter = spawn_waiter(&registry, &latch, |_| ());
    with_worker(&registry, 1, |worker| {
        let theft = Theft {
            victim: 0,
            position: Position::from_word(0),
        };
        worker.with_lineage(Some(theft), Isolation::Subtree, || {
            closure(&registry, worker, &latch);
        });
    });
    waiter.join().unwrap();
}

/// Models a job, one that only the worker may run, that waits for the poster's job.
fn a_job_of_a_stolen_one(queue: fn(&WorkerThread<Test>, JobRef)) {
    model(3, move || {
        in_stolen_job(|registry, worker, latch| {
            let job = ends_wait(registry, latch);
            // SAFETY: 1. it stays until its latch is set; 2. any thread may set that.
            queue(worker, unsafe { job.as_job_ref() });
            job.latch().wait();
        });
    });
}

#[test]
fn a_job_of_a_stolen_one_is_posted_while_its_waiter_falls_asleep() {
    // SAFETY: 1. the caller keeps the job.
    a_job_of_a_stolen_one(|worker, job| unsafe { worker.post(job) });
}

#[test]
fn a_job_of_a_stolen_one_is_joined_while_its_waiter_falls_asleep() {
    a_job_of_a_stolen_one(|worker, job| {
        worker.own().try_push(job).unwrap();
        worker.announce_join();
    });
}

#[test]
fn a_job_of_a_stolen_one_is_left_while_its_waiter_falls_asleep() {
    a_job_of_a_stolen_one(|worker, job| {
        worker.own().try_push(job).unwrap();
        worker.notify_leftovers();
    });
}

/// Models a poster that makes an isolated call next, in which it waits for its job: the waiter may
/// look while the poster publishes that.
#[test]
fn a_job_of_a_stolen_one_is_posted_before_an_isolated_call() {
    model(2, || {
        in_stolen_job(|registry, worker, latch| {
            let job = ends_wait(registry, latch);
            // SAFETY: 1. it stays until its latch is set; 2. any thread may set that.
            unsafe { worker.post(job.as_job_ref()) };
            worker.isolate(Isolation::Subtree, || job.latch().wait());
        });
    });
}

/// Models a worker that asks whether it may use its fast push, against a worker that waits for its
/// job and falls asleep.
#[test]
fn no_worker_pushes_unseen_while_one_that_waits_for_it_sleeps() {
    model(3, || {
        in_stolen_job(|registry, worker, latch| {
            worker.announce_join();
            // SAFETY: 1. the model holds it; 2. the waiter waits for this.
            if unsafe { CoreLatch::set(&**latch) } {
                assert!(!worker.own().fast_push_enabled());
                registry.wake_waiter(registry.worker(0).unwrap());
            }
        });
    });
}

/// Models a job from outside, which an isolated worker must not take, beside another one that falls
/// asleep.
#[test]
fn a_job_from_outside_against_an_isolated_wait() {
    model(2, || {
        let (registry, latch) = (registry::<Test>(2), Arc::new(CoreLatch::new()));
        let waiter = spawn_waiter(&registry, &latch, |_| ());
        let job = ends_wait(&registry, &latch);
        let mut node = TestQueue::node();
        // SAFETY: as above.
        unsafe { registry.inject(NonNull::from(&mut node), job.as_job_ref()) };
        let other = spawn_other(&registry, run_until_terminated);
        job.latch().wait();
        waiter.join().unwrap();
        registry.remove_reference();
        other.join().unwrap();
    });
}
