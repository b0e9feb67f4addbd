//! Jobs that are run before, or after, all others.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{Isolation, Priority, ThreadPool, ThreadPoolBuilder};

#[cfg(feature = "metrics")]
use super::support::wait_for;
use super::support::{Gate, wait_for_asleep};

fn pool(num_threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build().unwrap()
}

/// The kinds of jobs, in the order in which one worker runs them.
const KINDS: usize = 3;

const PRIORITIES: [Priority; KINDS] = [Priority::Urgent, Priority::Normal, Priority::Background];

/// Spawns a job of a kind.
fn spawn(pool: &ThreadPool, kind: usize, job: impl FnOnce() + Send + 'static) {
    match kind {
        0 => pool.spawn_urgent(job),
        1 => pool.spawn(job),
        _ => pool.spawn_background(job),
    }
}

#[test]
fn one_worker_runs_the_kinds_one_after_the_other() {
    the_kinds_run_one_after_the_other(spawn);
}

#[test]
fn one_worker_runs_the_kinds_of_jobs_with_handles_likewise() {
    the_kinds_run_one_after_the_other(|pool, kind, job| {
        drop(pool.spawn_handle_with(PRIORITIES[kind], job));
    });
}

/// A worker that joins a job runs it, although jobs of other priorities are queued.
#[test]
fn a_worker_joins_a_job_of_any_priority() {
    let pool = pool(1);
    for isolation in [Isolation::Anything, Isolation::Subtree, Isolation::Nothing] {
        for priority in PRIORITIES {
            let join = || {
                let other = pool_std::spawn_handle_with(Priority::Urgent, || 1);
                let job = pool_std::spawn_handle_with(priority, || 2);
                (job.join().unwrap(), other.join().unwrap())
            };
            let join = || pool_std::with_isolation(isolation, join);
            assert_eq!(pool.install(join), (2, 1));
        }
    }
    pool.shutdown().unwrap();
}

/// Spawns fewer jobs than there are between two fair looks.
fn the_kinds_run_one_after_the_other(spawn: impl Fn(&ThreadPool, usize, Box<dyn FnOnce() + Send>)) {
    let pool = pool(1);
    let (gate, log) = (Arc::new(Gate::default()), Arc::new(Mutex::new(Vec::new())));
    pool.spawn({
        let gate = gate.clone();
        move || gate.wait("gate")
    });
    gate.wait_for_blocked(1);
    for number in 0..60 {
        let (kind, log) = (number % KINDS, log.clone());
        let note = move || log.lock().unwrap().push((kind, number));
        spawn(&pool, kind, Box::new(note));
    }
    gate.open();
    pool.shutdown().unwrap();
    let order = Arc::into_inner(log).unwrap().into_inner().unwrap();
    assert_eq!(order.len(), 60);
    assert!(order.is_sorted(), "{order:?}");
}

/// Spawns many jobs of all kinds, from outside, from jobs, from waits and from isolated calls, on
/// pools of one worker and of more. None is lost, whatever comes after which.
#[test]
fn no_job_is_lost_in_random_order() {
    const JOBS: usize = if cfg!(miri) { 60 } else { 20_000 };
    for num_threads in [1, 2, 5] {
        let pool = pool(num_threads);
        let runs = Arc::new(AtomicUsize::new(0));
        let mut state = 0x9E37_79B9_u64 + num_threads as u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..JOBS {
            let (kind, form, runs) = (random(3) as usize, random(6), runs.clone());
            let count = move || _ = runs.fetch_add(1, SeqCst);
            match form {
                0 => pool.install(|| spawn_here(kind, count)),
                1 => pool.spawn_urgent(move || spawn_here(kind, count)),
                2 => pool.spawn(move || {
                    pool_std::scope(|scope| scope.spawn(move |_| spawn_here(kind, count)));
                }),
                3 => drop(pool.spawn_handle_with(PRIORITIES[kind], count)),
                4 => pool.install(|| {
                    pool_std::with_isolation(Isolation::Nothing, || spawn_here(kind, count))
                }),
                _ => spawn(&pool, kind, count),
            }
        }
        pool.wait_idle().unwrap();
        assert_eq!(runs.load(SeqCst), JOBS);
        pool.shutdown().unwrap();
    }
}

/// Spawns a job of a kind on the current pool.
fn spawn_here(kind: usize, job: impl FnOnce() + Send + 'static) {
    match kind {
        0 => pool_std::spawn_urgent(job),
        1 => pool_std::spawn(job),
        _ => pool_std::spawn_background(job),
    }
}

#[test]
fn each_kind_wakes_a_sleeping_pool() {
    let pool = pool(2);
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        for kind in 0..KINDS {
            wait_for_asleep(&pool, 2);
            let (sender, receiver) = mpsc::channel();
            spawn(&pool, kind, move || sender.send(kind).unwrap());
            assert_eq!(receiver.recv(), Ok(kind));
        }
    }
}

/// Begins jobs each of which spawns the next one until they are to stop. They keep the workers'
/// own deques busy.
fn spawn_chains(pool: &ThreadPool) -> Arc<AtomicBool> {
    fn next(stop: Arc<AtomicBool>, began: mpsc::SyncSender<()>) {
        // The channel is full soon.
        _ = began.try_send(());
        if !stop.load(SeqCst) {
            pool_std::spawn(move || next(stop, began));
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::sync_channel(100);
    for _ in 0..4 {
        let (stop, began) = (stop.clone(), sender.clone());
        pool.spawn(move || next(stop, began));
    }
    assert_eq!(receiver.iter().take(100).count(), 100);
    stop
}

#[test]
fn jobs_that_spawn_each_other_do_not_starve_background_jobs() {
    let pool = pool(2);
    let stop = spawn_chains(&pool);
    let (sender, receiver) = mpsc::channel();
    for kind in 0..KINDS {
        let sender = sender.clone();
        spawn(&pool, kind, move || sender.send(kind).unwrap());
    }
    let mut kinds: Vec<_> = receiver.iter().take(KINDS).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [0, 1, 2]);
    stop.store(true, SeqCst);
    pool.shutdown().unwrap();
}

/// Reproduces a bug: a worker looked at its own deque before the jobs of broadcasts at fair looks,
/// too, so that a broadcast never ended.
#[test]
fn jobs_that_spawn_each_other_do_not_starve_broadcasts() {
    for num_threads in [1, 2] {
        let pool = pool(num_threads);
        let stop = spawn_chains(&pool);
        let workers = pool.broadcast(|context| context.index());
        assert!(workers.into_iter().eq(0..num_threads));
        stop.store(true, SeqCst);
        pool.shutdown().unwrap();
    }
}

/// Urgent jobs that spawn the next one, as many as there are workers and more.
#[test]
fn urgent_jobs_do_not_starve_others() {
    fn next(stop: Arc<AtomicBool>) {
        if !stop.load(SeqCst) {
            pool_std::spawn_urgent(move || next(stop));
        }
    }
    let pool = pool(2);
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..8 {
        let stop = stop.clone();
        pool.spawn_urgent(move || next(stop));
    }
    // The call comes by the injector, and its scope waits among urgent jobs.
    let sum = AtomicUsize::new(0);
    pool.install(|| {
        pool_std::scope(|scope| {
            for number in 0..100 {
                let sum = &sum;
                scope.spawn(move |_| _ = sum.fetch_add(number, SeqCst));
            }
        });
    });
    assert_eq!(sum.into_inner(), 4950);
    let (sender, receiver) = mpsc::channel();
    pool.spawn_background(move || sender.send(()).unwrap());
    assert_eq!(receiver.recv(), Ok(()));
    stop.store(true, SeqCst);
    pool.shutdown().unwrap();
}

#[test]
fn the_end_of_a_pool_waits_for_each_kind() {
    let pool = pool(1);
    let runs = Arc::new(AtomicUsize::new(0));
    for number in 0..30 {
        let runs = runs.clone();
        spawn(&pool, number % KINDS, move || {
            thread::yield_now();
            runs.fetch_add(1, SeqCst);
        });
    }
    pool.shutdown().unwrap();
    assert_eq!(runs.load(SeqCst), 30);
}

#[test]
fn a_panic_of_each_kind_goes_to_the_handler() {
    let panics = Arc::new(AtomicUsize::new(0));
    let count = panics.clone();
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.panic_handler(move |_| _ = count.fetch_add(1, SeqCst));
    let pool = builder.build().unwrap();
    for kind in 0..KINDS {
        spawn(&pool, kind, || panic!("for the handler"));
    }
    pool.wait_idle().unwrap();
    assert_eq!(panics.load(SeqCst), KINDS);
}

#[cfg(feature = "metrics")]
#[test]
fn metrics_count_the_jobs_of_each_kind() {
    let pool = pool(1);
    let gate = Arc::new(Gate::default());
    pool.spawn({
        let gate = gate.clone();
        move || gate.wait("gate")
    });
    gate.wait_for_blocked(1);
    (0..KINDS).for_each(|kind| spawn(&pool, kind, || ()));
    assert_eq!(pool.metrics().injector_len(), Some(KINDS));
    gate.open();
    wait_for(|| pool.metrics().injector_is_empty());
}
