//! Thread progress of a pool.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::support::{pool_with_handler, wait_for_asleep};
use pool_std::{
    IdlePolicy, SleepKind, ThreadPool, ThreadPoolBuilder,
    progress::{Progress, Reclaimable},
};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .build()
        .unwrap()
}

/// A wait on top of a closure that reads would never end, also in a job that the closure waits for.
/// A moment that is reached is none to wait for, and neither are those of other pools.
#[test]
fn a_closure_that_reads_does_not_wait_for_itself() {
    let (pool, other) = (pool(1), pool(1));
    let progress = pool.progress();
    let waits = || {
        let wait = || progress.wait_for(progress.later());
        catch_unwind(AssertUnwindSafe(wait)).is_err()
    };
    let reached = progress.later();
    progress.wait_for(reached);
    pool.install(|| {
        progress.while_reading(|_| {
            assert!(waits());
            assert_eq!(pool_std::join(waits, waits), (true, true));
            progress.wait_for(reached);
            other.progress().wait_for(other.progress().later());
        });
        assert!(!waits());
    });
    assert!(!waits());
}

/// Moments of another pool are refused, which tells pools apart.
#[test]
fn current_progress_is_that_of_the_workers_or_the_global_pool() {
    let pool = pool(1);
    let (progress, own) = (pool.progress(), pool.install(Progress::current));
    own.wait_for(progress.later());
    let global = Progress::current();
    assert!(catch_unwind(AssertUnwindSafe(|| global.has_reached(progress.later()))).is_err());
    pool_std::join(
        || Progress::current().wait_for(global.later()),
        || global.wait_for(Progress::current().later()),
    );
    // The threads of the global pool have been started, and run what is deferred.
    let (sender, receiver) = mpsc::channel();
    Progress::current().defer(move || sender.send(()).unwrap());
    receiver.recv().unwrap();
}

// The pool drops what is retired, in a job or outside, without a further call, even when all sleep.
#[test]
fn what_is_retired_is_dropped_in_an_idle_pool() {
    struct Tells(mpsc::Sender<()>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let pool = pool(2);
    let progress = pool.progress();
    let (sender, receiver) = mpsc::channel();
    let retire = || {
        let value = Box::into_raw(Box::new(Reclaimable::new(Tells(sender.clone()))));
        // SAFETY: 1. it comes from a box; 2. no thread has seen it.
        unsafe { progress.retire(value) };
    };
    for _ in 0..100 {
        retire();
        receiver.recv().unwrap();
        pool.install(retire);
        receiver.recv().unwrap();
        let guard = progress.read();
        retire();
        pool.install(retire);
        drop(guard);
        receiver.recv().unwrap();
        receiver.recv().unwrap();
    }
}

// A worker that waits runs the jobs without which it would wait in vain.
#[test]
fn a_worker_that_waits_for_a_moment_works() {
    for threads in [1, 2] {
        let pool = Arc::new(pool(threads));
        let (guard_is_taken, is_taken) = mpsc::channel();
        let (ends, ended) = mpsc::channel();
        let inside = pool.clone();
        pool.spawn(move || {
            let progress = inside.progress();
            let (job_runs, runs) = mpsc::channel::<()>();
            // Outside the pool: reads until a job has been run.
            let outside = progress.clone();
            let reader = thread::spawn(move || {
                let guard = outside.read();
                guard_is_taken.send(()).unwrap();
                runs.recv().unwrap();
                drop(guard);
            });
            is_taken.recv().unwrap();
            let value = progress.later();
            pool_std::spawn(move || job_runs.send(()).unwrap());
            progress.wait_for(value);
            reader.join().unwrap();
            ends.send(()).unwrap();
        });
        ended.recv().unwrap();
    }
}

// Even a worker that never searches for work runs what it has deferred.
#[test]
fn a_busy_worker_keeps_up_with_what_it_defers() {
    const COUNT: usize = 10_000;
    let pool = pool(1);
    let progress = pool.progress();
    let runs = Arc::new(AtomicUsize::new(0));
    let most = pool.install(|| {
        let pending = (0..COUNT).map(|scheduled| {
            let runs = runs.clone();
            let count = runs.clone();
            progress.defer(move || {
                count.fetch_add(1, SeqCst);
            });
            scheduled + 1 - runs.load(SeqCst)
        });
        pending.max().unwrap()
    });
    assert!(most <= 300, "{most} were kept");
}

// A panic of a deferred closure goes to the handler, on whatever thread the closure runs.
#[test]
fn panics_go_to_the_handler() {
    let (pool, receiver) = pool_with_handler();
    let progress = pool.progress();
    progress.defer(|| panic!("outside"));
    receiver.recv().unwrap();
    pool.install(|| progress.defer(|| panic!("in a job")));
    receiver.recv().unwrap();
}

/// Checks that a panic of a wake-up does not unwind through the thread that makes progress, whose
/// frames other threads may use: a worker that waits for a moment has its latch there.
#[test]
fn panics_of_wake_ups_go_to_the_handler() {
    let (pool, receiver) = pool_with_handler();
    let progress = pool.progress();
    let past = progress.later();
    progress.wait_for(past);
    progress.wakeup(past, || panic!("at once"));
    receiver.recv().unwrap();
    let guard = progress.read();
    progress.wakeup(progress.later(), || {
        panic!("by the thread that drops a guard")
    });
    drop(guard);
    receiver.recv().unwrap();
    pool.install(|| {
        let guard = progress.read();
        progress.wakeup(progress.later(), || panic!("by a worker"));
        drop(guard);
        progress.wait_for(progress.later());
    });
    receiver.recv().unwrap();
}

// A thread outside, or the last handle, runs what is still delayed when the pool ends.
#[test]
fn what_is_left_when_the_pool_ends_is_run() {
    let pool = pool(1);
    let progress = pool.progress();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = |runs: &Arc<AtomicUsize>| {
        let runs = runs.clone();
        move || {
            runs.fetch_add(1, SeqCst);
        }
    };
    let guard = progress.read();
    pool.install(|| progress.defer(count(&runs)));
    progress.defer(count(&runs));
    pool.shutdown().unwrap();
    assert_eq!(runs.load(SeqCst), 0);
    drop(guard);
    drop(progress);
    assert_eq!(runs.load(SeqCst), 2);
}

// A guard that is forgotten delays it until then. The handlers of the pool are called there, while
// the drop borrows the pool exclusively.
#[test]
fn the_drop_of_a_pool_runs_what_is_left_and_calls_its_handler() {
    let (pool, receiver) = pool_with_handler();
    let progress = pool.progress();
    std::mem::forget(progress.read());
    progress.defer(|| panic!("what was deferred"));
    progress.wakeup(progress.later(), || panic!("a wake-up"));
    drop((pool, progress));
    assert_eq!(receiver.iter().count(), 2);
}

// The pool of an adopted thread is never freed, so no last handle would run it.
#[test]
fn an_adopted_thread_runs_what_is_left_when_its_pool_ends() {
    let ends: [fn(ThreadPool); 3] = [
        |pool| pool.shutdown().unwrap(),
        |pool| pool.shutdown_timeout(Duration::MAX).unwrap(),
        |pool| {
            let handle = pool.handle();
            drop(pool);
            handle.wait_until_stopped().unwrap();
        },
    ];
    for (threads, end) in [1, 2].into_iter().flat_map(|it| ends.map(|end| (it, end))) {
        let test = move || {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            let pool = builder.use_current_thread().build().unwrap();
            let progress = pool.progress();
            let runs = Arc::new(AtomicUsize::new(0));
            let defer = || {
                let runs = runs.clone();
                progress.defer(move || _ = runs.fetch_add(1, SeqCst));
            };
            defer();
            pool.install(defer);
            let (again, inner) = (progress.clone(), runs.clone());
            progress.defer(move || again.defer(move || _ = inner.fetch_add(1, SeqCst)));
            end(pool);
            assert_eq!(runs.load(SeqCst), 3);
            // No worker waits any more, and none searches.
            defer();
            assert_eq!(runs.load(SeqCst), 4);
        };
        thread::spawn(test).join().unwrap();
    }
}

/// Defers a closure that does so again, until it has done so very often.
fn defer_again_and_again(progress: Progress, runs: Arc<AtomicUsize>) {
    let next = progress.clone();
    progress.defer(move || {
        if runs.fetch_add(1, SeqCst) < TOO_OFTEN {
            defer_again_and_again(next, runs);
        }
    });
}

const TOO_OFTEN: usize = 10_000;

#[test]
fn the_end_does_not_wait_for_closures_that_defer_themselves_again() {
    let test = || {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder.use_current_thread().build().unwrap();
        let (progress, runs) = (pool.progress(), Arc::new(AtomicUsize::new(0)));
        defer_again_and_again(progress.clone(), runs.clone());
        pool.shutdown().unwrap();
        assert!((1..TOO_OFTEN).contains(&runs.load(SeqCst)));
        defer_again_and_again(progress, runs.clone());
        assert!((2..TOO_OFTEN).contains(&runs.load(SeqCst)));
    };
    thread::spawn(test).join().unwrap();
}

// Jobs and threads outside the pool read and replace one value.
#[test]
fn stress() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 3_000 };
    let pool = pool(2);
    let progress = pool.progress();
    let node = |number: usize| Box::into_raw(Box::new(Reclaimable::new([number, !number])));
    let shared = AtomicPtr::new(node(0));
    let is_done = AtomicBool::new(false);
    let read = || {
        let _guard = progress.read();
        // SAFETY: it was in reach after the guard began.
        let [number, complement] = **unsafe { &*shared.load(SeqCst) };
        assert_eq!(number, !complement);
    };
    let replace = |number| {
        let old = shared.swap(node(number), SeqCst);
        // SAFETY: 1. it came from a box; 2. it is out of reach.
        unsafe { progress.retire(old) };
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(SeqCst) {
                read();
            }
        });
        scope.spawn(|| (0..ROUNDS).for_each(replace));
        for number in 0..ROUNDS {
            pool.join(|| replace(number), read);
        }
        is_done.store(true, SeqCst);
    });
    pool.shutdown().unwrap();
    drop(progress);
    // SAFETY: the last one, which no thread has retired.
    drop(unsafe { Box::from_raw(shared.into_inner()) });
}

/// Checks that no poster counts on a worker that runs what was deferred: that may take as long as a
/// job, and may wait for one.
#[test]
fn a_job_wakes_a_worker_while_another_one_runs_what_was_deferred() {
    /// A multiple of what the slowest machine needs.
    const LIMIT: Duration = Duration::from_secs(120);
    for &kind in SleepKind::ALL {
        let builder = ThreadPoolBuilder::new().num_threads(2).sleep(kind);
        let builder = builder.idle_policy(IdlePolicy::IMMEDIATE);
        // The handler makes the pool keep an account of which workers sleep. No job blocks.
        let pool = builder.deadlock_handler(|_| process::abort());
        let pool = pool.build().unwrap();
        let (sender, begun) = mpsc::channel();
        let (job, posted) = mpsc::channel();
        let (answer, has_run) = mpsc::channel();
        let operation = move || {
            sender.send(()).unwrap();
            answer.send(posted.recv_timeout(LIMIT).is_ok()).unwrap();
        };
        // A worker runs what it has deferred itself.
        pool.install(|| pool.progress().defer(operation));
        begun.recv().unwrap();
        wait_for_asleep(&pool, 1);
        pool.spawn(move || job.send(()).unwrap());
        assert!(has_run.recv().unwrap(), "{kind}: the job was run meanwhile");
        pool.shutdown().unwrap();
    }
}
