//! One value per worker.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

use rayon_core::{ThreadPool, ThreadPoolBuilder, WorkerLocal, join};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

fn refuses(local: &WorkerLocal<Cell<usize>>) {
    let panic = catch_unwind(AssertUnwindSafe(|| local.get())).unwrap_err();
    assert_eq!(
        panic.downcast_ref::<&str>(),
        Some(&"WorkerLocal can only be used on the thread pool it was created on")
    );
}

#[test]
fn each_worker_sees_its_own() {
    let pool = pool(3);
    let local = pool.install(|| WorkerLocal::new(|index| Cell::new(index * 10)));
    pool.broadcast(|context| {
        assert_eq!(local.get(), context.index() * 10);
        local.set(local.get() + 1);
    });
    assert_eq!(pool.broadcast(|_| local.get()), [1, 11, 21]);
    assert_eq!(local.into_inner(), [1, 11, 21].map(Cell::new));
}

// Cells, without a lock: a count would be lost if two threads shared one.
#[test]
fn joins_count_what_they_do() {
    fn tree(depth: u32, count: &WorkerLocal<Cell<usize>>) {
        count.set(count.get() + 1);
        if depth > 0 {
            join(|| tree(depth - 1, count), || tree(depth - 1, count));
        }
    }
    let count = pool(4).install(|| {
        let count = WorkerLocal::new(|_| Cell::new(0));
        tree(14, &count);
        count
    });
    let total: usize = count.into_inner().iter().map(Cell::get).sum();
    assert_eq!(total, (1 << 15) - 1);
}

#[test]
fn the_elements_of_all_workers() {
    let pool = pool(3);
    let local = pool.install(|| WorkerLocal::new(|index| vec![index; index]));
    assert_eq!(local.join(), [1, 2, 2]);
}

#[test]
fn no_other_thread_sees_any() {
    let pool = pool(2);
    let local = pool.install(|| WorkerLocal::new(Cell::new));
    refuses(&local);
    self::pool(2).install(|| refuses(&local));
    std::thread::scope(|scope| {
        scope.spawn(|| refuses(&local));
    });
}

#[test]
fn a_thread_outside_creates_them_for_the_global_pool() {
    let local = WorkerLocal::new(Cell::new);
    let seen = rayon_core::broadcast(|_| local.get());
    assert_eq!(seen.len(), rayon_core::current_num_threads());
    assert!(seen.into_iter().eq(0..rayon_core::current_num_threads()));
    pool(1).install(|| refuses(&local));
}

#[test]
fn what_it_prints_is_the_pool() {
    let text = pool(1).install(|| format!("{:?}", WorkerLocal::new(|index| index)));
    assert!(text.starts_with("WorkerLocal { registry: "), "{text}");
}
