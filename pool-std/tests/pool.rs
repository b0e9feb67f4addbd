//! Building, using and ending pools.

use std::{
    collections::HashSet,
    io,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{
    BuildError, IdlePolicy, ShutdownError, ThreadPool, ThreadPoolBuilder, Yield,
    current_thread_has_pending_tasks, current_thread_index, max_num_threads, spawn, yield_local,
    yield_now,
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
fn zero_threads_mean_the_default() {
    let processors = thread::available_parallelism().unwrap().get();
    assert_eq!(pool(0).current_num_threads(), processors);
}

#[test]
fn too_many_threads_is_a_typed_error() {
    for requested in [70_000, usize::MAX] {
        match ThreadPoolBuilder::new().num_threads(requested).build() {
            Err(BuildError::TooManyThreads {
                requested: reported,
                maximum,
            }) => {
                assert_eq!((reported, maximum), (requested, max_num_threads()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn bad_stacks_are_typed_errors() {
    let build = |size| {
        ThreadPoolBuilder::new()
            .num_threads(2)
            .stack_size(size)
            .build()
    };
    assert!(matches!(
        build(0),
        Err(BuildError::StackTooSmall { requested: 0, .. })
    ));
    assert!(matches!(
        build(1000),
        Err(BuildError::StackTooSmall {
            requested: 1000,
            ..
        })
    ));
    for huge in [usize::MAX / 2, usize::MAX / 4 * 3, usize::MAX] {
        assert!(
            matches!(build(huge), Err(BuildError::Spawn { .. })),
            "{huge}"
        );
    }
    assert_eq!(
        build(16 << 10).unwrap().install(|| 7),
        7,
        "the smallest stack is enough"
    );
}

/// A spawn that fails half-way: the threads before it end, each with its exit handler if it had
/// begun, and nothing is leaked.
#[test]
fn a_failing_spawn_ends_the_threads_before_it() {
    let ended = Arc::new(AtomicUsize::new(0));
    let mut threads = Vec::new();
    let result = ThreadPoolBuilder::new()
        .num_threads(4)
        .exit_handler({
            let ended = ended.clone();
            move |_| _ = ended.fetch_add(1, SeqCst)
        })
        .spawn_handler(|builder| {
            if builder.index() == 2 {
                return Err(io::Error::other("no more"));
            }
            threads.push(thread::spawn(|| builder.run()));
            Ok(())
        })
        .build();
    match result {
        Err(BuildError::Spawn { index: 2, source }) => assert_eq!(source.to_string(), "no more"),
        other => panic!("{other:?}"),
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(ended.load(SeqCst) <= 2);
    assert_eq!(
        Arc::strong_count(&ended),
        1,
        "the handlers, and so the pool, are gone"
    );
}

#[test]
fn names_and_handlers() {
    let (started, ended) = (
        Arc::new(Mutex::new(HashSet::new())),
        Arc::new(AtomicUsize::new(0)),
    );
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .thread_name(|index| format!("worker-{index}"))
        .start_handler({
            let started = started.clone();
            move |index| {
                assert_eq!(
                    current_thread_index(),
                    Some(index),
                    "a worker from the start"
                );
                assert!(started.lock().unwrap().insert(index));
            }
        })
        .exit_handler({
            let ended = ended.clone();
            move |_| {
                assert!(current_thread_index().is_some(), "a worker to the end");
                ended.fetch_add(1, SeqCst);
            }
        })
        .build()
        .unwrap();
    let names = pool.broadcast(|context| {
        let thread = thread::current();
        (context.index(), thread.name().map(str::to_owned))
    });
    for (index, (reported, name)) in names.into_iter().enumerate() {
        assert_eq!((reported, name), (index, Some(format!("worker-{index}"))));
    }
    pool.shutdown().unwrap();
    assert_eq!((started.lock().unwrap().len(), ended.load(SeqCst)), (3, 3));
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

/// Dropping a pool loses no spawned job, also none that a job spawns later.
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

/// oven-sh/bun#32494: ending a pool while its workers are anywhere on their way to sleep.
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

/// Two broadcasts whose jobs meet at barriers: queued in different orders they would hang.
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

#[test]
fn a_closure_that_panics_while_building_ends_the_threads_before_it() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = ended.clone();
    let panicked = std::panic::catch_unwind(|| {
        ThreadPoolBuilder::new()
            .num_threads(3)
            .exit_handler(move |_| _ = count.fetch_add(1, SeqCst))
            .thread_name(|index| {
                if index < 2 {
                    String::new()
                } else {
                    panic!("on purpose")
                }
            })
            .build()
    });
    assert!(panicked.is_err());
    while Arc::strong_count(&ended) > 1 {
        thread::yield_now();
    }
    assert!(ended.load(SeqCst) <= 2);
}

#[test]
fn a_worker_cannot_become_another_one() {
    let outer = pool(1);
    let failed = ThreadPoolBuilder::new()
        .num_threads(1)
        .spawn_handler(|builder| {
            let builder = Mutex::new(Some(builder));
            outer.install(|| {
                let builder = builder.lock().unwrap().take().unwrap();
                let run = std::panic::AssertUnwindSafe(|| builder.run());
                let panic = std::panic::catch_unwind(run).unwrap_err();
                Err(io::Error::other(*panic.downcast::<&str>().unwrap()))
            })
        });
    match failed.build() {
        Err(BuildError::Spawn { source, .. }) => {
            assert_eq!(source.to_string(), "a thread is one worker at a time");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outer.install(|| 1), 1);
}

/// Where the system refuses its barrier, the pool says that its fences are its own.
#[test]
fn debug_says_whose_fences() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    // By now the answer is there.
    let by_system = pool_std::ProcessBarrier::is_by_system();
    let expected = if by_system { "by the system" } else { "own" };
    let text = format!("{pool:?}");
    assert!(text.contains(&format!("fences: {expected:?}")), "{text}");
}

/// The pool that ends may need the worker that waits for its end.
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

/// Builders that a spawn handler keeps are run later, or never; a build that fails has no use for
/// them any more.
#[test]
fn a_failing_build_does_not_wait_for_kept_builders() {
    let called = Arc::new(AtomicUsize::new(0));
    let (started, ended) = (called.clone(), called.clone());
    let mut kept = Vec::new();
    let result = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(move |_| _ = started.fetch_add(1, SeqCst))
        .exit_handler(move |_| _ = ended.fetch_add(1, SeqCst))
        .spawn_handler(|builder| {
            if builder.index() == 2 {
                return Err(io::Error::other("no more"));
            }
            kept.push(builder);
            Ok(())
        })
        .build();
    assert!(matches!(result, Err(BuildError::Spawn { index: 2, .. })));
    for builder in kept {
        builder.run();
    }
    assert_eq!(called.load(SeqCst), 0, "they end at once");
    assert_eq!(Arc::strong_count(&called), 1);
}

#[test]
fn a_failing_build_does_not_wait_for_a_start_handler() {
    let (start, may_start) = mpsc::channel::<()>();
    let may_start = Mutex::new(may_start);
    let result = ThreadPoolBuilder::new()
        .num_threads(2)
        // It waits for what never comes: another worker, for instance.
        .start_handler(move |_| _ = may_start.lock().unwrap().recv())
        .spawn_handler(|builder| {
            if builder.index() == 1 {
                return Err(io::Error::other("no more"));
            }
            thread::spawn(|| builder.run());
            Ok(())
        })
        .build();
    assert!(matches!(result, Err(BuildError::Spawn { index: 1, .. })));
    drop(start);
}

/// The last reference to a pool goes where a worker of another one ends a call into it, in a frame
/// that others use.
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
