//! Workers that are parked and revived while the pool runs.

use std::{
    collections::HashMap,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{
    ActiveWorkersError, BuildError, IdlePolicy, ThreadPool, ThreadPoolBuilder,
    current_thread_index, join, spawn, spawn_fifo,
};

const ROUNDS: usize = if cfg!(miri) { 3 } else { 200 };

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .build()
        .unwrap()
}

/// Waits until exactly these workers are absent.
#[cfg(feature = "metrics")]
fn wait_until_parked(pool: &ThreadPool, parked: &[usize]) {
    use pool_std::WorkerState;

    let absent = || {
        let metrics = pool.metrics();
        let workers = metrics.workers().iter().enumerate();
        workers
            .filter(|(_, worker)| worker.state == WorkerState::Absent)
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
    };
    while absent() != parked {
        thread::yield_now();
    }
}

#[cfg(not(feature = "metrics"))]
fn wait_until_parked(_pool: &ThreadPool, _parked: &[usize]) {}

/// Runs as many jobs as there are active workers, each of which waits for all others. Returns the
/// workers that ran them.
fn meet(pool: &ThreadPool, workers: usize) -> Vec<usize> {
    let (meeting, indices) = (Barrier::new(workers), Mutex::new(Vec::new()));
    pool.in_place_scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|_| {
                meeting.wait();
                indices
                    .lock()
                    .unwrap()
                    .push(current_thread_index().unwrap());
            });
        }
    });
    let mut indices = indices.into_inner().unwrap();
    indices.sort_unstable();
    indices
}

#[test]
fn smoke() {
    let pool = pool(4);
    assert_eq!(pool.active_workers(), 4);
    assert_eq!(meet(&pool, 4), [0, 1, 2, 3]);
    assert_eq!(pool.set_active_workers(2), Ok(4));
    assert_eq!((pool.active_workers(), pool.current_num_threads()), (2, 4));
    wait_until_parked(&pool, &[2, 3]);
    assert_eq!(meet(&pool, 2), [0, 1]);
    assert_eq!(pool.set_active_workers(3), Ok(2));
    assert_eq!(meet(&pool, 3), [0, 1, 2]);
    assert_eq!(pool.set_active_workers(4), Ok(3));
    assert_eq!(meet(&pool, 4), [0, 1, 2, 3]);
    pool.shutdown().unwrap();
}

#[test]
fn bad_numbers_are_typed_errors_and_change_nothing() {
    let pool = pool(2);
    for requested in [0, 3, usize::MAX] {
        let error = pool.set_active_workers(requested).unwrap_err();
        let maximum = 2;
        assert_eq!(error, ActiveWorkersError::OutOfRange { requested, maximum });
        let text = format!("{requested} active workers requested, from 1 to 2 are possible");
        assert_eq!(error.to_string(), text);
        let built = ThreadPoolBuilder::new()
            .num_threads(2)
            .active_workers(requested)
            .build();
        match built {
            Err(BuildError::ActiveWorkers(of_build)) => assert_eq!(of_build, error),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(pool.set_active_workers(2), Ok(2));
}

#[test]
fn a_pool_may_start_with_few_active_workers() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = started.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(3)
        .active_workers(1)
        .start_handler(move |_| _ = count.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    wait_until_parked(&pool, &[1, 2]);
    assert_eq!(meet(&pool, 1), [0]);
    assert_eq!(pool.set_active_workers(3), Ok(1));
    assert_eq!(meet(&pool, 3), [0, 1, 2]);
    pool.shutdown().unwrap();
    assert_eq!(started.load(SeqCst), 3, "once per thread");
}

// Neither searches nor wakes: its counters stay, however many jobs the others run.
#[cfg(feature = "metrics")]
#[test]
fn a_parked_worker_is_not_woken_by_jobs() {
    let pool = pool(3);
    pool.set_active_workers(2).unwrap();
    wait_until_parked(&pool, &[2]);
    let before = pool.metrics().workers()[2].counts;
    for round in 0..ROUNDS {
        assert_eq!(pool.join(|| round, || 1), (round, 1));
        meet(&pool, 2);
    }
    assert_eq!(pool.metrics().workers()[2].counts, before);
}

// Worker 1 fills its deque and its fifo, and parks itself. The jobs begin when it has parked.
#[test]
fn jobs_of_a_worker_that_parks_itself_move_on() {
    let pool = Arc::new(pool(2));
    for _ in 0..ROUNDS {
        let (sender, receiver) = mpsc::channel();
        let is_filled = AtomicBool::new(false);
        pool.broadcast(|context| {
            if context.index() == 0 {
                while !is_filled.load(SeqCst) {
                    thread::yield_now();
                }
                return;
            }
            for number in 0..10 {
                let (deque, fifo) = (sender.clone(), sender.clone());
                spawn(move || deque.send(number).unwrap());
                spawn_fifo(move || fifo.send(10 + number).unwrap());
            }
            assert_eq!(pool.set_active_workers(1), Ok(2));
            is_filled.store(true, SeqCst);
        });
        drop(sender);
        let mut numbers: Vec<_> = receiver.iter().collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..20));
        assert_eq!(pool.set_active_workers(2), Ok(1));
    }
}

#[test]
fn a_broadcast_reaches_parked_workers() {
    let pool = pool(4);
    pool.set_active_workers(1).unwrap();
    for _ in 0..ROUNDS {
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2, 3]);
    }
    wait_until_parked(&pool, &[1, 2, 3]);
    // Each with a join of its own, and from a worker.
    let sums = pool.install(|| {
        pool_std::broadcast(|c| {
            let index = c.index();
            join(|| index, || 1)
        })
    });
    assert_eq!(sums, [(0, 1), (1, 1), (2, 1), (3, 1)]);
    let (sender, receiver) = mpsc::channel();
    pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    assert_eq!(receiver.iter().sum::<usize>(), 6);
    let sum = AtomicUsize::new(0);
    pool.scope(|scope| scope.spawn_broadcast(|_, c| _ = sum.fetch_add(c.index(), SeqCst)));
    assert_eq!(sum.into_inner(), 6);
    wait_until_parked(&pool, &[1, 2, 3]);
    assert_eq!(pool.active_workers(), 1);
}

// A broadcast is queued just as its workers park and come back.
#[test]
fn broadcasts_against_changes() {
    let pool = pool(3);
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        threads.spawn(|| {
            for count in (1..=3).cycle() {
                pool.set_active_workers(count).unwrap();
                if is_over.load(SeqCst) {
                    break;
                }
            }
        });
        for _ in 0..ROUNDS * 5 {
            assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
        }
        is_over.store(true, SeqCst);
    });
}

// The job holds its worker in the middle of a join, whose other half another worker runs.
#[test]
fn a_worker_parks_when_its_job_has_ended_and_not_before() {
    let pool = pool(2);
    for _ in 0..ROUNDS.min(20) {
        let (halves, go_on) = (Barrier::new(3), Barrier::new(3));
        let half = || {
            halves.wait();
            go_on.wait();
            current_thread_index().unwrap()
        };
        let workers = thread::scope(|threads| {
            let joined = threads.spawn(|| pool.install(|| join(half, half)));
            halves.wait();
            // Both are in the middle of something. One of them has worker 1.
            pool.set_active_workers(1).unwrap();
            go_on.wait();
            joined.join().unwrap()
        });
        assert_eq!(workers.0 + workers.1, 1);
        wait_until_parked(&pool, &[1]);
        assert_eq!(meet(&pool, 1), [0]);
        pool.set_active_workers(2).unwrap();
    }
}

#[test]
fn a_pool_ends_while_workers_are_parked() {
    for round in 0..ROUNDS {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .exit_handler(move |index| {
                assert_eq!(current_thread_index(), Some(index), "a worker to the end");
                count.fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        pool.set_active_workers(1 + round % 2).unwrap();
        if round % 3 == 0 {
            wait_until_parked(&pool, if round % 2 == 0 { &[1, 2] } else { &[2] });
        }
        let ran = ended.clone();
        pool.spawn(move || _ = ran.fetch_add(10, SeqCst));
        pool.shutdown().unwrap();
        assert_eq!(ended.load(SeqCst), 13);
        assert_eq!(Arc::strong_count(&ended), 1, "nothing leaks");
    }
}

// The pool ends just as its workers park for the first time.
#[test]
fn stampede_of_ends() {
    for round in 0..ROUNDS * 5 {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2 + round % 3)
            .active_workers(1)
            .build()
            .unwrap();
        (0..round % 64).for_each(|_| std::hint::spin_loop());
        pool.shutdown().unwrap();
    }
}

// Each call returns the count that the call before it has set: the calls form one chain.
#[test]
fn calls_at_the_same_time() {
    let pool = pool(4);
    let chain = Mutex::new(HashMap::<usize, isize>::new());
    thread::scope(|threads| {
        for thread in 0..3 {
            let (pool, chain) = (&pool, &chain);
            threads.spawn(move || {
                for round in 0..ROUNDS {
                    let count = 1 + (thread + round * 3) % 4;
                    // From a job every other time: its worker may be one that parks.
                    let before = if round % 2 == 0 {
                        pool.set_active_workers(count)
                    } else {
                        pool.install(|| pool.set_active_workers(count))
                    };
                    let mut chain = chain.lock().unwrap();
                    *chain.entry(before.unwrap()).or_default() -= 1;
                    *chain.entry(count).or_default() += 1;
                }
            });
        }
    });
    let last = pool.set_active_workers(4).unwrap();
    let mut chain = chain.into_inner().unwrap();
    *chain.entry(4).or_default() += 1;
    *chain.entry(last).or_default() -= 1;
    assert!(
        chain.values().all(|&difference| difference == 0),
        "{chain:?}"
    );
    assert_eq!(meet(&pool, 4), [0, 1, 2, 3], "all are back");
}

#[test]
fn an_adopted_thread_is_never_parked() {
    thread::spawn(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .use_current_thread()
            .build()
            .unwrap();
        pool.set_active_workers(1).unwrap();
        wait_until_parked(&pool, &[1, 2]);
        let here = thread::current().id();
        let threads = pool.join(|| thread::current().id(), || thread::current().id());
        assert_eq!(threads, (here, here));
        assert_eq!(current_thread_index(), Some(0));
        pool.shutdown().unwrap();
    })
    .join()
    .unwrap();
}

// What is deferred runs although one worker is parked, also what the parked one has deferred
// itself.
#[test]
fn parked_workers_do_not_delay_progress() {
    let pool = Arc::new(pool(3));
    for _ in 0..ROUNDS.min(20) {
        let (sender, receiver) = mpsc::channel();
        let progress = pool.progress();
        pool.broadcast(|context| {
            let sender = sender.clone();
            progress.defer(move || sender.send(()).unwrap());
            if context.index() > 0 {
                pool.set_active_workers(1).unwrap();
            }
        });
        wait_until_parked(&pool, &[1, 2]);
        progress.defer(move || sender.send(()).unwrap());
        assert_eq!(receiver.iter().count(), 4);
        pool.set_active_workers(3).unwrap();
    }
}

// Joins, spawns and changes all at once. A job that is lost makes this hang.
#[test]
fn stress() {
    fn tree(depth: u32) -> u64 {
        match depth {
            0 => 1,
            _ => {
                let (left, right) = join(|| tree(depth - 1), || tree(depth - 1));
                left + right
            }
        }
    }
    let depth = if cfg!(miri) { 3 } else { 8 };
    let pool = Arc::new(pool(4));
    let spawned = Arc::new(AtomicUsize::new(0));
    for round in 0..ROUNDS {
        let sum = pool.install(|| {
            let (inner, counter) = (pool.clone(), spawned.clone());
            spawn(move || {
                inner.set_active_workers(1 + round % 4).unwrap();
                counter.fetch_add(1, SeqCst);
            });
            tree(depth)
        });
        assert_eq!(sum, 1 << depth);
    }
    while spawned.load(SeqCst) < ROUNDS {
        thread::yield_now();
    }
}
