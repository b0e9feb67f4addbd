//! The spare threads: how they start, what is called on them, and when there are none.

use std::{
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{
    BuildError, ShutdownError, ThreadPool, ThreadPoolBuilder, block_in_place, current_thread_index,
    join, spawn,
};

use super::{lend_until_a_job_has_run, lends, pool};
use crate::support::wait_for;

// Under Miri every stack is granted, and with 32 bits even the largest one that a builder takes.
#[test]
#[cfg(all(not(miri), target_pointer_width = "64"))]
fn a_spare_that_cannot_be_started_is_none() {
    let on_new_thread = thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            // No system grants it, and the adopted thread does not ask for it.
            .stack_size(usize::MAX / 4)
            .max_blocking_threads(1)
            .build()
            .unwrap();
        for _ in 0..3 {
            assert!(!lends());
        }
        pool.shutdown().unwrap();
    });
    on_new_thread.join().unwrap();
}

#[test]
fn names_and_handlers_of_spares() {
    let (started, ended) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(Mutex::new(Vec::new())),
    );
    let note = |list: &Arc<Mutex<Vec<(usize, bool)>>>| {
        let list = list.clone();
        move |index| {
            let is_worker = current_thread_index() == Some(index);
            list.lock().unwrap().push((index, is_worker));
        }
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .max_blocking_threads(2)
        .thread_name(|index| format!("thread-{index}"))
        .start_handler(note(&started))
        .exit_handler(note(&ended))
        .build()
        .unwrap();
    assert!(pool.install(lends));
    // Until the spare is the worker.
    let all_have_started = || started.lock().unwrap().len() == 3;
    pool.install(|| block_in_place(|| wait_for(all_have_started)));
    pool.set_active_workers(1).unwrap();
    let this_name = || thread::current().name().map(str::to_owned).unwrap();
    let (blocked, name) = pool.install(|| {
        let (sender, receiver) = mpsc::channel();
        spawn(move || sender.send(this_name()).unwrap());
        (
            this_name(),
            block_in_place(move || receiver.recv().unwrap()),
        )
    });
    // Worker 1 may run either closure before it parks.
    assert_ne!(name, blocked);
    assert!(
        ["thread-0", "thread-1", "thread-2"].contains(&&*name),
        "{name}"
    );
    pool.shutdown().unwrap();
    for list in [started, ended] {
        let mut list = list.lock().unwrap().clone();
        list.sort_unstable();
        assert_eq!(
            list,
            [(0, true), (1, true), (2, false)],
            "the other spare was not needed"
        );
    }
}

/// Runs a closure on a new thread, and waits for its end. The limit only ends a test that fails.
fn with_limit(body: impl FnOnce() + Send + 'static) {
    let test = thread::spawn(body);
    wait_for(|| test.is_finished());
    test.join().unwrap();
}

// The spare that the first worker has taken finds that the pool could not be built, or runs.
#[test]
fn a_build_that_fails_while_a_worker_lends_returns_the_worker() {
    for round in 0..if cfg!(miri) { 3 } else { 500 } {
        with_limit(move || {
            let (returns, returned) = mpsc::channel();
            let lends = Arc::new(AtomicBool::new(false));
            let begins = lends.clone();
            let builder = ThreadPoolBuilder::new()
                .num_threads(2)
                .max_blocking_threads(1)
                .start_handler(move |index| {
                    if index == 0 {
                        begins.store(true, SeqCst);
                        // Often longer than the spare needs to begin.
                        block_in_place(|| (0..round % 20).for_each(|_| thread::yield_now()));
                        returns.send(()).unwrap();
                    }
                })
                .thread_name(move |index| {
                    if index == 1 {
                        wait_for(|| lends.load(SeqCst));
                        (0..round % 50).for_each(|_| std::hint::spin_loop());
                        panic!("by design");
                    }
                    index.to_string()
                });
            assert!(catch_unwind(AssertUnwindSafe(|| builder.build())).is_err());
            assert_eq!(returned.recv(), Ok(()));
        });
    }
}

// The handler waits for the pool whose only worker is lent to its thread.
#[test]
fn a_start_handler_of_a_spare_uses_the_pool_as_its_worker() {
    with_limit(|| {
        let own = Arc::new(OnceLock::<ThreadPool>::new());
        let (handler_of, (sender, receiver)) = (own.clone(), mpsc::channel());
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .max_blocking_threads(1)
            .start_handler(move |index| {
                if index == 1 {
                    let indices = || (current_thread_index(), current_thread_index());
                    let own = handler_of.get().unwrap();
                    sender.send(own.install(indices)).unwrap();
                    sender
                        .send(join(current_thread_index, current_thread_index))
                        .unwrap();
                }
            })
            .build()
            .unwrap();
        own.set(pool).unwrap();
        for _ in 0..2 {
            own.get().unwrap().install(lend_until_a_job_has_run);
        }
        let seen: Vec<_> = receiver.try_iter().collect();
        assert_eq!(seen, [(Some(0), Some(0)); 2]);
    });
}

#[test]
fn a_start_handler_of_a_spare_cannot_wait_for_the_end_of_its_pool() {
    with_limit(|| {
        let own = Arc::new(Mutex::new(None::<ThreadPool>));
        let (handler_of, (sender, receiver)) = (own.clone(), mpsc::channel());
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .max_blocking_threads(1)
            .start_handler(move |index| {
                if index == 1 {
                    let own = handler_of.lock().unwrap().take().unwrap();
                    sender.send(own.shutdown()).unwrap();
                }
            })
            .build()
            .unwrap();
        let mut guard = own.lock().unwrap();
        pool.spawn(lend_until_a_job_has_run);
        *guard = Some(pool);
        drop(guard);
        assert_eq!(receiver.recv(), Ok(Err(ShutdownError::FromWorker)));
    });
}

#[test]
fn a_start_handler_of_a_spare_cannot_give_its_thread_to_another_pool() {
    with_limit(|| {
        let (sender, receiver) = mpsc::channel();
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .max_blocking_threads(1)
            .start_handler(move |index| {
                if index == 1 {
                    let other = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
                    sender.send(other.build().err()).unwrap();
                }
            })
            .build()
            .unwrap();
        for _ in 0..3 {
            pool.install(lend_until_a_job_has_run);
        }
        pool.shutdown().unwrap();
        let errors: Vec<_> = receiver.iter().collect();
        assert!(matches!(
            errors[..],
            [Some(BuildError::CurrentThreadAlreadyInPool)]
        ));
    });
}

/// The only worker is lent twice, the second time perhaps to a spare that has arrived meanwhile.
#[test]
fn handlers_are_called_for_the_spares_that_were_used() {
    let (sender, receiver) = mpsc::channel();
    let at_end = sender.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(3)
        .start_handler(move |index| sender.send(("start", index > 0)).unwrap())
        .exit_handler(move |index| at_end.send(("exit", index > 0)).unwrap())
        .spawn_handler(|thread| thread::Builder::new().spawn(|| thread.run()).map(drop))
        .build()
        .unwrap();
    // A spare that has not arrived yet is not used.
    while !pool.install(lends) {}
    pool.install(lend_until_a_job_has_run);
    pool.shutdown().unwrap();
    let calls: Vec<_> = receiver.iter().collect();
    let count = |call| calls.iter().filter(|it| **it == call).count();
    assert_eq!([("start", false), ("exit", false)].map(count), [1, 1]);
    let started = count(("start", true));
    assert!(
        (1..=2).contains(&started),
        "at least one was not needed: {calls:?}"
    );
    assert_eq!(count(("exit", true)), started);
}

#[test]
fn spawn_handlers_start_the_spares_with_the_pool() {
    let mut spares = Vec::new();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(2)
        .spawn_handler(|thread| {
            if thread.is_spare() {
                spares.push(thread.index());
            }
            thread::Builder::new().spawn(|| thread.run()).map(drop)
        })
        .build()
        .unwrap();
    // A spare that has not arrived yet is not used.
    while !pool.install(lends) {}
    pool.shutdown().unwrap();
    assert_eq!(spares, [1, 2]);

    let failed = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(2)
        .spawn_handler(|thread| {
            if thread.index() == 2 {
                return Err(io::Error::other("no more"));
            }
            thread::Builder::new().spawn(|| thread.run()).map(drop)
        })
        .build();
    assert!(matches!(failed, Err(BuildError::Spawn { index: 2, .. })));

    let many = ThreadPoolBuilder::new()
        .max_blocking_threads(usize::MAX)
        .build();
    assert!(matches!(
        many,
        Err(BuildError::TooManyThreads {
            requested: usize::MAX,
            ..
        })
    ));
}

thread_local!(static IS_WRAPPED: Cell<bool> = const { Cell::new(false) });

#[test]
fn spares_of_a_scoped_pool_run_in_the_wrapper() {
    let builder = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1);
    let wrapper = |thread: pool_std::ThreadBuilder| {
        IS_WRAPPED.set(true);
        thread.run();
    };
    builder
        .build_scoped(wrapper, |pool| {
            while !pool.install(lends) {}
            let is_wrapped = pool.install(|| {
                let (sender, receiver) = mpsc::channel();
                spawn(move || sender.send(IS_WRAPPED.get()).unwrap());
                block_in_place(move || receiver.recv())
            });
            assert_eq!(is_wrapped, Ok(true));
        })
        .unwrap();
}

/// Reproduces a bug: a spare took no fair looks, so that jobs that spawn each other kept it from
/// the job for which the worker's own thread waited.
#[test]
fn a_spare_leaves_looks_to_jobs_from_outside() {
    fn next(stop: Arc<AtomicBool>, began: mpsc::SyncSender<()>) {
        // The channel is full soon.
        _ = began.try_send(());
        if !stop.load(SeqCst) {
            spawn(move || next(stop, began));
        }
    }
    let pool = super::pool(1, 1);
    while !pool.install(lends) {}
    let [(waits, is_waiting), (sender, receiver)] = [(); 2].map(|()| mpsc::channel());
    let waiter = pool.spawn_handle(move || {
        block_in_place(move || {
            waits.send(()).unwrap();
            receiver.recv()
        })
    });
    is_waiting.recv().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (began, jobs) = mpsc::sync_channel(100);
    let chain = stop.clone();
    pool.spawn(move || next(chain, began));
    assert_eq!(jobs.iter().take(100).count(), 100);
    pool.spawn(move || sender.send(()).unwrap());
    waiter.join().unwrap().unwrap();
    stop.store(true, SeqCst);
    pool.shutdown().unwrap();
}

/// The caller waits for its spare's job, which may wait for the caller in turn.
#[test]
fn the_state_shows_a_thread_that_waits_for_its_place() {
    let pool = pool(1, 1);
    let reclaims = || pool.state().workers()[0].reclaims;
    let (sender, receiver) = mpsc::channel();
    let (begun, is_begun) = mpsc::channel();
    let job = pool.spawn_handle(move || {
        spawn(move || {
            begun.send(()).unwrap();
            receiver.recv().unwrap();
        });
        block_in_place(move || is_begun.recv()).unwrap();
    });
    while reclaims() == 0 {
        assert!(!job.is_finished());
        thread::yield_now();
    }
    assert!(pool.state().to_string().contains("block_in_place"));
    sender.send(()).unwrap();
    job.join().unwrap();
    assert_eq!(reclaims(), 0);
}
