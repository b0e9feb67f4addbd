//! What rayon-core documents of `ThreadPool` and its builder.

use std::{
    cell::Cell,
    collections::HashSet,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use rayon_core::{ThreadPool, ThreadPoolBuilder, Yield};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// Waits for what the end of a pool brings: its drop does not wait for the threads.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(300), "{what}");
        thread::yield_now();
    }
}

#[test]
fn smoke() {
    let pool = pool(3);
    assert_eq!(pool.current_num_threads(), 3);
    assert_eq!(pool.install(rayon_core::current_num_threads), 3);
    assert!(pool.install(|| pool.current_thread_index().is_some()));
    assert_eq!(pool.current_thread_index(), None);
    assert_eq!(pool.current_thread_has_pending_tasks(), None);
    assert_eq!((pool.yield_now(), pool.yield_local()), (None, None));
    assert_eq!(rayon_core::current_thread_index(), None);
    assert_eq!(rayon_core::current_thread_has_pending_tasks(), None);
    assert_eq!(
        (rayon_core::yield_now(), rayon_core::yield_local()),
        (None, None)
    );
}

#[test]
fn a_worker_of_one_pool_is_none_of_another() {
    let (one, other) = (pool(1), pool(1));
    one.install(|| {
        assert_eq!(one.current_thread_index(), Some(0));
        assert_eq!(other.current_thread_index(), None);
        assert_eq!(other.yield_now(), None);
        assert_eq!(other.current_thread_has_pending_tasks(), None);
    });
}

#[test]
fn handlers_names_and_indices() {
    let started = Arc::new(Mutex::new(Vec::new()));
    let exited = Arc::new(AtomicUsize::new(0));
    let (on_start, on_exit) = (started.clone(), exited.clone());
    let mut named = 0;
    let pool = ThreadPoolBuilder::new()
        .num_threads(4)
        .thread_name(move |index| {
            assert_eq!(index, named, "in their order, on the builder's thread");
            named += 1;
            format!("worker {index}")
        })
        .start_handler(move |index| {
            assert_eq!(rayon_core::current_thread_index(), Some(index));
            assert_eq!(rayon_core::current_num_threads(), 4);
            let name = thread::current().name().unwrap().to_owned();
            on_start.lock().unwrap().push((index, name));
        })
        .exit_handler(move |index| {
            assert!(index < 4);
            on_exit.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    let names = pool.broadcast(|_| thread::current().name().unwrap().to_owned());
    assert_eq!(names, ["worker 0", "worker 1", "worker 2", "worker 3"]);
    let mut started = std::mem::take(&mut *started.lock().unwrap());
    started.sort_unstable();
    assert_eq!(started[3], (3, "worker 3".to_owned()));
    assert_eq!(started.len(), 4);
    assert_eq!(exited.load(SeqCst), 0);
    drop(pool);
    eventually("all exit handlers are called", || exited.load(SeqCst) == 4);
}

#[test]
fn thread_locals_of_the_start_handler_are_visible_in_jobs() {
    thread_local! {
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }
    let exited = Arc::new(AtomicUsize::new(0));
    let sum = exited.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .start_handler(|index| NUMBER.set(index + 10))
        .exit_handler(move |index| {
            assert_eq!(NUMBER.get(), index + 20);
            sum.fetch_add(NUMBER.get(), SeqCst);
        })
        .build()
        .unwrap();
    assert_eq!(
        pool.broadcast(|_| NUMBER.replace(NUMBER.get() + 10)),
        [10, 11, 12]
    );
    drop(pool);
    eventually("exit handlers see them too", || exited.load(SeqCst) == 63);
}

#[test]
fn a_panic_of_a_handler_goes_to_the_panic_handler() {
    let panics = Arc::new(AtomicUsize::new(0));
    let count = panics.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(|_| panic!("start"))
        .exit_handler(|_| panic!("exit"))
        .panic_handler(move |_| {
            count.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    drop(pool);
    eventually("two of each", || panics.load(SeqCst) == 4);
}

// Threads that begin to run after the build has failed are workers all the same, from start to
// exit.
#[test]
fn workers_of_a_build_that_panics_run_their_handlers() {
    let started = Arc::new(AtomicUsize::new(0));
    let exited = Arc::new(AtomicUsize::new(0));
    let (on_start, on_exit) = (started.clone(), exited.clone());
    let mut threads = Vec::new();
    let build = || {
        ThreadPoolBuilder::new()
            .num_threads(10)
            .start_handler(move |_| _ = on_start.fetch_add(1, SeqCst))
            .exit_handler(move |_| _ = on_exit.fetch_add(1, SeqCst))
            .thread_name(|index| {
                assert!(index < 5, "on purpose");
                format!("worker {index}")
            })
            .spawn_handler(|thread| {
                threads.push(thread);
                Ok(())
            })
            .build()
    };
    assert!(catch_unwind(AssertUnwindSafe(build)).is_err());
    assert_eq!(threads.len(), 5);
    for thread in threads {
        thread::spawn(|| thread.run()).join().unwrap();
    }
    assert_eq!((started.load(SeqCst), exited.load(SeqCst)), (5, 5));
}

#[test]
fn a_stack_of_the_asked_size() {
    #[inline(never)]
    fn deep(left: usize) -> usize {
        let frame = std::hint::black_box([left; 128]);
        if left == 0 {
            0
        } else {
            deep(left - 1) + frame[7] - left + 1
        }
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .stack_size(256 << 20)
        .build()
        .unwrap();
    // About 100 MiB: no default stack is as large.
    assert_eq!(pool.install(|| deep(50_000)), 50_000);
}

#[test]
fn spawn_handler() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .stack_size(1 << 20)
        .thread_name(|index| format!("named {index}"))
        .spawn_handler(move |thread| {
            let name = thread.name().map(str::to_owned);
            note.lock()
                .unwrap()
                .push((thread.index(), name, thread.stack_size()));
            thread::spawn(|| thread.run());
            Ok(())
        })
        .build()
        .unwrap();
    assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    let expected: Vec<_> = (0..3)
        .map(|n| (n, Some(format!("named {n}")), Some(1 << 20)))
        .collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_failing_spawn_handler_fails_the_build_and_leaves_no_thread() {
    let running = Arc::new(AtomicUsize::new(0));
    let count = running.clone();
    let error = ThreadPoolBuilder::new()
        .num_threads(4)
        .spawn_handler(move |thread| {
            if thread.index() == 3 {
                return Err(io::Error::other("no more threads"));
            }
            let count = count.clone();
            count.fetch_add(1, SeqCst);
            thread::spawn(move || {
                thread.run();
                count.fetch_sub(1, SeqCst);
            });
            Ok(())
        })
        .build()
        .unwrap_err();
    assert_eq!(error.to_string(), "no more threads");
    eventually("the others end", || running.load(SeqCst) == 0);
}

#[test]
fn build_scoped() {
    let local = Mutex::new(HashSet::new());
    let result = ThreadPoolBuilder::new().num_threads(3).build_scoped(
        |thread| {
            let index = thread.index();
            thread.run();
            local.lock().unwrap().insert(index);
        },
        |pool| pool.install(rayon_core::current_num_threads),
    );
    assert_eq!(result.unwrap(), 3);
    assert_eq!(
        local.into_inner().unwrap().len(),
        3,
        "all threads have ended"
    );

    let failed = ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(isize::MAX as usize / 4096 * 4096)
        .build_scoped(|thread| thread.run(), |_| panic!("not called"));
    assert!(failed.is_err());
}

#[test]
fn yields() {
    let count = Arc::new(AtomicUsize::new(0));
    pool(1).install(|| {
        assert_eq!(rayon_core::yield_now(), Some(Yield::Idle));
        assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(false));
        for _ in 0..2 {
            let count = count.clone();
            rayon_core::spawn(move || {
                count.fetch_add(1, SeqCst);
            });
        }
        assert_eq!(rayon_core::current_thread_has_pending_tasks(), Some(true));
        assert_eq!(rayon_core::yield_local(), Some(Yield::Executed));
        assert_eq!(count.load(SeqCst), 1);
        assert_eq!(rayon_core::yield_now(), Some(Yield::Executed));
        assert_eq!(count.load(SeqCst), 2);
        assert_eq!(rayon_core::yield_local(), Some(Yield::Idle));
    });
}

#[test]
fn yield_now_takes_what_came_from_outside_and_yield_local_does_not() {
    let pool = pool(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    pool.install(|| {
        thread::scope(|threads| {
            threads.spawn(|| {
                pool.spawn(move || {
                    count.fetch_add(1, SeqCst);
                });
            });
        });
        assert_eq!(rayon_core::yield_local(), Some(Yield::Idle));
        assert_eq!(rayon_core::yield_now(), Some(Yield::Executed));
    });
    assert_eq!(ran.load(SeqCst), 1);
}

// rayon#446, #819, #872, #1142.
#[test]
fn pools_may_be_installed_in_each_other() {
    let (one, other) = (pool(1), pool(1));
    for _ in 0..100 {
        let depth = one.install(|| other.install(|| one.install(|| other.install(|| 4))));
        assert_eq!(depth, 4);
    }
    let sizes = pool(3).install(|| pool(2).install(rayon_core::current_num_threads));
    assert_eq!(sizes, 2);
}

// While it waits for another pool, a worker goes on with the jobs of its own pool.
#[test]
fn a_worker_that_waits_for_another_pool_is_busy() {
    let (near, far) = (pool(1), pool(1));
    let ran = AtomicUsize::new(0);
    near.scope(|scope| {
        scope.spawn(|_| {
            ran.store(1, SeqCst);
        });
        far.install(|| eventually("the near pool's job", || ran.load(SeqCst) == 1));
    });
}

// rayon#739, #740, #929: the waiter may end, with its pool, while another thread sets its latch.
#[test]
fn cross_pool_stampede() {
    for _ in 0..30 {
        let pools: Vec<_> = (0..3).map(|_| pool(2)).collect();
        thread::scope(|threads| {
            for (index, near) in pools.iter().enumerate() {
                let far = &pools[(index + 1) % 3];
                threads.spawn(move || {
                    for _ in 0..20 {
                        let sum = near.install(|| far.install(|| near.join(|| 1, || 2)));
                        assert_eq!(sum, (1, 2));
                    }
                });
            }
        });
    }
}

#[test]
fn a_panic_of_install_is_continued() {
    let pool = pool(2);
    let result = catch_unwind(AssertUnwindSafe(|| pool.install(|| panic!("installed"))));
    assert_eq!(
        *result.unwrap_err().downcast_ref::<&str>().unwrap(),
        "installed"
    );
    assert_eq!(pool.install(|| 7), 7);
}

#[test]
fn a_pool_may_be_dropped_on_its_own_worker() {
    let pool = Arc::new(pool(2));
    let exited = Arc::new(AtomicUsize::new(0));
    let (own, count) = (pool.clone(), exited.clone());
    pool.spawn(move || {
        drop(own);
        count.fetch_add(1, SeqCst);
    });
    drop(pool);
    eventually("the job ends", || exited.load(SeqCst) == 1);
}

#[test]
fn too_many_threads_are_as_many_as_possible() {
    let maximum = rayon_core::max_num_threads();
    // The original counts in a word of the pointer's size; ours in 64 bits where there are such
    // atomics, which many 32-bit targets have.
    let expected: &[usize] = if cfg!(target_pointer_width = "64") {
        &[65_535]
    } else {
        &[255, 65_535]
    };
    assert!(expected.contains(&maximum), "{maximum}");
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let result = ThreadPoolBuilder::new()
        .num_threads(70_000)
        .spawn_handler(move |thread| {
            count.store(thread.index() + 1, SeqCst);
            // Enough of it.
            Err(io::Error::other("refused"))
        })
        .build();
    assert_eq!(result.unwrap_err().to_string(), "refused");
    assert_eq!(asked.load(SeqCst), 1);
}
