//! Workers that lend their place while they block.

mod support;

use std::{
    cell::Cell,
    collections::HashSet,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::{
        Arc, Barrier, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::{self, TryRecvError},
    },
    thread::{self, ThreadId},
};

use pool_std::{
    BuildError, IdlePolicy, ShutdownError, ThreadPool, ThreadPoolBuilder, block_in_place, blocking,
    current_num_threads, current_thread_index, join, mark_blocked, scope, spawn,
};
use support::wait_for;

fn pool(threads: usize, spares: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .max_blocking_threads(spares)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .build()
        .unwrap()
}

fn here() -> ThreadId {
    thread::current().id()
}

/// Whether a closure of `block_in_place` runs outside the pool, on its thread.
fn lends() -> bool {
    let outside = here();
    block_in_place(|| {
        assert_eq!(here(), outside);
        current_thread_index().is_none()
    })
}

// The only worker waits for a message that another job of the same pool sends.
#[test]
fn a_job_that_waits_for_another_one_goes_on_with_a_spare() {
    let pool = pool(1, 1);
    let (sender, receiver) = mpsc::channel();
    let received = pool.install(|| {
        let before = here();
        spawn(move || {
            assert_eq!(current_thread_index(), Some(0), "the place is the worker's");
            assert_ne!(here(), before, "the thread is the spare's");
            sender.send(7).unwrap();
        });
        let received = block_in_place(move || {
            assert_eq!(current_thread_index(), None);
            receiver.recv()
        });
        assert_eq!((here(), current_thread_index()), (before, Some(0)));
        received
    });
    assert_eq!(received, Ok(7));
}

// The closure runs on the worker, whose jobs wait until it has ended.
#[test]
fn without_a_spare_the_closure_runs_on_the_worker() {
    let pool = pool(1, 0);
    let (sender, receiver) = mpsc::channel();
    let receiver = pool.install(|| {
        spawn(move || sender.send(7).unwrap());
        block_in_place(move || {
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            receiver
        })
    });
    assert_eq!(receiver.recv(), Ok(7));
}

// Jobs that the worker has queued and that no sleeping worker has seen are announced before it blocks.
#[test]
fn without_a_spare_others_take_the_jobs() {
    let pool = pool(2, 0);
    for _ in 0..if cfg!(miri) { 3 } else { 500 } {
        let is_run = AtomicBool::new(false);
        let wait = || {
            block_in_place(|| {
                while !is_run.load(SeqCst) {
                    thread::yield_now();
                }
            });
        };
        pool.join(wait, || is_run.store(true, SeqCst));
    }
}

// Otherwise the spare's jobs would be part of the section, and could end it.
#[test]
fn in_a_blocked_section_the_closure_runs_on_the_worker() {
    let pool = pool(1, 1);
    pool.install(|| {
        assert!(lends());
        let is_lent = blocking("a section", |_| lends());
        assert!(!is_lent);
        assert!(lends(), "the section has ended");

        let (sender, receiver) = mpsc::channel();
        let blocked = mark_blocked("a mark").unwrap();
        spawn(move || {
            let result = blocking("a job", |blocked| blocked.mark_unblocked());
            sender.send(result).unwrap();
        });
        let receiver = block_in_place(move || {
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            receiver
        });
        blocked.mark_unblocked().unwrap();
        // Now the job has a section of its own.
        assert_eq!(block_in_place(move || receiver.recv()), Ok(Ok(())));
    });
}

#[test]
fn outside_every_pool_the_closure_runs_here() {
    let before = here();
    let not_send = block_in_place(|| Rc::new(here()));
    assert_eq!(*not_send, before);
}

#[test]
fn the_free_functions_use_the_pool_that_is_lent() {
    let pool = pool(3, 1);
    pool.install(|| {
        block_in_place(|| {
            assert_eq!(current_num_threads(), 3);
            let in_pool = || pool.current_thread_index().is_some();
            assert_eq!(join(in_pool, in_pool), (true, true));
            assert!(scope(|_| in_pool()));
            assert!(pool.install(in_pool));
            let indices = pool_std::broadcast(|context| context.index());
            assert_eq!(indices, [0, 1, 2]);
            let (sender, receiver) = mpsc::channel();
            let threads = current_num_threads();
            spawn(move || sender.send(current_num_threads()).unwrap());
            assert_eq!(receiver.recv(), Ok(threads));
        });
    });
}

#[test]
fn a_scope_of_a_lent_worker_takes_jobs_from_the_closure() {
    let pool = pool(1, 1);
    let ran = AtomicUsize::new(0);
    let job = || _ = ran.fetch_add(1, SeqCst);
    pool.scope(|scope| {
        scope.spawn(|_| job());
        block_in_place(|| {
            scope.spawn(|_| job());
            while ran.load(SeqCst) < 2 {
                thread::yield_now();
            }
        });
        scope.spawn(|_| job());
    });
    assert_eq!(ran.into_inner(), 3);
}

#[test]
fn a_panic_comes_when_the_worker_is_back() {
    let pool = pool(1, 1);
    for _ in 0..3 {
        let payload = pool.install(|| {
            let panics = || block_in_place(|| std::panic::panic_any("on purpose"));
            let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            assert_eq!(current_thread_index(), Some(0));
            assert_eq!(join(|| 1, || 2), (1, 2));
            *payload.downcast::<&str>().unwrap()
        });
        assert_eq!(payload, "on purpose");
    }
}

// In the closure the thread is no worker; in a job of a spare it is one, and takes another spare.
#[test]
fn nested_calls_take_spares_until_there_are_none() {
    fn level(depth: usize, spares: usize) {
        if depth == 0 {
            return;
        }
        let is_over = AtomicBool::new(false);
        scope(|scope| {
            let is_over = &is_over;
            scope.spawn(move |_| {
                level(depth - 1, spares.saturating_sub(1));
                is_over.store(true, SeqCst);
            });
            block_in_place(|| {
                assert_eq!(current_thread_index().is_none(), spares > 0);
                let outside = here();
                block_in_place(|| assert_eq!(here(), outside));
                while spares > 0 && !is_over.load(SeqCst) {
                    thread::yield_now();
                }
            });
        });
        assert_eq!(current_thread_index(), Some(0));
    }
    for spares in 0..3 {
        let pool = pool(1, spares);
        for _ in 0..3 {
            pool.install(|| level(4, spares));
        }
        pool.shutdown().unwrap();
    }
}

#[test]
fn one_spare_serves_many_calls() {
    let pool = pool(1, 3);
    let mut threads = HashSet::new();
    for _ in 0..20 {
        threads.extend(pool.install(|| {
            let (sender, receiver) = mpsc::channel();
            spawn(move || sender.send(here()).unwrap());
            block_in_place(move || receiver.recv())
        }));
    }
    assert_eq!(threads.len(), 1);
}

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
    pool.set_active_workers(1).unwrap();
    let name = pool.install(|| {
        let (sender, receiver) = mpsc::channel();
        spawn(move || {
            sender
                .send(thread::current().name().map(str::to_owned))
                .unwrap()
        });
        block_in_place(move || receiver.recv())
    });
    let name = name.unwrap().unwrap();
    assert!(
        ["thread-1", "thread-2"].contains(&&*name),
        "worker 1 may have been faster: {name}"
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
    with_limit(|| {
        for round in 0..if cfg!(miri) { 3 } else { 500 } {
            let (returns, returned) = mpsc::channel();
            let lends = Arc::new(AtomicBool::new(false));
            let begins = lends.clone();
            let builder = ThreadPoolBuilder::new()
                .num_threads(2)
                .max_blocking_threads(1)
                .start_handler(move |index| {
                    if index == 0 {
                        begins.store(true, SeqCst);
                        block_in_place(|| ());
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
        }
    });
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
            own.get().unwrap().install(|| block_in_place(|| ()));
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
        pool.spawn(|| block_in_place(|| ()));
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
            pool.install(|| block_in_place(|| ()));
        }
        pool.shutdown().unwrap();
        let errors: Vec<_> = receiver.iter().collect();
        assert!(matches!(
            errors[..],
            [Some(BuildError::CurrentThreadAlreadyInPool)]
        ));
    });
}

#[test]
fn handlers_are_called_for_the_spares_that_were_used() {
    let (sender, receiver) = mpsc::channel();
    let at_end = sender.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(2)
        .start_handler(move |index| sender.send(("start", index > 0)).unwrap())
        .exit_handler(move |index| at_end.send(("exit", index > 0)).unwrap())
        .spawn_handler(|thread| thread::Builder::new().spawn(|| thread.run()).map(drop))
        .build()
        .unwrap();
    while !pool.install(lends) {}
    pool.shutdown().unwrap();
    let mut calls: Vec<_> = receiver.iter().collect();
    calls.sort_unstable();
    let expected = [
        ("exit", false),
        ("exit", true),
        ("start", false),
        ("start", true),
    ];
    assert_eq!(calls, expected, "the other spare was not needed");
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

#[test]
fn an_adopted_thread_lends_its_place() {
    let on_new_thread = thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        let (sender, receiver) = mpsc::channel();
        // Spawned jobs of such a pool are run while its thread blocks.
        pool.spawn(move || sender.send((current_thread_index(), here())).unwrap());
        let (index, thread) = block_in_place(move || receiver.recv()).unwrap();
        assert_eq!(index, Some(0));
        assert_ne!(thread, here());
        assert_eq!(current_thread_index(), Some(0));

        // The thread stays what it is, whatever it builds meanwhile.
        let adopted = block_in_place(|| ThreadPoolBuilder::new().use_current_thread().build());
        assert!(matches!(
            adopted,
            Err(BuildError::CurrentThreadAlreadyInPool)
        ));

        // The pool ends while its worker is lent.
        let result = block_in_place(|| pool.shutdown());
        assert_eq!(result, Err(ShutdownError::FromWorker));
        assert!(!lends(), "its spares have ended");
        assert_eq!(current_thread_index(), Some(0));
    });
    on_new_thread.join().unwrap();
}

#[test]
fn a_worker_that_lends_its_place_cannot_be_adopted_or_wait_for_its_pool() {
    let pool = Arc::new(Mutex::new(Some(pool(2, 1))));
    let (sender, receiver) = mpsc::channel();
    let inner = pool.clone();
    pool.lock().unwrap().as_ref().unwrap().spawn(move || {
        block_in_place(|| {
            let adopted = ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .build();
            assert!(matches!(
                adopted,
                Err(BuildError::CurrentThreadAlreadyInPool)
            ));
            let pool = inner.lock().unwrap().take().unwrap();
            sender.send(pool.shutdown()).unwrap();
        });
    });
    assert_eq!(receiver.recv().unwrap(), Err(ShutdownError::FromWorker));
}

// The second half of a join is run by the spare, by a thief, or by the worker that is back.
#[test]
fn joins_around_a_call_go_on() {
    for breadth_first in [false, true] {
        let mut builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .max_blocking_threads(2);
        if breadth_first {
            builder = builder.breadth_first();
        }
        let pool = builder.build().unwrap();
        for round in 0..if cfg!(miri) { 2 } else { 200 } {
            let waits = round % 2 == 0;
            let is_run = AtomicBool::new(false);
            let first = || {
                let (sum, _) = join(
                    || {
                        block_in_place(|| {
                            while waits && !is_run.load(SeqCst) {
                                thread::yield_now();
                            }
                        });
                        1
                    },
                    || round,
                );
                sum
            };
            let second = || is_run.swap(true, SeqCst);
            assert_eq!(pool.join(first, second), (1, false));
        }
    }
}

// The worker is to park while its place is lent: it parks when it is back and its job has ended.
#[test]
fn a_lent_worker_parks_later() {
    let pool = pool(2, 2);
    let meeting = Barrier::new(2);
    for _ in 0..10 {
        let indices = pool.broadcast(|context| {
            block_in_place(|| {
                // Both are lent now.
                if meeting.wait().is_leader() {
                    pool.set_active_workers(1).unwrap();
                }
            });
            assert_eq!(current_thread_index(), Some(context.index()));
            context.index()
        });
        assert_eq!(indices, [0, 1]);
        assert_eq!(pool.join(|| 1, || 2), (1, 2));
        pool.set_active_workers(2).unwrap();
    }
}

// What a job retires while the worker is lent is freed, also when the lender reads meanwhile.
#[test]
fn progress_goes_on() {
    let pool = pool(1, 1);
    let progress = pool.progress();
    let (sender, receiver) = mpsc::channel();
    let inner = progress.clone();
    pool.install(|| {
        let guard = progress.read();
        spawn(move || inner.defer(move || sender.send(()).unwrap()));
        let receiver = block_in_place(move || {
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            receiver
        });
        drop(guard);
        block_in_place(move || receiver.recv()).unwrap();
    });
}

/// A tree of joins and scopes in which some nodes block. Returns the number of leaves.
fn tree(depth: u32, seed: u64, pauses: &AtomicUsize) -> u64 {
    let seed = seed
        .wrapping_mul(0x5851_F42D_4C95_7F2D)
        .wrapping_add(0x1405_7B7E_F767_814F);
    let choice = seed >> 60;
    if choice < 4 {
        let index = current_thread_index().unwrap();
        block_in_place(|| {
            for _ in 0..choice {
                thread::yield_now();
            }
            pauses.fetch_add(1, SeqCst);
            if choice == 3 {
                // From outside, while a spare has the place.
                assert_eq!(join(|| 1, || 2), (1, 2));
            }
        });
        assert_eq!(current_thread_index(), Some(index));
    }
    if depth == 0 {
        return 1;
    }
    if choice.is_multiple_of(2) {
        let (left, right) = join(
            || tree(depth - 1, seed, pauses),
            || tree(depth - 1, !seed, pauses),
        );
        return left + right;
    }
    let sum = AtomicUsize::new(0);
    scope(|scope| {
        for seed in [seed, !seed] {
            let sum = &sum;
            scope.spawn(move |_| {
                sum.fetch_add(tree(depth - 1, seed, pauses) as usize, SeqCst);
            });
        }
    });
    sum.into_inner() as u64
}

// Joins and scopes with random calls in between, with fewer and more spares than calls.
#[test]
fn stress() {
    let (depth, rounds) = if cfg!(miri) { (2, 1) } else { (6, 20) };
    for (threads, spares) in
        (1..=4).flat_map(|threads| (0..=3).map(move |spares| (threads, spares)))
    {
        if cfg!(miri) && (threads, spares) != (2, 1) && (threads, spares) != (1, 2) {
            continue;
        }
        let pool = pool(threads, spares);
        let pauses = AtomicUsize::new(0);
        for round in 0..rounds {
            let leaves = pool.install(|| tree(depth, round, &pauses));
            assert_eq!(leaves, 1 << depth, "{threads} workers, {spares} spares");
        }
        assert!(cfg!(miri) || pauses.into_inner() > 0);
        pool.shutdown().unwrap();
    }
}
