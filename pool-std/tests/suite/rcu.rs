//! Values that are read without locks, and replaced as a whole.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::support::pool_with_handler;
use pool_std::{
    ThreadPool, ThreadPoolBuilder,
    progress::{RcuCell, RcuRef},
};

mod random;

const LIMIT: Duration = Duration::from_secs(120);

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// A number that is kept twice, and counted while it lives.
struct Value {
    number: usize,
    again: usize,
    alive: Arc<AtomicUsize>,
}

impl Value {
    fn new(number: usize, alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        Self {
            number,
            again: number,
            alive: alive.clone(),
        }
    }

    fn check(&self) -> usize {
        assert_eq!(self.number, self.again, "the value is whole, and lives");
        self.number
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.again = usize::MAX;
        self.alive.fetch_sub(1, SeqCst);
    }
}

/// Waits until all values are dropped.
fn wait_for_none(alive: &AtomicUsize) {
    let mut rounds = 0..LIMIT.as_millis();
    while alive.load(SeqCst) > 0 {
        rounds.next().expect("each value is dropped");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn each_value_is_dropped_once_and_none_while_it_is_read() {
    const ROUNDS: usize = if cfg!(miri) { 4 } else { 5_000 };
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = pool(2);
    let cell = RcuCell::new(pool.progress(), Value::new(0, &alive));
    let read = || (0..ROUNDS).for_each(|_| _ = cell.read().check());
    thread::scope(|threads| {
        threads.spawn(read);
        threads.spawn(|| (0..ROUNDS).for_each(|it| cell.replace(Value::new(it, &alive))));
        let read_in_job = || (0..ROUNDS).for_each(|_| _ = cell.with(Value::check));
        pool.join(read_in_job, || {
            for _ in 0..ROUNDS {
                cell.update(|value| Value::new(value.check() / 2, &alive));
            }
        });
    });
    drop(cell);
    wait_for_none(&alive);
}

#[test]
fn no_update_is_lost() {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 2_000 };
    let pool = pool(2);
    let cell = RcuCell::new(pool.progress(), 0);
    let count = || (0..ROUNDS).for_each(|_| cell.update(|count| count + 1));
    thread::scope(|threads| {
        threads.spawn(count);
        pool.join(count, count);
    });
    assert_eq!(*cell.read(), 3 * ROUNDS);
}

#[test]
fn a_reference_keeps_its_value_and_no_longer() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = pool(1);
    let cell = RcuCell::new(pool.progress(), Value::new(1, &alive));
    let first = cell.read();
    cell.replace(Value::new(2, &alive));
    pool.install(|| assert_eq!(cell.read().check(), 2));
    assert_eq!(first.check(), 1);
    drop(first);
    drop(cell);
    wait_for_none(&alive);
}

#[test]
fn a_cell_outlives_its_pool() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = pool(1);
    let cell = RcuCell::new(pool.progress(), Value::new(1, &alive));
    pool.shutdown().unwrap();
    let first = cell.read();
    cell.replace(Value::new(2, &alive));
    assert_eq!((first.check(), cell.read().check()), (1, 2));
    drop(first);
    cell.update(|value| Value::new(value.check() + 1, &alive));
    assert_eq!(cell.read().check(), 3);
    drop(cell);
    wait_for_none(&alive);
}

/// No worker is left that would drop the value when the reference ends. So a call that replaces a
/// value of another cell does.
#[test]
fn a_replacement_drops_old_values_of_other_cells() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = pool(1);
    let cell = RcuCell::new(pool.progress(), Value::new(1, &alive));
    let other = RcuCell::new(pool.progress(), 1);
    pool.shutdown().unwrap();
    let first = cell.read();
    cell.replace(Value::new(2, &alive));
    drop(first);
    assert_eq!(alive.load(SeqCst), 2, "no thread has dropped it yet");
    other.replace(2);
    assert_eq!(alive.load(SeqCst), 1);
    assert_eq!(cell.read().check(), 2);
}

/// A reference ends in the middle of its drop. What it has led to is freed there, before the drop
/// returns. So no function that takes the reference may have a borrow of the value for as long as
/// it runs, which Miri would notice.
#[test]
fn a_value_is_freed_within_the_drop_of_its_last_reference() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = pool(1);
    let cell = RcuCell::new(pool.progress(), Value::new(1, &alive));
    let progress = pool.progress();
    pool.shutdown().unwrap();
    let first = cell.read();
    cell.replace(Value::new(2, &alive));
    let inside = progress.clone();
    // The drop of the guard calls this. No worker is left, so this thread runs what is due.
    progress.wakeup(progress.later(), move || inside.defer(|| ()));
    let number = |reference: RcuRef<'_, Value>| reference.check();
    assert_eq!(number(first), 1);
    assert_eq!(alive.load(SeqCst), 1, "it was freed");
    assert_eq!(cell.read().check(), 2);
}

#[test]
fn an_update_that_panics_changes_nothing() {
    let pool = pool(1);
    let cell = RcuCell::new(pool.progress(), 1);
    let update = AssertUnwindSafe(|| cell.update(|_| panic!("no value")));
    assert!(catch_unwind(update).is_err());
    cell.update(|value| value + 1);
    assert_eq!(*cell.read(), 2);
}

#[test]
fn an_update_within_an_update_comes_first() {
    let pool = pool(1);
    let cell = RcuCell::new(pool.progress(), vec![0]);
    let mut calls = 0;
    cell.update(|values| {
        calls += 1;
        if calls == 1 {
            cell.update(|values| [&values[..], &[1]].concat());
        }
        [&values[..], &[2]].concat()
    });
    assert_eq!((calls, &**cell.read()), (2, &[0, 1, 2][..]));
}

#[test]
fn a_panic_in_the_drop_of_a_value_goes_to_the_handler() {
    struct Panics(bool);
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(!self.0, "as told");
        }
    }

    let (pool, panics) = pool_with_handler();
    let cell = RcuCell::new(pool.progress(), Panics(true));
    pool.install(|| cell.replace(Panics(false)));
    panics.recv_timeout(LIMIT).unwrap();
    cell.replace(Panics(false));
    assert!(!cell.read().0);
}

/// A closure of `with` that waits in a job, and whose worker runs others meanwhile.
#[test]
fn a_closure_keeps_its_value_while_it_waits() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = pool(2);
    let cell = RcuCell::new(pool.progress(), Value::new(1, &alive));
    let replace = || (0..50).for_each(|_| cell.update(|it| Value::new(it.check() + 1, &alive)));
    let sum = pool.install(|| {
        cell.with(|first| {
            let (nested, ()) = pool_std::join(
                || {
                    cell.with(|second| {
                        pool_std::join(replace, replace);
                        second.check()
                    })
                },
                replace,
            );
            assert!(nested >= 1);
            first.check() + cell.with(Value::check)
        })
    });
    assert_eq!(sum, 1 + 151);
    drop(cell);
    wait_for_none(&alive);
}

/// The others sleep, and the worker whose closure was in the way goes on with its job.
#[test]
fn the_end_of_a_closure_wakes_a_worker_for_what_it_held_up() {
    let pool = pool(2);
    let progress = pool.progress();
    let cell = RcuCell::new(progress.clone(), 1);
    pool.install(|| {
        let (sender, is_run) = mpsc::channel();
        cell.with(|_| {
            let outside = || progress.defer(move || sender.send(()).unwrap());
            thread::scope(|threads| _ = threads.spawn(outside));
            let early = is_run.recv_timeout(Duration::from_millis(20));
            assert!(early.is_err(), "the closure delays it");
        });
        is_run.recv_timeout(LIMIT).unwrap();
    });
}

#[test]
fn a_panic_ends_the_closure_that_reads() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = pool(1);
    let cell = RcuCell::new(pool.progress(), Value::new(1, &alive));
    let panics = || {
        let read = AssertUnwindSafe(|| cell.with(|value| assert_ne!(value.check(), 1, "as told")));
        catch_unwind(read).is_err()
    };
    assert!(panics());
    assert!(pool.install(panics));
    cell.replace(Value::new(2, &alive));
    drop(cell);
    wait_for_none(&alive);
}

/// In a closure of `block_in_place` the thread is not the worker, which another thread may be.
#[test]
fn a_blocked_thread_reads_beside_its_worker() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let cell = RcuCell::new(pool.progress(), Value::new(1, &alive));
    let seen = pool.install(|| {
        cell.with(|before| {
            let within = pool_std::block_in_place(|| {
                pool.install(|| cell.update(|it| Value::new(it.check() + 1, &alive)));
                cell.with(Value::check)
            });
            (before.check(), within, cell.with(Value::check))
        })
    });
    assert_eq!(seen, (1, 2, 2));
    drop(cell);
    wait_for_none(&alive);
}

/// A worker of one pool may read the cells of another one.
#[test]
fn a_closure_reads_on_a_worker_of_another_pool() {
    let alive = Arc::new(AtomicUsize::new(0));
    let pools = [pool(1), pool(1)];
    let cell = RcuCell::new(pools[0].progress(), Value::new(1, &alive));
    pools[1].install(|| {
        cell.with(|value| {
            pools[0].install(|| cell.replace(Value::new(2, &alive)));
            assert_eq!((value.check(), cell.with(Value::check)), (1, 2));
        });
    });
    drop(cell);
    wait_for_none(&alive);
}
