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

use pool_std::{
    ThreadPool, ThreadPoolBuilder,
    progress::{RcuCell, RcuRef},
};
use proptest::prelude::*;

const LIMIT: Duration = Duration::from_secs(if cfg!(miri) { 120 } else { 20 });

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
        pool.join(read, || {
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

    let (sender, panics) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |_| sender.send(()).unwrap())
        .build()
        .unwrap();
    let cell = RcuCell::new(pool.progress(), Panics(true));
    pool.install(|| cell.replace(Panics(false)));
    panics.recv_timeout(LIMIT).unwrap();
    cell.replace(Panics(false));
    assert!(!cell.read().0);
}

/// An operation of one thread.
#[derive(Debug, Clone)]
enum Operation {
    Read,
    DropReference(usize),
    Replace(usize),
    Update(usize),
    InPool(usize),
}

fn operation() -> impl Strategy<Value = Operation> {
    let number = || 0_usize..1_000;
    prop_oneof![
        Just(Operation::Read),
        (0_usize..4).prop_map(Operation::DropReference),
        number().prop_map(Operation::Replace),
        number().prop_map(Operation::Update),
        number().prop_map(Operation::InPool),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: if cfg!(miri) { 2 } else { 64 },
        ..ProptestConfig::default()
    })]

    #[test]
    fn references_show_what_they_did_whatever_comes_after(
        operations in proptest::collection::vec(operation(), 1..if cfg!(miri) { 8 } else { 60 }),
    ) {
        let alive = Arc::new(AtomicUsize::new(0));
        let pool = pool(1);
        let cell = RcuCell::new(pool.progress(), Value::new(0, &alive));
        let mut current = 0;
        let mut references: Vec<(RcuRef<'_, Value>, usize)> = Vec::new();
        for operation in operations {
            match operation {
                Operation::Read => references.push((cell.read(), current)),
                Operation::DropReference(place) if place < references.len() => {
                    references.swap_remove(place);
                }
                Operation::DropReference(_) => {}
                Operation::Replace(number) => {
                    cell.replace(Value::new(number, &alive));
                    current = number;
                }
                Operation::Update(number) => {
                    cell.update(|value| Value::new(value.check() + number, &alive));
                    current += number;
                }
                Operation::InPool(number) => {
                    pool.install(|| cell.replace(Value::new(number, &alive)));
                    current = number;
                }
            }
            prop_assert_eq!(cell.read().check(), current);
            for (reference, number) in &references {
                prop_assert_eq!(reference.check(), *number);
            }
        }
        drop(references);
        drop(cell);
        wait_for_none(&alive);
    }
}
