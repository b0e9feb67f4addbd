//! Building pools, and builds that fail.

use std::{
    collections::HashSet,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_std::{
    BuildError, ThreadBuilder, ThreadPoolBuilder, current_thread_index, max_num_threads,
};

mod dropped;
mod scoped;

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);

/// Waits for the result of a closure that hangs if the test fails.
fn in_time<R: Send + 'static>(closure: impl FnOnce() -> R + Send + 'static) -> R {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(closure()));
    receiver.recv_timeout(LIMIT).expect("nothing hangs")
}

#[test]
fn zero_threads_mean_the_default() {
    let processors = thread::available_parallelism().unwrap().get();
    let pool = ThreadPoolBuilder::new().num_threads(0).build().unwrap();
    assert_eq!(pool.current_num_threads(), processors);
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

// When a spawn fails, the threads before it end, each with its handlers, and nothing leaks.
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
    assert_eq!(ended.load(SeqCst), 2);
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
fn a_closure_that_panics_while_building_ends_the_threads_before_it() {
    let called = Arc::new(AtomicUsize::new(0));
    let (started, ended) = (called.clone(), called.clone());
    let panicked = std::panic::catch_unwind(|| {
        ThreadPoolBuilder::new()
            .num_threads(3)
            .start_handler(move |_| _ = started.fetch_add(1, SeqCst))
            .exit_handler(move |_| _ = ended.fetch_add(1, SeqCst))
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
    while Arc::strong_count(&called) > 1 {
        thread::yield_now();
    }
    assert_eq!(called.load(SeqCst), 4, "two workers start, and end");
}

/// Panics when it is dropped.
struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

/// The caller gets no pool that it could end.
#[test]
fn a_closure_whose_drop_panics_after_a_build_ends_the_threads() {
    fn builder(called: &Arc<AtomicUsize>) -> ThreadPoolBuilder {
        let (started, ended) = (called.clone(), called.clone());
        ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(move |_| _ = started.fetch_add(1, SeqCst))
            .exit_handler(move |_| _ = ended.fetch_add(1, SeqCst))
    }

    fn names(bad: PanicsOnDrop) -> impl FnMut(usize) -> String + 'static {
        move |index| {
            let _bad = &bad;
            index.to_string()
        }
    }

    let builds: [fn(ThreadPoolBuilder); 3] = [
        |builder| drop(builder.thread_name(names(PanicsOnDrop)).build()),
        |builder| {
            let builder = builder.thread_name(names(PanicsOnDrop));
            drop(builder.build_scoped(ThreadBuilder::run, |_| ()));
        },
        |builder| {
            let bad = PanicsOnDrop;
            let spawn = move |thread: ThreadBuilder| {
                let _bad = &bad;
                thread::Builder::new().spawn(|| thread.run()).map(drop)
            };
            drop(builder.spawn_handler(spawn).build());
        },
    ];
    for build in builds {
        in_time(move || {
            let called = Arc::new(AtomicUsize::new(0));
            let builder = builder(&called);
            assert!(catch_unwind(AssertUnwindSafe(|| build(builder))).is_err());
            while Arc::strong_count(&called) > 1 {
                thread::yield_now();
            }
            assert_eq!(called.load(SeqCst), 4, "two workers start, and end");
        });
    }
}

#[test]
fn a_worker_cannot_become_another_one() {
    let outer = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
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
            assert_eq!(source.to_string(), "this thread is already a worker");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outer.install(|| 1), 1);
}

// A spawn handler may run the builders that it keeps later, or never. A build that fails does not
// need them any more.
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
    assert_eq!(called.load(SeqCst), 4, "they start, and end at once");
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

#[test]
fn a_name_that_no_thread_can_have_is_a_typed_error() {
    let build = |spares| {
        ThreadPoolBuilder::new()
            .num_threads(2)
            .max_blocking_threads(spares)
            .thread_name(move |index| {
                format!(
                    "worker{}{index}",
                    if index < 1 + spares { '-' } else { '\0' }
                )
            })
            .build()
    };
    // The last worker, and a spare.
    for (spares, last) in [(0, 1), (1, 2)] {
        match build(spares) {
            Err(BuildError::ThreadName { index, name }) => {
                assert_eq!((index, name), (last, format!("worker\0{last}")));
            }
            other => panic!("{other:?}"),
        }
    }
    let error = build(0).unwrap_err().to_string();
    assert!(error.contains(r"worker\01"), "{error}");
}

#[test]
fn a_spawn_handler_is_given_a_name_that_the_system_would_refuse() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .thread_name(|_| "worker\0".to_owned())
        .spawn_handler(|worker| {
            assert_eq!(worker.name(), Some("worker\0"));
            thread::spawn(|| worker.run());
            Ok(())
        })
        .build()
        .unwrap();
    assert_eq!(pool.install(|| 1), 1);
}

#[test]
fn an_adopted_thread_is_asked_a_name_for() {
    let named = || {
        let mut names = 0..;
        let name = move |_| names.next().unwrap().to_string();
        let builder = ThreadPoolBuilder::new().num_threads(2).thread_name(name);
        let pool = builder.use_current_thread().build().unwrap();
        let name = || thread::current().name().map(str::to_owned);
        assert_eq!(pool.broadcast(|_| name())[1].as_deref(), Some("1"));
    };
    thread::spawn(named).join().unwrap();
}
