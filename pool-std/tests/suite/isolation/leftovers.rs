//! Jobs of a scope that a thief has on its deque when the job that queued them has ended. No worker
//! that waits for them in isolation may take them then, so the thief runs them before anything
//! else.

use super::*;

/// The body of a scope that waits until another worker has run a job of it, which spawns another
/// job. `in_job` is what the first one does in between.
fn scope_with_a_thief(in_job: impl Fn() + Sync) {
    let [begun, runs] = [(); 2].map(|()| AtomicUsize::new(0));
    pool_std::scope(|scope| {
        let (begun, runs, in_job) = (&begun, &runs, &in_job);
        scope.spawn(move |scope| {
            in_job();
            scope.spawn(move |_| _ = runs.fetch_add(1, SeqCst));
            begun.store(1, SeqCst);
        });
        while begun.load(SeqCst) == 0 {
            thread::yield_now();
        }
    });
    assert_eq!(runs.into_inner(), 1);
}

#[test]
fn an_urgent_job_does_not_come_before_what_an_isolated_job_has_left() {
    assert_ends("the caller holds the lock of an urgent job", || {
        let pool = pool_with_guests(2);
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().unwrap();
        pool.call(|| {
            scope_with_a_thief(|| {
                let lock = lock.clone();
                pool_std::spawn_urgent(move || drop(lock.lock().unwrap()));
            });
        });
        drop(held);
    });
}

fn tree<'scope>(scope: &pool_std::Scope<'scope>, depth: u32, leaves: &'scope AtomicUsize) {
    if depth == 0 {
        leaves.fetch_add(1, SeqCst);
        return;
    }
    for _ in 0..2 {
        scope.spawn(move |scope| tree(scope, depth - 1, leaves));
    }
}

/// A caller holds a lock over a scope whose jobs spawn, while other jobs take the lock.
#[test]
fn a_lock_is_held_over_a_tree_of_spawns() {
    let (rounds, depth) = if cfg!(miri) { (1, 2) } else { (100, 8) };
    for workers in [2, 4] {
        assert_ends("a lock over a tree of spawns", move || {
            let pool = pool_with_guests(workers);
            let lock = Arc::new(Mutex::new(()));
            for _ in 0..rounds {
                let held = lock.lock().unwrap();
                let leaves = AtomicUsize::new(0);
                pool.call(|| {
                    pool_std::scope(|scope| {
                        tree(scope, depth, &leaves);
                        for _ in 0..workers {
                            let lock = lock.clone();
                            pool.spawn(move || drop(lock.lock().unwrap()));
                        }
                    });
                });
                assert_eq!(leaves.into_inner(), 1 << depth);
                drop(held);
                pool.wait_idle().unwrap();
            }
        });
    }
}

/// A thief runs a job of the scope in a yield, and then needs the lock that the caller holds.
#[test]
fn a_worker_that_yields_runs_what_an_isolated_job_has_left() {
    assert_ends("the thief takes the lock after a yield", || {
        let pool = Arc::new(pool_with_guests(2));
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().unwrap();
        let is_yielding = Arc::new(AtomicBool::new(false));
        pool.spawn({
            let (lock, is_yielding) = (lock.clone(), is_yielding.clone());
            move || {
                is_yielding.store(true, SeqCst);
                while pool_std::yield_now() != Some(Yield::Executed) {}
                drop(lock.lock().unwrap());
            }
        });
        wait_for(&is_yielding);
        // The other worker falls asleep, so that this thread takes its place.
        thread::sleep(CHANCE);
        pool.call(|| scope_with_a_thief(|| ()));
        drop(held);
    });
}

/// As the one before; the thief waits for another pool meanwhile.
#[test]
fn a_worker_that_waits_for_another_pool_runs_what_an_isolated_job_has_left() {
    assert_ends("the thief takes the lock after it has waited", || {
        let (pool, other) = (pool_with_guests(2), pool(1));
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().unwrap();
        let [is_waiting, has_begun] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        pool.spawn({
            let (lock, is_waiting, has_begun) =
                (lock.clone(), is_waiting.clone(), has_begun.clone());
            move || {
                other.install(|| {
                    is_waiting.store(true, SeqCst);
                    wait_for(&has_begun);
                });
                drop(lock.lock().unwrap());
            }
        });
        wait_for(&is_waiting);
        // The other worker falls asleep, so that this thread takes its place.
        thread::sleep(CHANCE);
        pool.call(|| {
            scope_with_a_thief(|| {
                has_begun.store(true, SeqCst);
                // The other pool's job ends, and sets the latch of this worker.
                thread::sleep(CHANCE / 5);
            });
        });
        drop(held);
    });
}

/// A worker waits for the second half of a join, and steals a job of a scope that descends from it.
/// That job leaves another one. When the half has ended, the worker takes the lock that the scope's
/// owner holds, which the third worker waits for, too.
#[test]
fn a_worker_that_waits_runs_what_a_stolen_job_has_left() {
    assert_ends("the thief takes the lock after its wait", || {
        let builder = ThreadPoolBuilder::new().num_threads(3);
        let pool = Arc::new(builder.isolation(Isolation::Subtree).build().unwrap());
        let lock = Arc::new(Mutex::new(()));
        let [is_locked, job_has_begun, wait_is_over, is_run] =
            [(); 4].map(|()| AtomicBool::new(false));
        // The worker that has run the half begins another job that takes the lock.
        let keep_the_third_worker = || {
            let (lock, (sender, receiver)) = (lock.clone(), mpsc::channel());
            pool.spawn(move || {
                sender.send(()).unwrap();
                drop(lock.lock().unwrap());
            });
            receiver.recv().unwrap();
        };
        let owner = || {
            let _held = lock.lock().unwrap();
            is_locked.store(true, SeqCst);
            pool_std::scope(|scope| {
                scope.spawn(|scope| {
                    job_has_begun.store(true, SeqCst);
                    keep_the_third_worker();
                    scope.spawn(|_| is_run.store(true, SeqCst));
                });
                wait_for(&wait_is_over);
            });
        };
        let call = || {
            pool_std::scope(|scope| {
                let owner = &owner;
                let half = || {
                    scope.spawn(move |_| owner());
                    wait_for(&job_has_begun);
                };
                // Not before, because this worker could become the owner.
                join(|| wait_for(&is_locked), half);
                wait_is_over.store(true, SeqCst);
                drop(lock.lock().unwrap());
            });
        };
        pool.install(call);
        assert!(is_run.into_inner());
    });
}

/// An adopted thread yields, runs a job of an isolated scope, which leaves another one, and then
/// waits for the scope's owner outside the pool.
#[test]
fn an_adopted_thread_runs_what_an_isolated_job_has_left() {
    assert_ends("the thief leaves its yield", || {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        let pool = builder.build().unwrap();
        let (sender, receiver) = mpsc::channel();
        let has_begun = Arc::new(AtomicBool::new(false));
        pool.spawn({
            let has_begun = has_begun.clone();
            move || {
                isolate(|| {
                    scope_with_a_thief(|| {
                        has_begun.store(true, SeqCst);
                        thread::sleep(CHANCE / 20);
                    });
                });
                sender.send(()).unwrap();
            }
        });
        // The other worker has the job by then.
        thread::sleep(CHANCE);
        while !has_begun.load(SeqCst) {
            pool_std::yield_now();
        }
        receiver.recv().unwrap();
        pool.shutdown().unwrap();
    });
}

/// Lets the second worker run a job that leaves another one, and park, while the first one waits
/// for both.
fn park_the_thief(pool: &ThreadPool, wait: impl Fn(&(dyn Fn() + Sync)) + Sync) {
    let whole = || {
        scope_with_a_thief(|| _ = pool.set_active_workers(1).unwrap());
    };
    pool.broadcast(|context| {
        if context.index() == 0 {
            wait(&whole);
        }
    });
}

#[test]
fn a_worker_that_is_parked_leaves_no_job_of_an_isolated_call() {
    assert_ends("the call is isolated", || {
        park_the_thief(&pool(2), |whole| isolate(whole));
    });
}

/// The bound on nesting isolates the wait, and no job inherits that.
#[test]
fn a_worker_that_is_parked_leaves_no_job_of_a_deep_wait() {
    assert_ends("the wait is deep", || {
        let pool = ThreadPoolBuilder::new().num_threads(2).max_nesting(0);
        park_the_thief(&pool.build().unwrap(), |whole| whole());
    });
}

/// As the one before, by the default bound, which is half of the stack.
#[cfg(not(miri))]
#[test]
fn a_worker_that_is_parked_leaves_no_job_of_a_wait_deep_in_the_stack() {
    /// Calls a closure below more than half of the stack, which begins near an address.
    fn call_below(top: usize, closure: &dyn Fn()) {
        let frame = std::hint::black_box([0_u8; 1_024]);
        if top - frame.as_ptr().addr() > (1 << 20) + (1 << 18) {
            closure();
        } else {
            call_below(top, closure);
        }
        std::hint::black_box(&frame);
    }

    assert_ends("the wait is deep in the stack", || {
        let pool = ThreadPoolBuilder::new().num_threads(2).stack_size(1 << 21);
        park_the_thief(&pool.build().unwrap(), |whole| {
            let top = 0_u8;
            call_below((&raw const top).addr(), whole);
        });
    });
}

/// A broadcast revives workers for one job each, which queues a job of the scope.
#[test]
fn a_worker_that_is_revived_leaves_no_job_of_an_isolated_scope() {
    assert_ends("broadcasts with one active worker", || {
        let builder = || ThreadPoolBuilder::new().num_threads(3).active_workers(1);
        let of_pool = builder().isolation(Isolation::Subtree).build().unwrap();
        let of_call = builder().build().unwrap();
        for _ in 0..if cfg!(miri) { 2 } else { 50 } {
            let runs = AtomicUsize::new(0);
            let broadcast = || {
                pool_std::scope(|scope| {
                    let runs = &runs;
                    scope.spawn_broadcast(move |scope, _| {
                        scope.spawn(move |_| _ = runs.fetch_add(1, SeqCst));
                    });
                });
            };
            of_pool.install(broadcast);
            of_call.call(broadcast);
            assert_eq!(runs.load(SeqCst), 6);
        }
    });
}

/// What a worker runs before it parks leaves nothing on its deque.
#[cfg(feature = "metrics")]
#[test]
fn a_chain_of_jobs_does_not_keep_a_worker_from_parking() {
    fn chain(is_over: Arc<AtomicBool>) {
        if !is_over.load(SeqCst) {
            pool_std::spawn(move || chain(is_over));
        }
    }

    assert_ends("the workers that are not active park", || {
        let pool = pool(2);
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..4 {
            let is_over = is_over.clone();
            pool.spawn(move || chain(is_over));
        }
        pool.set_active_workers(1).unwrap();
        while pool.metrics().workers()[1].state != pool_std::WorkerState::Absent {
            thread::yield_now();
        }
        is_over.store(true, SeqCst);
        pool.wait_idle().unwrap();
    });
}

/// Lets the second worker run a job because it is about to park. The first worker is busy until
/// that job has ended.
fn in_a_leftover(pool: &ThreadPool, job: impl FnOnce() + Send + 'static) {
    let is_over = Arc::new(AtomicBool::new(false));
    let job = Mutex::new(Some(job));
    pool.broadcast(|context| {
        if context.index() == 0 {
            return wait_for(&is_over);
        }
        let (job, is_over) = (job.lock().unwrap().take().unwrap(), is_over.clone());
        pool_std::spawn(move || {
            job();
            is_over.store(true, SeqCst);
        });
        pool.set_active_workers(1).unwrap();
    });
}

#[test]
fn a_worker_that_is_parked_runs_other_jobs_while_its_last_one_waits() {
    assert_ends("the job needs another worker", || {
        let (two, one) = (Arc::new(pool(2)), pool(1));
        let inner = two.clone();
        in_a_leftover(&two, move || one.install(|| inner.install(|| ())));
    });
}

#[test]
fn a_job_with_a_handle_does_not_inherit_that_its_spawner_was_parked() {
    assert_ends("the job needs another worker", || {
        let (two, one) = (Arc::new(pool(2)), pool(1));
        let (inner, (sender, receiver)) = (two.clone(), mpsc::channel());
        in_a_leftover(&two, move || {
            let job = move || one.install(|| inner.install(|| ()));
            sender.send(pool_std::spawn_handle(job)).unwrap();
        });
        receiver.recv().unwrap().join().unwrap();
    });
}
