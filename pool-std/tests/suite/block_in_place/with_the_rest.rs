//! Lent places and what else a pool does: adopted threads, joins, parked workers, thread progress.

use std::{
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::{self, TryRecvError},
    },
    thread,
};

use pool_std::{
    BuildError, ShutdownError, ThreadPoolBuilder, block_in_place, current_thread_index, join,
    scope, spawn,
};

use super::{here, lends, pool};

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
