//! Threads that become a worker of a pool which they build.

use std::{
    cell::Cell,
    future::poll_fn,
    io, mem,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::Poll,
    thread,
    time::Duration,
};

use pool_std::{
    BuildError, Isolation, JoinError, PoolHandle, ShutdownError, ThreadPool, ThreadPoolBuilder,
    Yield, current_thread_index, isolate, spawn, spawn_handle_in, yield_local, yield_now,
};

#[cfg(all(target_os = "linux", not(miri)))]
use crate::again;

/// Runs a test on a thread that ends before the next test: a thread is adopted only once.
fn on_new_thread<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    thread::spawn(test).join().unwrap()
}

/// Builds a pool that adopts the calling thread as one of its workers.
fn adopting_pool(threads: usize) -> Result<ThreadPool, BuildError> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .use_current_thread()
        .build()
}

#[test]
fn the_current_thread_can_be_a_worker() {
    on_new_thread(|| {
        let pool = adopting_pool(2).unwrap();
        assert_eq!(
            (pool.current_thread_index(), pool.current_num_threads()),
            (Some(0), 2)
        );
        assert!(matches!(
            adopting_pool(2),
            Err(BuildError::CurrentThreadAlreadyInPool)
        ));
        let here = thread::current().id();
        assert_eq!(pool.install(|| thread::current().id()), here);
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
        let (sender, receiver) = mpsc::channel();
        for number in 0..10 {
            let sender = sender.clone();
            pool.spawn(move || sender.send(number).unwrap());
        }
        drop(sender);
        pool.shutdown().unwrap();
        assert_eq!(receiver.iter().count(), 10);
    });
}

#[test]
fn a_pool_of_the_current_thread_alone() {
    on_new_thread(|| {
        let pool = adopting_pool(1).unwrap();
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        pool.shutdown().unwrap();
    });
}

#[test]
fn a_failed_build_gives_the_current_thread_back() {
    on_new_thread(|| {
        let fails = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .spawn_handler(|_| Err(io::Error::other("no")))
            .build();
        assert!(matches!(fails, Err(BuildError::Spawn { index: 1, .. })));
        assert_eq!(current_thread_index(), None);
    });
}

// A thread whose pool has ended, and an exit handler, are still workers of that pool. Their jobs
// must not be lost with it.
#[test]
fn an_ended_pool_passes_spawned_jobs_to_the_global_pool() {
    let (sender, receiver) = mpsc::channel();
    let from_handler = Mutex::new(sender.clone());
    let workers = on_new_thread(move || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .exit_handler(move |_| {
                let sender = from_handler.lock().unwrap().clone();
                spawn(move || sender.send(1).unwrap());
            })
            .build()
            .unwrap();
        pool.shutdown().unwrap();
        assert_eq!(current_thread_index(), Some(0), "until the thread ends");
        let late = sender.clone();
        spawn(move || late.send(2).unwrap());
        pool_std::scope(|scope| scope.spawn_broadcast(|_, _| sender.send(0).unwrap()));
        pool_std::broadcast(|_| ()).len()
    });
    // The handler's sender is kept with the pool of an adopted thread, so the channel stays open.
    let messages = receiver.iter().take(workers + 2);
    assert_eq!(messages.sum::<i32>(), 3);
}

#[test]
fn shutdown_in_a_job_on_the_adopted_thread_is_a_typed_error() {
    on_new_thread(|| {
        let pool = adopting_pool(1).unwrap();
        let pool = Arc::new(Mutex::new(Some(pool)));
        let (sender, receiver) = mpsc::channel();
        let inner = pool.clone();
        pool.lock().unwrap().as_ref().unwrap().spawn(move || {
            let pool = inner.lock().unwrap().take().unwrap();
            sender.send(pool.shutdown()).unwrap();
        });
        assert_eq!(yield_local(), Some(Yield::Executed));
        assert_eq!(receiver.recv().unwrap(), Err(ShutdownError::FromWorker));
    });
}

// A scope keeps its pool from ending, so the thread would wait for itself.
#[test]
fn shutdown_in_a_scope_on_the_adopted_thread_is_a_typed_error() {
    on_new_thread(|| {
        let pool = adopting_pool(2).unwrap();
        let result = pool_std::scope(|scope| {
            scope.spawn(|_| ());
            pool.shutdown()
        });
        assert_eq!(result, Err(ShutdownError::FromWorker));
    });
    on_new_thread(|| {
        let pool = adopting_pool(1).unwrap();
        let result = pool_std::in_place_scope(|_| pool.shutdown());
        assert_eq!(result, Err(ShutdownError::FromWorker));
    });
}

/// Ends a pool in a job that no queue gives to the adopted thread: the thread runs it because it
/// joins its handle.
type EndInJoined = fn(Arc<ThreadPool>) -> Result<Result<(), ShutdownError>, JoinError>;

const END_IN_JOINED: [(&str, EndInJoined); 4] = [
    ("a job", |pool| {
        let own = pool.clone();
        // Elsewhere it would be on the thread's own deque.
        isolate(|| pool.spawn_handle(move || own.shutdown_timeout(Duration::ZERO))).join()
    }),
    ("a future", |pool| {
        let own = pool.clone();
        let future = async move { own.shutdown_timeout(Duration::ZERO) };
        isolate(|| pool.spawn_future(future)).join()
    }),
    ("a future that was woken", |pool| {
        let (own, mut is_second) = (pool.clone(), false);
        let future = poll_fn(move |context| {
            if mem::replace(&mut is_second, true) {
                return Poll::Ready(own.shutdown_timeout(Duration::ZERO));
            }
            context.waker().wake_by_ref();
            Poll::Pending
        });
        isolate(|| pool.spawn_future(future).join())
    }),
    ("a job of a scope of another thread", |pool| {
        let (sender, receiver) = mpsc::channel();
        let (is_joined, wait) = mpsc::channel::<()>();
        let scope = thread::spawn(move || {
            pool.in_place_scope(|scope| {
                let own = pool.clone();
                let end = move |_: &_| own.shutdown_timeout(Duration::ZERO);
                sender.send(spawn_handle_in(scope, end)).unwrap();
                assert!(wait.recv().is_err(), "it is never sent to");
            });
        });
        let result = receiver.recv().unwrap().join();
        drop(is_joined);
        // The job's place is still in a queue, and this thread is the only worker.
        while !scope.is_finished() {
            yield_now();
            thread::yield_now();
        }
        scope.join().unwrap();
        result
    }),
];

#[test]
fn shutdown_in_a_job_that_the_adopted_thread_joins_is_a_typed_error() {
    for (what, end) in END_IN_JOINED {
        on_new_thread(move || {
            let result = end(Arc::new(adopting_pool(1).unwrap()));
            assert_eq!(result.ok(), Some(Err(ShutdownError::FromWorker)), "{what}");
        });
    }
}

/// The pool has no thread of its own, and has not ended.
#[test]
fn shutdown_from_elsewhere_waits_for_the_jobs_of_the_adopted_thread() {
    on_new_thread(|| {
        let pool = adopting_pool(1).unwrap();
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || sender.send("run").unwrap());
        let end = |limit| {
            let end = || pool.shutdown_timeout(limit);
            thread::scope(|threads| threads.spawn(end).join().unwrap())
        };
        assert_eq!(end(Duration::ZERO), Err(ShutdownError::TimedOut));
        assert_eq!(yield_local(), Some(Yield::Executed));
        assert_eq!(receiver.try_recv(), Ok("run"));
        assert_eq!(end(Duration::MAX), Ok(()));
        assert_eq!(pool.shutdown(), Ok(()));
    });
}

/// Whatever the pool's waits may run, because the thread is in no job.
#[test]
fn an_adopted_thread_that_waits_for_the_end_runs_the_jobs() {
    for isolation in [Isolation::Anything, Isolation::Subtree, Isolation::Nothing] {
        on_new_thread(move || {
            let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            let pool = builder.isolation(isolation).build().unwrap();
            let (sender, receiver) = mpsc::channel();
            pool.spawn(move || sender.send("run").unwrap());
            let handle = PoolHandle::current();
            drop(pool);
            assert_eq!(handle.wait_until_stopped(), Ok(()));
            assert_eq!(receiver.try_recv(), Ok("run"));
        });
    }
}

/// Also when the adopted thread has ended before.
#[test]
fn shutdown_waits_for_the_destructors_of_an_abandoned_pool() {
    struct Slow {
        begun: mpsc::Sender<()>,
        ended: Arc<AtomicUsize>,
    }
    impl Drop for Slow {
        fn drop(&mut self) {
            self.begun.send(()).unwrap();
            thread::sleep(Duration::from_millis(50));
            self.ended.fetch_add(1, SeqCst);
        }
    }
    thread_local!(static SLOW: Cell<Option<Slow>> = const { Cell::new(None) });

    let pool = on_new_thread(|| adopting_pool(3).unwrap());
    let ended = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    // Each of the two workers that are left has one of the jobs.
    let barrier = Arc::new(Barrier::new(2));
    for _ in 0..2 {
        let begun = sender.clone();
        let (ended, barrier) = (ended.clone(), barrier.clone());
        pool.spawn(move || {
            SLOW.set(Some(Slow { begun, ended }));
            barrier.wait();
        });
    }
    drop(sender);
    _ = pool.shutdown_timeout(Duration::ZERO);
    // The last worker has stopped before the pool's owner waits.
    receiver.iter().take(2).for_each(drop);
    pool.shutdown().unwrap();
    assert_eq!(ended.load(SeqCst), 2);
}

/// The pool itself stays, because the thread might end in the middle of a job.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn the_stacks_of_a_pool_are_freed_after_its_adopted_thread_has_ended() {
    fn mappings() -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().count()
    }

    /// The pool ends before the adopted thread, or after it.
    fn build_and_end() {
        on_new_thread(|| _ = adopting_pool(3).unwrap());
        drop(on_new_thread(|| adopting_pool(3).unwrap()));
    }

    const POOLS: usize = 100;
    if !again::is_child() {
        let name = "adopted::the_stacks_of_a_pool_are_freed_after_its_adopted_thread_has_ended";
        assert!(again::child(name).status().unwrap().success());
        return;
    }
    (0..10).for_each(|_| build_and_end());
    let before = mappings();
    (0..POOLS).for_each(|_| build_and_end());
    // Two threads in each of two pools, and each stack is two mappings. The last ones may still be
    // ending, and the system keeps some for the next threads.
    let more = mappings().saturating_sub(before);
    assert!(more < 2 * POOLS, "{more} mappings");
}
