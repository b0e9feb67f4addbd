//! Isolated waits on threads: what they run, and that they end.

use std::{
    boxed::Box,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr::NonNull,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread, thread_local,
    vec::Vec,
};

use progress_core::Operation;

use crate::{
    Isolation, JobContext, Registry,
    job::{JobFn, StackJob},
    latch::BlockingLatch,
    queue::JobQueue as _,
    scope::ScopeCore,
    testing::{
        Accounted, Test, TestJec, TestQueue, accounting::accounted, registry, with_pool,
        with_registry, with_worker,
    },
    worker::WorkerThread,
};

/// How many times a program is run.
const RUNS: usize = if cfg!(miri) { 2 } else { 300 };

/// The path from the root of a tree of jobs to one of them. The first step is the number of the
/// tree.
type Path = Vec<usize>;

thread_local! {
    /// The nodes whose isolated joins are on this thread's stack.
    static WAITS: RefCell<Vec<Path>> = const { RefCell::new(Vec::new()) };
}

/// Runs a node of a tree of isolated joins. Checks that no node is run below a join that it does
/// not descend from.
fn run_node(worker: &WorkerThread<Test>, path: &Path, depth: usize, run: &AtomicUsize) {
    run.fetch_add(1, SeqCst);
    WAITS.with_borrow(|waits| {
        if let Some(wait) = waits.last() {
            assert!(path.starts_with(wait), "{path:?} below a join of {wait:?}");
        }
    });
    if depth == 0 {
        (0..path.iter().sum::<usize>() % 40).for_each(|_| core::hint::spin_loop());
        return;
    }
    let depths = depths(path.len(), depth);
    let child = |number: usize| {
        let path: Path = path.iter().copied().chain([number]).collect();
        move |context: JobContext<'_, Test>| run_node(context.worker(), &path, depths[number], run)
    };
    WAITS.with_borrow_mut(|waits| waits.push(path.clone()));
    worker.join_context(child(0), child(1), false);
    WAITS.with_borrow_mut(|waits| waits.pop());
}

/// Returns the depths of the two subtrees of a node. Some nodes are lists, so that a thief finds
/// many descendants of one job and few of another.
fn depths(steps: usize, depth: usize) -> [usize; 2] {
    [
        depth - 1,
        if steps.is_multiple_of(3) {
            0
        } else {
            depth - 1
        },
    ]
}

/// Returns the number of nodes of a tree.
fn nodes(steps: usize, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    1 + depths(steps, depth)
        .map(|depth| nodes(steps + 1, depth))
        .iter()
        .sum::<usize>()
}

/// Runs several trees at the same time.
#[test]
fn an_isolated_join_runs_only_what_descends_from_it() {
    const DEPTH: usize = if cfg!(miri) { 2 } else { 9 };
    for workers in [1, 2, if cfg!(miri) { 2 } else { 8 }] {
        with_pool(workers, |registry| {
            for _ in 0..RUNS / 30 + 1 {
                thread::scope(|threads| {
                    for tree in 0..3 {
                        threads.spawn(move || {
                            let run = AtomicUsize::new(0);
                            registry.in_worker(|worker, _| {
                                worker.isolate(Isolation::Subtree, || {
                                    run_node(worker, &Vec::from([tree]), DEPTH, &run);
                                });
                            });
                            assert_eq!(run.into_inner(), nodes(1, DEPTH));
                        });
                    }
                });
            }
        });
    }
}

fn wait_for(event: &AtomicBool) {
    while !event.load(SeqCst) {
        thread::yield_now();
    }
}

/// Waits for what the thief of an older job does. A thief that falls asleep just when that job is
/// pushed may overlook it, if the system has no process fence. The next join announces both.
fn wait_for_thief(worker: &WorkerThread<Test>, event: &AtomicBool) {
    while !event.load(SeqCst) {
        worker.join_context(|_| (), |_| (), false);
        thread::yield_now();
    }
}

/// The thief of the second half waits for a job that it has pushed, and only the worker that waits
/// for it can run that.
#[test]
fn an_isolated_worker_helps_its_thief() {
    with_pool(2, |registry| {
        for _ in 0..RUNS {
            let [is_pushed, is_run] = [(); 2].map(|()| AtomicBool::new(false));
            registry.in_worker(|worker, _| {
                let second = |context: JobContext<'_, Test>| {
                    let waits = |_: JobContext<'_, Test>| {
                        is_pushed.store(true, SeqCst);
                        wait_for(&is_run);
                    };
                    let runs = |_: JobContext<'_, Test>| is_run.store(true, SeqCst);
                    context.worker().join_context(waits, runs, false);
                };
                let join =
                    || worker.join_context(|_| wait_for_thief(worker, &is_pushed), second, false);
                worker.isolate(Isolation::Subtree, join);
            });
        }
    });
}

/// Like the test before, but the thief may run less in its wait. The worker that helps inherits
/// that.
#[test]
fn a_worker_that_helps_a_stricter_thief_is_as_strict() {
    with_pool(2, |registry| {
        for _ in 0..RUNS {
            let [is_pushed, is_run] = [(); 2].map(|()| AtomicBool::new(false));
            registry.in_worker(|worker, _| {
                let second = |context: JobContext<'_, Test>| {
                    let thief = context.worker();
                    let index = thief.index();
                    let waits = |_: JobContext<'_, Test>| {
                        is_pushed.store(true, SeqCst);
                        wait_for(&is_run);
                    };
                    let runs = |context: JobContext<'_, Test>| {
                        let helper = context.worker();
                        assert_ne!(helper.index(), index);
                        assert_eq!(helper.isolation(), Isolation::Nothing);
                        helper.join_context(|_| (), |_| (), false);
                        is_run.store(true, SeqCst);
                    };
                    thief.isolate(Isolation::Nothing, || {
                        thief.join_context(waits, runs, false)
                    });
                    assert_eq!(thief.isolation(), Isolation::Subtree);
                };
                let join =
                    || worker.join_context(|_| wait_for_thief(worker, &is_pushed), second, false);
                worker.isolate(Isolation::Subtree, || {
                    join();
                    assert_eq!(worker.isolation(), Isolation::Subtree);
                });
            });
        }
    });
}

/// Each job holds a mutex across a join, and all others need it.
#[test]
fn a_lock_may_be_held_across_an_isolated_join() {
    fn hold(worker: &WorkerThread<Test>, lock: &Mutex<usize>) {
        worker.isolate(Isolation::Subtree, || {
            let mut count = lock.lock().unwrap();
            let work = |_: JobContext<'_, Test>| (0..3).for_each(|_| thread::yield_now());
            worker.join_context(work, work, false);
            *count += 1;
        });
    }
    fn hold_all(worker: &WorkerThread<Test>, lock: &Mutex<usize>, depth: u32) {
        if depth == 0 {
            return hold(worker, lock);
        }
        let half = |context: JobContext<'_, Test>| hold_all(context.worker(), lock, depth - 1);
        // Not isolated: no lock is held here.
        worker.join_context(half, half, false);
    }
    const DEPTH: u32 = if cfg!(miri) { 2 } else { 4 };
    for workers in [1, 2, 4] {
        with_pool(workers, |registry| {
            let lock = Mutex::new(0);
            for _ in 0..RUNS {
                registry.in_worker(|worker, _| hold_all(worker, &lock, DEPTH));
            }
            assert_eq!(lock.into_inner().unwrap(), (1 << DEPTH) * RUNS);
        });
    }
}

/// A scope that waits for a job.
struct ScopeOfJob(*const ScopeCore<'static, Test>);

// SAFETY: a scope is counted down by any thread.
unsafe impl Send for ScopeOfJob {}

/// Returns a job of a scope that notes its number.
fn numbered<'o>(
    scope: &ScopeCore<'_, Test>,
    number: usize,
    order: &'o Mutex<Vec<usize>>,
) -> StackJob<BlockingLatch<Test>, impl JobFn<Test, Returned = ()> + use<'o>> {
    let scope = ScopeOfJob(core::ptr::from_ref(scope).cast());
    StackJob::new(
        move |_: JobContext<'_, Test>| {
            // The whole value, not its field, moves into the job.
            let scope = scope;
            order.lock().unwrap().push(number);
            // SAFETY: 1. the job was added to the scope, which waits; 2. this is its worker.
            unsafe { ScopeCore::job_done(scope.0) };
        },
        BlockingLatch::new(),
    )
}

/// The worker has a job from before an isolated scope, and one of the scope, which also waits for
/// something outside.
#[test]
fn an_isolated_scope_leaves_older_jobs_alone() {
    for isolation in [Isolation::Subtree, Isolation::Nothing] {
        let registry = registry::<Test>(1);
        with_worker(&registry, 0, |worker| {
            let order = Mutex::new(Vec::new());
            let outer = ScopeCore::new(Some(worker), &registry);
            let old = numbered(&outer, 1, &order);
            outer.add_job(Some(worker));
            outer.complete(Some(worker), || {
                // SAFETY: `as_job_ref`: 1. it stays to the end of the scope; 2. any thread may set
                // the latch. `post`: 1. once.
                unsafe { worker.post(old.as_job_ref()) };
                worker.isolate(isolation, || {
                    let inner = ScopeCore::new(Some(worker), &registry);
                    let new = numbered(&inner, 2, &order);
                    inner.add_jobs(Some(worker), 2);
                    thread::scope(|threads| {
                        threads.spawn(|| {
                            while registry.num_sleeping() == 0 {
                                thread::yield_now();
                            }
                            // SAFETY: 1. the second job that was added; 2. the pool is alive.
                            unsafe { ScopeCore::job_done(&raw const inner) };
                        });
                        // SAFETY: as above.
                        let post = || unsafe { worker.post(new.as_job_ref()) };
                        inner.complete(Some(worker), post);
                    });
                    assert_eq!(*order.lock().unwrap(), [2]);
                });
            });
            assert_eq!(*order.lock().unwrap(), [2, 1]);
        });
    }
}

/// After a yield in the scope's body, the deque ends before the scope's start, and the scope's next
/// job takes the position of an older one. Reproduces a bug: the scope also ran a job from before
/// the call.
#[test]
fn an_isolated_scope_runs_its_own_job_alone_after_a_yield() {
    for isolation in [Isolation::Subtree, Isolation::Nothing] {
        let registry = registry::<Test>(1);
        with_worker(&registry, 0, |worker| {
            let order = Mutex::new(Vec::new());
            let outer = ScopeCore::new(Some(worker), &registry);
            let jobs = [1, 2].map(|number| numbered(&outer, number, &order));
            outer.add_jobs(Some(worker), 2);
            outer.complete(Some(worker), || {
                // SAFETY: `as_job_ref`: 1. they stay to the end of the scope; 2. any thread may set
                // the latches. `post`: 1. once.
                let post = |job: usize| unsafe { worker.post(jobs[job].as_job_ref()) };
                post(0);
                worker.isolate(isolation, || {
                    post(1);
                    let inner = ScopeCore::new(Some(worker), &registry);
                    let new = numbered(&inner, 3, &order);
                    inner.add_jobs(Some(worker), 2);
                    thread::scope(|threads| {
                        inner.complete(Some(worker), || {
                            assert!(worker.yield_now());
                            // SAFETY: as above.
                            unsafe { worker.post(new.as_job_ref()) };
                            threads.spawn(|| {
                                while registry.num_sleeping() == 0
                                    && order.lock().unwrap().len() <= 2
                                {
                                    thread::yield_now();
                                }
                                // SAFETY: 1. the second job that was added; 2. the pool is alive.
                                unsafe { ScopeCore::job_done(&raw const inner) };
                            });
                        });
                    });
                });
                assert_eq!(*order.lock().unwrap(), [2, 3]);
            });
            assert_eq!(*order.lock().unwrap(), [2, 3, 1]);
        });
    }
}

/// Joins on a worker, whose isolated wait lasts until `is_over`: another worker runs that long.
fn wait_isolated(registry: &Registry<Test>, isolation: Isolation, is_over: &AtomicBool) {
    let have_begun = Barrier::new(2);
    let first = |_: JobContext<'_, Test>| _ = have_begun.wait();
    let second = |_: JobContext<'_, Test>| {
        have_begun.wait();
        while !is_over.load(SeqCst) {
            thread::yield_now();
        }
    };
    registry.in_worker(|worker, _| {
        worker.isolate(isolation, || worker.join_context(first, second, false));
    });
}

fn wait_for_a_lone_sleeper(registry: &Registry<Test>) {
    while registry.lone_sleepers() == 0 {
        thread::yield_now();
    }
}

/// One worker sleeps in an isolated wait, and the other one runs what it waits for.
#[test]
fn a_job_for_an_isolated_sleeper_is_run() {
    with_pool(2, |registry| {
        for _ in 0..if cfg!(miri) { 1 } else { 20 } {
            let is_over = AtomicBool::new(false);
            let run = AtomicUsize::new(0);
            thread::scope(|threads| {
                threads.spawn(|| wait_isolated(registry, Isolation::Nothing, &is_over));
                wait_for_a_lone_sleeper(registry);
                let job = |_: JobContext<'_, Test>| _ = run.fetch_add(1, SeqCst);
                let new = || StackJob::new(job, BlockingLatch::<Test>::new());
                let jobs = [new(), new()];
                let mut nodes = [(); 2].map(|()| TestQueue::node());
                // SAFETY: `as_job_ref`: 1. they stay until they have been run; 2. any thread may
                // set the latches. `inject_broadcast`: 1. and so do the nodes.
                unsafe {
                    let jobs = jobs.each_ref().map(|job| job.as_job_ref());
                    registry.inject_broadcast(
                        nodes.each_mut().map(NonNull::from).into_iter().zip(jobs),
                    );
                }
                // The other worker runs its job when the second half has ended.
                while run.load(SeqCst) == 0 {
                    thread::yield_now();
                }
                is_over.store(true, SeqCst);
                jobs.iter().for_each(|job| job.latch().wait());
            });
            assert_eq!(run.into_inner(), 2);
        }
    });
}

/// One worker sleeps in an isolated wait, one runs what it waits for, and the third one sleeps.
#[test]
fn a_post_does_not_rely_on_an_isolated_worker() {
    with_pool(3, |registry| {
        for _ in 0..RUNS {
            let is_over = AtomicBool::new(false);
            thread::scope(|threads| {
                threads.spawn(|| wait_isolated(registry, Isolation::Subtree, &is_over));
                wait_for_a_lone_sleeper(registry);
                registry.in_worker(|_, _| is_over.store(true, SeqCst));
            });
        }
    });
}

#[test]
fn isolation_is_never_relaxed() {
    let registry = registry::<Test>(1);
    with_worker(&registry, 0, |worker| {
        let check = |expected| assert_eq!(worker.isolation(), expected);
        check(Isolation::Anything);
        worker.isolate(Isolation::Subtree, || {
            worker.isolate(Isolation::Anything, || check(Isolation::Subtree));
            worker.isolate(Isolation::Nothing, || check(Isolation::Nothing));
            check(Isolation::Subtree);
        });
        let panics = || worker.isolate(Isolation::Nothing, || panic!("in an isolated closure"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        check(Isolation::Anything);
    });
}

/// Reproduces a bug: a worker that falls asleep in an isolated wait completes a deadlock. What the
/// handler scheduled stayed with that worker, which slept on.
#[test]
fn what_a_deadlock_handler_schedules_is_not_left_to_an_isolated_sleeper() {
    let waiter = Arc::new(Mutex::new(None));
    let [is_run, is_blocked] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (sleeper, flag) = (waiter.clone(), is_run.clone());
    let registry = accounted::<TestJec>(3, move |_| {
        if *sleeper.lock().unwrap() == Some(thread::current().id()) {
            let flag = flag.clone();
            let operation = Operation::new(move || flag.store(true, SeqCst));
            // SAFETY: 1. the handler runs on a worker, in the middle of falling asleep.
            let worker = unsafe { WorkerThread::<Accounted>::current() }.unwrap();
            worker.schedule(Box::new(operation));
        }
    });
    with_registry(&registry, |registry| {
        // The last worker to sleep, or the handler runs elsewhere.
        let first = |_: JobContext<'_, Accounted>| {
            *waiter.lock().unwrap() = Some(thread::current().id());
            while !is_blocked.load(SeqCst) || registry.num_sleeping() == 0 {
                thread::yield_now();
            }
        };
        let second = |context: JobContext<'_, Accounted>| {
            let ticket = context.worker().mark_blocked().unwrap();
            is_blocked.store(true, SeqCst);
            while !is_run.load(SeqCst) {
                thread::yield_now();
            }
            registry.deadlock().mark_self_unblocked(ticket).unwrap();
        };
        registry.in_worker(|worker, _| {
            worker.isolate(Isolation::Nothing, || {
                worker.join_context(first, second, false)
            });
        });
    });
}
