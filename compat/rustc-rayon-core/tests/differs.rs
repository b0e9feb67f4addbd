//! Where the original leaves the value to chance, or loses it, and what else differs: see the
//! README.

mod tokens;
mod values;

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use rayon_core::{
    Registry, ThreadBuilder, ThreadPool, ThreadPoolBuilder, WorkerLocal, Yield, broadcast,
    current_num_threads, current_thread_index, join, mark_blocked, mark_unblocked, scope,
    scope_fifo, spawn, spawn_broadcast, yield_now,
};
use tokens::Tokens;
use values::{set, value, with};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

#[test]
fn install_carries_the_callers_value() {
    let (pool, other) = (pool(2), pool(2));
    with(7, || {
        assert_eq!(pool.install(value), 7);
        assert_eq!(pool.join(value, value), (7, 7));
        assert_eq!(pool.scope(|_| value()), 7);
        assert_eq!(pool.scope_fifo(|_| value()), 7);
        other.install(|| {
            with(8, || {
                assert_eq!(pool.install(value), 8);
                assert_eq!(value(), 8);
            });
        });
        let panicking = || pool.install(|| -> () { panic!("on purpose") });
        assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
        assert_eq!(value(), 7);
    });
    assert_eq!(pool.broadcast(|_| value()), [0, 0]);
}

#[test]
fn the_global_pool_gets_the_callers_value() {
    with(7, || {
        assert_eq!(join(value, value), (7, 7));
        assert_eq!(scope(|_| value()), 7);
        assert_eq!(scope_fifo(|_| value()), 7);
        assert_eq!(value(), 7);
    });
}

#[test]
fn each_worker_of_a_scopes_broadcast_has_the_scopes_value() {
    let seen = Mutex::new(Vec::new());
    let see = || seen.lock().unwrap().push(value());
    pool(2).install(|| {
        with(7, || {
            scope(|scope| with(8, || scope.spawn_broadcast(|_, _| see())));
            scope_fifo(|scope| with(8, || scope.spawn_broadcast(|_, _| see())));
        });
    });
    assert_eq!(seen.into_inner().unwrap(), [7; 4]);
}

#[test]
fn the_jobs_of_a_spawned_broadcast_begin_with_null() {
    let pool = pool(2);
    let (sender, receiver) = mpsc::channel();
    let send = || {
        let sender = sender.clone();
        move |_: rayon_core::BroadcastContext<'_>| sender.send(value()).unwrap()
    };
    with(7, || pool.spawn_broadcast(send()));
    pool.install(|| with(8, || spawn_broadcast(send())));
    drop(sender);
    assert!(receiver.iter().eq([0; 4]));
}

#[test]
fn a_job_that_ends_leaves_no_value_behind() {
    let pool = pool(1);
    let caught = std::panic::AssertUnwindSafe(|| {
        pool.install(|| {
            set(9);
            panic!("on purpose");
        })
    });
    assert!(catch_unwind(caught).is_err());
    assert_eq!(pool.broadcast(|_| value()), [0]);
    pool.spawn(|| _ = set(9));
    pool.broadcast(|_| ());
    let (sender, receiver) = mpsc::channel();
    pool.spawn_broadcast(move |_| sender.send(value()).unwrap());
    assert_eq!(receiver.recv(), Ok(0));
}

#[test]
fn a_join_restores_what_its_closures_set() {
    pool(1).install(|| {
        with(7, || {
            let change = || {
                set(9);
            };
            join(change, change);
            assert_eq!(value(), 7);
            join(|| (), change);
            assert_eq!(value(), 7);
        });
    });
}

#[test]
fn a_worker_has_its_value_again_after_a_yield() {
    pool(1).install(|| {
        with(7, || {
            spawn(|| _ = set(9));
            assert_eq!(yield_now(), Some(Yield::Executed));
            assert_eq!(value(), 7);
        });
    });
}

// It runs the spawned job in the wait for its own part of the broadcast.
#[test]
fn a_worker_has_its_value_again_after_a_broadcast() {
    pool(1).install(|| {
        with(7, || {
            spawn(|| _ = set(9));
            assert_eq!(broadcast(|_| value()), [7]);
            assert_eq!(value(), 7);
        });
    });
}

fn message(panicking: impl FnOnce() + Send) -> String {
    let panic = catch_unwind(AssertUnwindSafe(panicking)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn marks_that_cannot_be_made_panic() {
    let text = message(mark_blocked);
    assert!(text.contains("is not a worker"), "{text}");
    let pool = pool(2);
    let text = message(|| pool.install(|| mark_unblocked(&Registry::current())));
    assert!(text.contains("the worker is not blocked"), "{text}");
    pool.install(|| {
        mark_blocked();
        let text = message(mark_blocked);
        assert!(text.contains("already marked"), "{text}");
        mark_unblocked(&Registry::current());
        // The worker proves that it was the one.
        mark_blocked();
        mark_unblocked(&Registry::current());
    });
}

#[test]
fn a_handler_that_unblocks_aborts() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child_unblocks_in_its_handler"])
        .args(["--nocapture"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot mark or unmark workers"), "{text}");
    assert!(text.contains("aborting"), "{text}");
}

#[test]
#[ignore = "aborts the process; run by a_handler_that_unblocks_aborts"]
fn child_unblocks_in_its_handler() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .deadlock_handler(|| mark_unblocked(&Registry::current()))
        .build()
        .unwrap();
    pool.install(mark_blocked);
}

// The original makes no check when a worker ends. The thread that resumes the blocked worker needs
// the registry from the handler.
#[test]
fn a_worker_that_ends_completes_a_deadlock_of_its_own_pool() {
    let (sender, reports) = mpsc::channel();
    let (resume, resumed) = mpsc::channel();
    let (is_blocked, resumed) = (Barrier::new(2), Mutex::new(resumed));
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .deadlock_handler(move || {
            let (index, registry) = (current_thread_index(), Registry::current());
            sender.send((index, registry)).unwrap();
        })
        .exit_handler(move |index| match index {
            0 => {
                let resumed = resumed.lock().unwrap();
                // The other worker is active.
                mark_blocked();
                is_blocked.wait();
                resumed.recv().unwrap();
            }
            _ => _ = is_blocked.wait(),
        })
        .build()
        .unwrap();
    drop(pool);
    let (index, registry) = reports.recv().unwrap();
    assert_eq!(index, Some(1));
    mark_unblocked(&registry);
    resume.send(()).unwrap();
}

// Jobs that a wait in such a handler ran would run in the middle of falling asleep. The last calls
// come when the pool has ended.
#[test]
fn acquire_and_release_handlers_find_the_pool_and_no_worker() {
    let found = Arc::new(Mutex::new(Vec::new()));
    let caller = thread::current().id();
    let look = || {
        let found = found.clone();
        move || {
            if thread::current().id() != caller {
                let here = (current_thread_index(), current_num_threads());
                found.lock().unwrap().push(here);
            }
        }
    };
    let threads = current_num_threads() + 1;
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let builder = builder
        .acquire_thread_handler(look())
        .release_thread_handler(look());
    let scoped = builder.build_scoped(|thread| thread.run(), |pool| pool.install(|| ()));
    scoped.unwrap();
    let found = found.lock().unwrap();
    assert!(found.len() >= 2 * threads);
    assert!(found.iter().all(|&it| it == (None, threads)), "{found:?}");
}

// A spare thread is the worker while the worker's own thread blocks, and both could use the same
// value.
#[test]
fn a_pool_with_spare_threads_has_no_worker_locals() {
    let builder = pool_std::ThreadPoolBuilder::new().num_threads(1);
    let spared = builder.max_blocking_threads(1).build().unwrap();
    let panicking = || spared.install(|| WorkerLocal::new(|index| index).into_inner());
    let panic = catch_unwind(AssertUnwindSafe(panicking)).unwrap_err();
    let text = panic.downcast_ref::<&str>().unwrap();
    assert!(text.contains("spare threads"), "{text}");
}

// A guest could keep the reference in a variable of its thread, and use it beside the worker's own
// thread.
#[test]
fn a_guest_has_no_worker_locals() {
    let pool = pool_std::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let local = pool.install(|| WorkerLocal::new(Cell::new));
    let me = thread::current().id();
    // Until the worker sleeps, so that this thread takes its place.
    let panic = loop {
        let as_guest = pool.call(|| {
            let is_here = thread::current().id() == me;
            is_here.then(|| catch_unwind(AssertUnwindSafe(|| local.get())))
        });
        match as_guest {
            Some(result) => break result.unwrap_err(),
            None => thread::yield_now(),
        }
    };
    let text = panic.downcast_ref::<&str>().unwrap();
    assert!(text.contains("a guest"), "{text}");
    assert_eq!(pool.install(|| local.get()), 0);
}

// The original's worker needs more. pool-std refuses such a stack, but a drop-in leaves it to the
// system, which rounds up: with musl to a page, which is too little for ours, too.
#[cfg(not(target_env = "musl"))]
#[test]
fn accepts_small_stacks() {
    let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(1);
    assert_eq!(builder.build().unwrap().install(|| 7), 7);
}

/// A worker of another pool that waits for the end of a scoped pool runs jobs meanwhile. With the
/// original it waits in vain.
#[test]
fn jobs_in_the_wait_for_a_scoped_pool_do_not_see_its_panic() {
    let outer = Arc::new(pool(1));
    let inside = outer.clone();
    let (sender, receiver) = mpsc::channel();
    let panicking = || {
        outer.install(move || {
            let builder = ThreadPoolBuilder::new().num_threads(1);
            let scoped = builder.build_scoped(
                |thread| thread.run(),
                |pool| {
                    pool.spawn(move || {
                        inside.install(|| sender.send(thread::panicking()).unwrap());
                    });
                    panic!("on purpose");
                },
            );
            scoped.unwrap()
        })
    };
    let result: Result<(), _> = catch_unwind(AssertUnwindSafe(panicking));
    assert!(result.is_err());
    assert_eq!(receiver.recv(), Ok(false));
}

/// In the original, the threads that have started wait for the caller's token, and the caller for
/// them.
#[test]
fn a_build_that_fails_leaves_its_threads_the_callers_token() {
    let panicking_name = |index| match index {
        0 => String::new(),
        _ => panic!("on purpose"),
    };
    let tokens = Tokens::held_by_this_thread();
    let build = || {
        let builder = tokens.builder().thread_name(panicking_name);
        builder.build_scoped(|thread| thread.run(), |_| ())
    };
    assert!(catch_unwind(AssertUnwindSafe(build)).is_err());
    assert_eq!(tokens.free(), 0, "this thread holds its token");

    // The last thread is named when the first one was dropped unrun.
    let (sender, dropped) = mpsc::channel();
    let waiting_name = move |index| {
        if index == 2 {
            dropped.recv().unwrap();
        }
        String::new()
    };
    let wrapper = |thread: ThreadBuilder| match thread.index() {
        0 => {
            drop(thread);
            sender.send(()).unwrap();
        }
        _ => thread.run(),
    };
    let builder = tokens.builder().thread_name(waiting_name);
    assert!(builder.build_scoped(wrapper, |_| ()).is_err());
    assert_eq!(tokens.free(), 0, "this thread holds its token");
}

/// Whether a worker that waits for a half of a join begins a job that the half has spawned, before
/// the half has looked for that so many times.
fn begins_a_foreign_job(looks: usize, call: impl FnOnce(&(dyn Fn() + Sync)) + Send) -> bool {
    let pool = pool(2);
    let [half_has_begun, began_in_wait] = [(); 2].map(|()| AtomicBool::new(false));
    let half = || {
        half_has_begun.store(true, SeqCst);
        let has_begun = Arc::new(AtomicBool::new(false));
        let of_job = has_begun.clone();
        spawn(move || of_job.store(true, SeqCst));
        let begins = (0..looks).any(|_| {
            thread::yield_now();
            has_begun.load(SeqCst)
        });
        began_in_wait.store(begins, SeqCst);
    };
    let wait_for_half = || {
        while !half_has_begun.load(SeqCst) {
            thread::yield_now();
        }
    };
    pool.install(|| {
        call(&|| {
            join(wait_for_half, half);
        });
    });
    began_in_wait.into_inner()
}

#[test]
fn a_wait_that_pool_std_isolates_runs_no_foreign_job() {
    assert!(begins_a_foreign_job(usize::MAX, |body| body()));
    let isolated = |body: &(dyn Fn() + Sync)| pool_std::isolate(body);
    assert!(!begins_a_foreign_job(10_000, isolated));
}
