//! Waiting until a pool has nothing to do, and until it has ended.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use pool_std::{
    IdlePolicy, ShutdownError, SleepKind, ThreadPool, ThreadPoolBuilder, WaitIdleError,
    block_in_place, join, spawn,
};

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);

/// Looks often enough that a wait which ends too early has ended.
const LOOKS: usize = if cfg!(miri) { 10 } else { 2_000 };

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// A job that has begun, and ends when it is told to.
struct Held {
    has_begun: Receiver<()>,
    go_on: Sender<()>,
}

/// Returns a job, and what controls it.
fn held() -> (impl FnOnce() + Send + 'static, Held) {
    let (begin, has_begun) = mpsc::channel();
    let (go_on, may_end) = mpsc::channel();
    let job = move || {
        begin.send(()).unwrap();
        may_end.recv().unwrap();
    };
    (job, Held { has_begun, go_on })
}

impl Held {
    fn wait(&self) {
        self.has_begun.recv_timeout(LIMIT).unwrap();
    }

    fn release(&self) {
        self.go_on.send(()).unwrap();
    }
}

/// Checks that a wait for the pool does not end while a job is held, and ends after that.
fn expect_wait(pool: &ThreadPool, held: &Held) {
    held.wait();
    let is_released = AtomicBool::new(false);
    let seen = &is_released;
    thread::scope(|threads| {
        let waiting = threads.spawn(move || {
            pool.wait_idle().unwrap();
            assert!(seen.load(SeqCst), "the job has not ended");
        });
        for _ in 0..LOOKS {
            if waiting.is_finished() {
                break;
            }
            thread::yield_now();
        }
        is_released.store(!waiting.is_finished(), SeqCst);
        held.release();
        waiting.join().unwrap();
    });
}

#[test]
fn wait_idle_returns_at_once_from_a_pool_without_jobs() {
    let pool = pool(2);
    pool.wait_idle().unwrap();
    assert_eq!(pool.install(|| 1), 1);
    pool.wait_idle().unwrap();
}

/// Spawns a job that spawns the next one as its last act, while no queue has a job.
fn chain(length: usize, links: Arc<AtomicUsize>) {
    if length > 0 {
        spawn(move || {
            links.fetch_add(1, Relaxed);
            if length.is_multiple_of(7) {
                thread::yield_now();
            }
            chain(length - 1, links);
        });
    }
}

#[test]
fn wait_idle_waits_for_jobs_that_jobs_spawn() {
    let (rounds, length) = if cfg!(miri) { (3, 10) } else { (300, 50) };
    for &kind in SleepKind::ALL {
        for threads in [1, 3] {
            let builder = ThreadPoolBuilder::new().num_threads(threads).sleep(kind);
            let pool = builder.idle_policy(IdlePolicy::IMMEDIATE).build().unwrap();
            for _ in 0..rounds {
                let links = Arc::new(AtomicUsize::new(0));
                for _ in 0..2 {
                    let links = links.clone();
                    pool.spawn(move || chain(length, links));
                }
                pool.wait_idle().unwrap();
                assert_eq!(links.load(Relaxed), 2 * length, "{kind} with {threads}");
                assert_eq!(Arc::strong_count(&links), 1, "no closure is left");
            }
        }
    }
}

#[test]
fn wait_idle_waits_for_each_kind_of_spawned_job() {
    let pool = pool(2);
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        count.store(0, Relaxed);
        let job = || {
            let count = count.clone();
            move || _ = count.fetch_add(1, Relaxed)
        };
        pool.spawn(job());
        pool.spawn_fifo(job());
        pool.spawn_many((0..100).map(|_| job()));
        let each = job();
        pool.spawn_broadcast(move |_| each());
        pool.wait_idle().unwrap();
        assert_eq!(count.load(Relaxed), 104);
    }
}

#[test]
fn wait_idle_waits_for_calls_from_outside() {
    type Call = fn(&ThreadPool, Box<dyn FnOnce() + Send>);
    let pool = &pool(2);
    let calls: [Call; 5] = [
        |pool, job| pool.install(job),
        |pool, job| pool.call(job),
        |pool, job| _ = pool.join(job, || ()),
        |pool, job| pool.scope(|scope| scope.spawn(|_| job())),
        |pool, job| pool.in_place_scope(|scope| scope.spawn(|_| job())),
    ];
    for call in calls {
        let (job, held) = held();
        thread::scope(|threads| {
            threads.spawn(move || call(pool, Box::new(job)));
            expect_wait(pool, &held);
        });
    }
}

#[test]
fn wait_idle_waits_for_each_part_of_a_broadcast() {
    let pool = &pool(2);
    for index in 0..2 {
        let (begin, has_begun) = mpsc::channel();
        let (go_on, may_end) = mpsc::channel();
        let may_end = std::sync::Mutex::new(may_end);
        thread::scope(|threads| {
            threads.spawn(move || {
                pool.broadcast(|context| {
                    if context.index() == index {
                        begin.send(()).unwrap();
                        may_end.lock().unwrap().recv().unwrap();
                    }
                })
            });
            expect_wait(pool, &Held { has_begun, go_on });
        });
    }
    pool.wait_idle().unwrap();
}

#[test]
fn wait_idle_waits_for_a_closure_that_blocks_in_place() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1);
    let pool = builder.build().unwrap();
    let (job, held) = held();
    pool.spawn(|| block_in_place(job));
    held.wait();
    // The spare runs jobs meanwhile.
    pool.install(|| ());
    let (job, other) = self::held();
    pool.spawn(job);
    other.wait();
    other.release();
    held.go_on.send(()).unwrap();
    pool.wait_idle().unwrap();

    let (job, held) = self::held();
    pool.spawn(|| block_in_place(job));
    expect_wait(&pool, &held);
}

#[test]
fn wait_idle_waits_for_a_job_that_panics() {
    let builder = ThreadPoolBuilder::new().panic_handler(|_| ());
    let pool = builder.num_threads(1).build().unwrap();
    let (job, held) = held();
    pool.spawn(move || {
        job();
        panic!("by design");
    });
    expect_wait(&pool, &held);
    assert!(catch_unwind(AssertUnwindSafe(|| pool.install(|| panic!("by design")))).is_err());
    pool.wait_idle().unwrap();
}

#[test]
fn wait_idle_is_refused_where_the_thread_would_wait_for_itself() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(2)
        .max_blocking_threads(1);
    let pool = builder.build().unwrap();
    let refused = Err(WaitIdleError::FromWorker);
    let too_late = Err(ShutdownError::FromWorker);
    assert_eq!(pool.install(|| pool.wait_idle()), refused);
    assert_eq!(pool.call(|| pool.wait_idle()), refused);
    assert_eq!(pool.install(|| join(|| (), || pool.wait_idle()).1), refused);
    assert_eq!(
        pool.install(|| block_in_place(|| pool.wait_idle())),
        refused
    );
    assert_eq!(pool.in_place_scope(|_| pool.wait_idle()), refused);
    pool.spawn_many((0..2).map(|_| {
        assert_eq!(pool.wait_idle(), refused);
        || ()
    }));
    pool.wait_idle().unwrap();
    assert_eq!(
        pool.in_place_scope(|_| pool.shutdown_timeout(LIMIT)),
        too_late
    );
    pool.shutdown_timeout(LIMIT).unwrap();
}

// The worker runs the jobs that the other pool waits for.
#[test]
fn a_worker_of_another_pool_works_while_it_waits() {
    let (here, other) = (Arc::new(pool(1)), Arc::new(pool(1)));
    let count = Arc::new(AtomicUsize::new(0));
    for _ in 0..if cfg!(miri) { 3 } else { 100 } {
        for _ in 0..5 {
            let (here, count) = (here.clone(), count.clone());
            other.spawn(move || here.install(|| _ = count.fetch_add(1, Relaxed)));
        }
        let waited = here.install(|| {
            other.wait_idle().unwrap();
            count.swap(0, Relaxed)
        });
        assert_eq!(waited, 5);
    }
    // The thread waits for a call to the pool, and in the middle of that until the pool is idle.
    let (job, held) = held();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|threads| {
        threads.spawn(|| here.install(|| other.install(job)));
        held.wait();
        let other = other.clone();
        here.spawn(move || sender.send(other.wait_idle()).unwrap());
        let is_early = (0..LOOKS).any(|_| {
            thread::yield_now();
            receiver.try_recv().is_ok()
        });
        held.release();
        assert!(!is_early, "the job has not ended");
        assert_eq!(receiver.recv_timeout(LIMIT), Ok(Ok(())));
    });
}

fn pool_with_this_thread(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.use_current_thread().build().unwrap()
}

#[test]
fn an_adopted_thread_works_while_it_waits() {
    for threads in [1, 3] {
        let on_new_thread = thread::spawn(move || {
            let pool = Arc::new(pool_with_this_thread(threads));
            let links = Arc::new(AtomicUsize::new(0));
            for _ in 0..if cfg!(miri) { 3 } else { 100 } {
                links.store(0, Relaxed);
                chain(20, links.clone());
                pool.spawn_broadcast(|_| ());
                pool.wait_idle().unwrap();
                assert_eq!(links.load(Relaxed), 20);
            }
            let own = pool.clone();
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send(own.wait_idle()).unwrap());
            pool.wait_idle().unwrap();
            let refused = Err(WaitIdleError::FromWorker);
            assert_eq!(receiver.try_recv(), Ok(refused));
            assert_eq!(pool.in_place_scope(|_| pool.wait_idle()), refused);

            chain(20, links.clone());
            pool.shutdown_timeout(LIMIT).unwrap();
            assert_eq!(links.load(Relaxed), 40);
        });
        on_new_thread.join().unwrap();
    }
}

#[test]
fn many_threads_wait_at_the_same_time() {
    let pool = &pool(2);
    let rounds = if cfg!(miri) { 2 } else { 200 };
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..rounds {
                    let links = Arc::new(AtomicUsize::new(0));
                    let own = links.clone();
                    pool.spawn(move || chain(10, own));
                    pool.wait_idle().unwrap();
                    assert_eq!(links.load(Relaxed), 10);
                }
            });
        }
    });
}

#[test]
fn waits_end_while_another_thread_shuts_the_pool_down() {
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        let pool = &pool(2);
        let links = Arc::new(AtomicUsize::new(0));
        let own = links.clone();
        pool.spawn(move || chain(20, own));
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    pool.wait_idle().unwrap();
                    assert_eq!(links.load(Relaxed), 20);
                });
                threads.spawn(|| {
                    pool.shutdown_timeout(LIMIT).unwrap();
                    assert_eq!(links.load(Relaxed), 20);
                });
            }
        });
        pool.wait_idle().unwrap();
    }
}

#[test]
fn a_shutdown_that_is_not_in_time_loses_nothing() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = ended.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .exit_handler(move |_| _ = count.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    let (job, held) = held();
    pool.spawn(job);
    let links = Arc::new(AtomicUsize::new(0));
    let own = links.clone();
    pool.spawn(move || chain(10, own));
    held.wait();
    for timeout in [Duration::ZERO, Duration::from_millis(20)] {
        let result = pool.shutdown_timeout(timeout);
        assert_eq!(result, Err(ShutdownError::TimedOut));
    }
    assert_eq!((links.load(Relaxed), ended.load(SeqCst)), (0, 0));
    // A pool that has not ended yet takes jobs.
    let own = links.clone();
    pool.spawn(move || chain(5, own));
    held.release();
    pool.shutdown_timeout(Duration::MAX).unwrap();
    assert_eq!((links.load(Relaxed), ended.load(SeqCst)), (15, 1));
    // Again, and in the other way.
    pool.shutdown_timeout(Duration::ZERO).unwrap();
    pool.shutdown().unwrap();
}

#[test]
fn a_pool_that_was_shut_down_refuses_jobs() {
    let pool = pool(2);
    pool.shutdown_timeout(LIMIT).unwrap();
    let uses: [fn(&ThreadPool); 11] = [
        |pool| pool.install(|| ()),
        |pool| pool.call(|| ()),
        |pool| _ = pool.join(|| (), || ()),
        |pool| pool.scope(|_| ()),
        |pool| pool.in_place_scope(|_| ()),
        |pool| pool.spawn(|| ()),
        |pool| pool.spawn_fifo(|| ()),
        |pool| pool.spawn_many([|| ()]),
        |pool| _ = pool.broadcast(|_| ()),
        |pool| pool.spawn_broadcast(|_| ()),
        |pool| pool.install_with(|_| ()),
    ];
    for (index, call) in uses.into_iter().enumerate() {
        let panic = catch_unwind(AssertUnwindSafe(|| call(&pool))).expect_err("no worker is left");
        let text = panic.downcast_ref::<&str>().unwrap();
        assert_eq!(*text, "the thread pool has been shut down", "{index}");
    }
    assert_eq!(pool.wait_idle(), Ok(()));
    assert_eq!(pool.progress().defer(|| ()), ());
}

// What is accepted is done, and what is not is refused by a panic.
#[test]
fn jobs_that_race_with_a_shutdown_run_or_are_refused() {
    for _ in 0..if cfg!(miri) { 3 } else { 200 } {
        let pool = &pool(2);
        let accepted = AtomicUsize::new(0);
        let run = Arc::new(AtomicUsize::new(0));
        thread::scope(|threads| {
            threads.spawn(|| {
                let spawn_all = || {
                    for _ in 0..1_000 {
                        let run = run.clone();
                        pool.spawn(move || _ = run.fetch_add(1, Relaxed));
                        accepted.fetch_add(1, Relaxed);
                        thread::yield_now();
                    }
                };
                let _all_or_not = catch_unwind(AssertUnwindSafe(spawn_all));
            });
            while accepted.load(Relaxed) < 10 {
                thread::yield_now();
            }
            pool.shutdown_timeout(LIMIT).unwrap();
        });
        assert_eq!(run.load(Relaxed), accepted.load(Relaxed));
    }
}

#[test]
fn a_worker_of_another_pool_shuts_a_pool_down() {
    let (here, other) = (Arc::new(pool(1)), pool(1));
    let (job, held) = held();
    other.spawn(job);
    held.wait();
    let result = here.install(|| other.shutdown_timeout(Duration::from_millis(20)));
    assert_eq!(result, Err(ShutdownError::TimedOut));
    // The last job needs the worker that waits.
    let count = Arc::new(AtomicUsize::new(0));
    let (needed, done) = (here.clone(), count.clone());
    other.spawn(move || needed.install(|| _ = done.fetch_add(1, Relaxed)));
    held.release();
    here.install(|| other.shutdown_timeout(LIMIT)).unwrap();
    assert_eq!(count.load(Relaxed), 1);
}

#[test]
fn a_worker_does_not_wait_for_the_end_of_its_own_pool() {
    let pool = Arc::new(pool(1));
    let own = pool.clone();
    let result = pool.install(move || own.shutdown_timeout(LIMIT));
    assert_eq!(result, Err(ShutdownError::FromWorker));
    pool.shutdown_timeout(LIMIT).unwrap();
}

#[test]
fn a_handle_waits_for_the_threads_of_a_pool_that_is_dropped() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = ended.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .exit_handler(move |_| _ = count.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    let handle = pool.handle();
    let from_worker = pool.install(|| handle.wait_until_stopped());
    assert!(matches!(from_worker, Err(ShutdownError::FromWorker)));
    drop(pool);
    handle.wait_until_stopped().unwrap();
    assert_eq!(ended.load(SeqCst), 2);
}

#[test]
fn an_adopted_thread_shuts_its_pool_down_in_time_or_not() {
    let on_new_thread = thread::spawn(|| {
        let pool = pool_with_this_thread(2);
        let (job, held) = held();
        // The thread might run it itself.
        let (sender, receiver) = mpsc::channel();
        let job = std::sync::Mutex::new(Some(job));
        pool.spawn_broadcast(move |context| {
            if context.index() == 1 {
                let job = job.lock().unwrap().take();
                job.unwrap()();
            } else {
                sender.send(()).unwrap();
            }
        });
        held.wait();
        let result = pool.shutdown_timeout(Duration::from_millis(20));
        assert_eq!(result, Err(ShutdownError::TimedOut));
        assert_eq!(receiver.try_recv(), Ok(()), "it has run its part");
        held.release();
        pool.shutdown_timeout(LIMIT).unwrap();
    });
    on_new_thread.join().unwrap();
}
