//! Using and ending pools.

use std::{
    panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{
    BroadcastContext, CancelToken, CurrentPool, IdlePolicy, PoolHandle, Scope, ScopeFifo,
    ShutdownError, ThreadPool, ThreadPoolBuilder, Worker, WorkerLocal, Yield,
    current_thread_has_pending_tasks, current_thread_index, spawn, yield_local, yield_now,
};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

#[test]
fn smoke() {
    let pool = pool(3);
    assert_eq!(pool.current_num_threads(), 3);
    assert_eq!(pool.current_thread_index(), None);
    assert_eq!(
        (
            yield_now(),
            yield_local(),
            current_thread_has_pending_tasks()
        ),
        (None, None, None)
    );
    let index = pool.install(|| {
        assert_eq!(pool_std::current_num_threads(), 3);
        assert_eq!(pool.current_thread_index(), current_thread_index());
        current_thread_index().unwrap()
    });
    assert!(index < 3);
    pool.shutdown().unwrap();
}

#[test]
fn panics_of_spawned_jobs_and_handlers_go_to_the_panic_handler() {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |panic| {
            sender
                .lock()
                .unwrap()
                .send(*panic.downcast::<&str>().unwrap())
                .unwrap();
        })
        .start_handler(|_| std::panic::panic_any("start"))
        .exit_handler(|_| std::panic::panic_any("exit"))
        .build()
        .unwrap();
    pool.spawn(|| std::panic::panic_any("spawn"));
    pool.spawn_fifo(|| std::panic::panic_any("spawn_fifo"));
    pool.spawn_broadcast(|_| std::panic::panic_any("spawn_broadcast"));
    assert_eq!(pool.install(|| 1), 1, "the worker has survived");
    pool.shutdown().unwrap();
    let mut panics: Vec<_> = receiver.iter().collect();
    panics.sort_unstable();
    assert_eq!(
        panics,
        ["exit", "spawn", "spawn_broadcast", "spawn_fifo", "start"]
    );
}

// Not even a job that another job spawns later is lost.
#[test]
fn dropping_a_pool_finishes_its_work() {
    for threads in 1..=3 {
        let (sender, receiver) = mpsc::channel();
        let pool = pool(threads);
        for _ in 0..50 {
            let sender = sender.clone();
            pool.spawn(move || {
                let inner = sender.clone();
                spawn(move || inner.send(1).unwrap());
                sender.send(1).unwrap();
            });
        }
        drop((pool, sender));
        assert_eq!(receiver.iter().sum::<i32>(), 100);
    }
}

/// Jobs that are spawned together each hold the pool, from outside and from a job, and also those
/// that the iterator has given before it panics.
#[test]
fn jobs_spawned_together_are_finished_too() {
    for threads in 1..=3 {
        let (sender, receiver) = mpsc::channel();
        let send = |sender: &mpsc::Sender<i32>| {
            let sender = sender.clone();
            move || sender.send(1).unwrap()
        };
        let pool = pool(threads);
        pool.spawn_many((0..150).map(|_| send(&sender)));
        let inner = sender.clone();
        pool.spawn(move || pool_std::spawn_many((0..150).map(|_| send(&inner))));
        let panics = catch_unwind(AssertUnwindSafe(|| {
            pool.spawn_many((0..).map(|number| {
                assert!(number < 100, "no more");
                send(&sender)
            }));
        }));
        assert!(panics.is_err());
        drop((pool, sender));
        assert_eq!(receiver.iter().sum::<i32>(), 400);
    }
}

#[test]
fn shutdown_waits_for_the_work_and_the_threads() {
    let finished = Arc::new(AtomicUsize::new(0));
    let pool = pool(2);
    for _ in 0..100 {
        let finished = finished.clone();
        pool.spawn(move || _ = finished.fetch_add(1, SeqCst));
    }
    pool.shutdown().unwrap();
    assert_eq!(finished.load(SeqCst), 100);
    assert_eq!(Arc::strong_count(&finished), 1);
}

#[test]
fn shutdown_from_a_worker_is_a_typed_error() {
    let pool = Arc::new(Mutex::new(Some(pool(1))));
    let (sender, receiver) = mpsc::channel();
    let inner = pool.clone();
    let guard = pool.lock().unwrap();
    guard.as_ref().unwrap().spawn(move || {
        let pool = inner.lock().unwrap().take().unwrap();
        sender.send(pool.shutdown()).unwrap();
    });
    drop(guard);
    assert_eq!(receiver.recv().unwrap(), Err(ShutdownError::FromWorker));
}

// oven-sh/bun#32494: ends a pool while its workers are anywhere on their way to sleep.
#[test]
fn stampede_of_shutdowns() {
    for round in 0..300 {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1 + round % 4)
            .idle_policy(IdlePolicy::IMMEDIATE)
            .build()
            .unwrap();
        if round % 3 == 0 {
            pool.spawn(|| {});
        }
        pool.shutdown().unwrap();
    }
}

#[test]
fn fifo_order() {
    let pool = pool(1);
    let (sender, receiver) = mpsc::channel();
    let order = |spawn: fn(&ThreadPool, Box<dyn FnOnce() + Send>)| {
        pool.install(|| {
            for number in 0..5 {
                let sender = sender.clone();
                spawn(&pool, Box::new(move || sender.send(number).unwrap()));
            }
        });
        (0..5).map(|_| receiver.recv().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(order(|pool, job| pool.spawn(job)), [4, 3, 2, 1, 0]);
    assert_eq!(order(|pool, job| pool.spawn_fifo(job)), [0, 1, 2, 3, 4]);
}

#[test]
fn yields() {
    let pool = pool(1);
    pool.install(|| {
        assert_eq!(yield_local(), Some(Yield::Idle));
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let ran = ran.clone();
            spawn(move || _ = ran.fetch_add(1, SeqCst));
        }
        assert_eq!(current_thread_has_pending_tasks(), Some(true));
        assert_eq!(pool.yield_local(), Some(Yield::Executed));
        assert_eq!(pool.yield_now(), Some(Yield::Executed));
        assert_eq!((yield_now(), ran.load(SeqCst)), (Some(Yield::Idle), 2));
        assert_eq!(pool.current_thread_has_pending_tasks(), Some(false));
    });
    assert_eq!((pool.yield_now(), pool.yield_local()), (None, None));
}

#[test]
fn broadcasts() {
    let pool = pool(4);
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2, 3]);
    pool.install(|| assert_eq!(pool_std::broadcast(|c| c.num_threads()), [4; 4]));

    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.broadcast(|context| assert_ne!(context.index(), 2))
    }));
    assert!(panic.is_err());
    let (sender, receiver) = mpsc::channel();
    pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    assert_eq!(receiver.iter().sum::<usize>(), 6);
}

// Two broadcasts whose jobs meet at barriers: in different orders in the queues they would hang.
#[test]
fn stampede_of_broadcasts_with_barriers() {
    let pool = pool(3);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                for _ in 0..50 {
                    let barrier = Barrier::new(3);
                    pool.broadcast(|_| _ = barrier.wait());
                }
            });
        }
    });
}

// Where the system refuses its barrier, the pool says that its fences are its own.
#[test]
fn debug_output_tells_which_fences() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // By now the answer is there.
    let by_system = pool_std::ProcessBarrier::is_by_system();
    let expected = if by_system { "by the system" } else { "own" };
    let text = format!("{pool:?}");
    assert!(text.contains(&format!("fences: {expected:?}")), "{text}");
}

// The pool that ends may need the worker that waits for its end.
#[test]
fn a_worker_of_another_pool_works_while_it_waits_for_the_end() {
    let waiting = Arc::new(pool(1));
    let (jobs, here) = (waiting.clone(), current_thread_index());
    assert_eq!(here, None);
    waiting.install(|| {
        let ending = pool(1);
        ending.spawn(move || assert_eq!(jobs.install(current_thread_index), Some(0)));
        assert_eq!(ending.shutdown(), Ok(()));
    });
}

// A worker of another pool drops the last reference when its call into the pool ends, in a frame
// that other threads use.
#[test]
fn a_panic_of_what_a_handler_captures_stays_where_it_is() {
    struct PanicsOnDrop(mpsc::Sender<()>);
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
            panic!("on purpose");
        }
    }
    let (sender, receiver) = mpsc::channel();
    let captured = PanicsOnDrop(sender);
    let mut kept = None;
    let ending = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |_| _ = &captured)
        .spawn_handler(|builder| {
            kept = Some(builder);
            Ok(())
        })
        .build()
        .unwrap();
    drop(ending);
    let kept = kept.unwrap();
    // The builder has the last reference.
    let other = pool(1);
    assert_eq!(other.install(|| drop(kept)), ());
    receiver.recv().unwrap();
}

/// A panic in a closure leaves none of them half-changed, so that it may be caught around a call.
/// `ThreadPool` was not, and `catch_unwind` refused each closure with a reference to a pool.
#[test]
fn pools_and_scopes_may_be_used_after_a_panic() {
    fn check<T: UnwindSafe + RefUnwindSafe>() {}
    fn check_reference<T: RefUnwindSafe>() {}

    check::<ThreadPool>();
    check::<PoolHandle>();
    check_reference::<Scope<'_>>();
    check_reference::<ScopeFifo<'_>>();
    check::<Worker<'_>>();
    check::<BroadcastContext<'_>>();
    check::<pool_std::progress::Progress>();
    check::<CancelToken>();
    check::<CurrentPool>();
    check::<WorkerLocal<u8>>();
}
