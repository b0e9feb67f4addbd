//! One value for each worker.

use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use pool_std::{SleepKind, ThreadPool, ThreadPoolBuilder, WorkerLocal, WorkerLocalError};

use super::support::wait_for_asleep;

fn pool(num_threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build().unwrap()
}

#[test]
fn each_worker_has_its_own_value() {
    let pool = pool(3);
    let mut local = pool.worker_local(|index| Cell::new(index * 10));
    let values = pool.broadcast(|context| {
        local.with(|value| {
            value.set(value.get() + context.index());
            value.get()
        })
    });
    assert_eq!(values, [0, 11, 22]);
    assert!(local.iter_mut().map(Cell::get_mut).eq(&mut [0, 11, 22]));
    assert!(local.into_values().map(Cell::into_inner).eq([0, 11, 22]));
}

#[test]
fn the_current_pool_is_that_of_the_worker() {
    let pool = pool(3);
    let local = pool.install(|| WorkerLocal::new(|index| index));
    assert_eq!(local.into_values().len(), 3);
}

/// Unsynchronized counts of all jobs together, under stealing.
#[test]
fn stress() {
    const JOBS: usize = if cfg!(miri) { 200 } else { 100_000 };
    fn tree(jobs: usize, local: &WorkerLocal<Cell<usize>>) {
        match jobs {
            0 => {}
            1 => local.with(|count| count.set(count.get() + 1)),
            _ => _ = pool_std::join(|| tree(jobs / 2, local), || tree(jobs - jobs / 2, local)),
        }
    }
    let pool = pool(4);
    let mut local = pool.worker_local(|_| Cell::new(0));
    // As a worker's job, and as a guest.
    pool.install(|| tree(JOBS, &local));
    pool.call(|| tree(JOBS, &local));
    let sum: usize = local.iter_mut().map(|count| count.get()).sum();
    assert_eq!(sum, 2 * JOBS);
}

#[test]
fn other_threads_are_refused() {
    let (own, other) = (pool(1), pool(1));
    let local = own.worker_local(|index| index);
    let not_a_worker = Err(WorkerLocalError::NotAWorker);
    assert_eq!(local.try_with(|_| ()), not_a_worker);
    assert_eq!(other.install(|| local.try_with(|_| ())), not_a_worker);
    assert_eq!(own.in_place_scope(|_| local.try_with(|_| ())), not_a_worker);
    assert_eq!(own.install(|| local.try_with(|&value| value)), Ok(0));
    let panic = catch_unwind(AssertUnwindSafe(|| local.with(|_| ())));
    let message = panic.unwrap_err();
    assert!(
        message
            .downcast_ref::<String>()
            .unwrap()
            .contains("not a worker")
    );
}

#[test]
fn a_guest_has_the_value_of_its_worker() {
    // The classic protocol lends no seats.
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.sleep(SleepKind::Jec).build().unwrap();
    let local = pool.worker_local(|_| Cell::new(thread::current().id()));
    for _ in 0..if cfg!(miri) { 3 } else { 10_000 } {
        wait_for_asleep(&pool, 1);
        let caller = thread::current().id();
        let runs_on = pool.call(|| {
            local.with(|last| last.set(thread::current().id()));
            thread::current().id()
        });
        let seen = pool.install(|| local.with(Cell::get));
        assert_eq!(seen, runs_on);
        if runs_on == caller {
            return;
        }
    }
    if cfg!(target_os = "linux") {
        panic!("the caller was never a guest");
    }
}

/// While the closure that has the value blocks, another thread is the worker.
#[test]
fn a_value_is_lent_to_one_thread_at_a_time() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.max_blocking_threads(1).build().unwrap();
    let local = Arc::new(pool.worker_local(|_| RefCell::new(Vec::new())));
    pool.install(|| {
        local.with(|value| {
            let mut value = value.borrow_mut();
            value.push(1);
            let (sender, receiver) = mpsc::channel();
            let shared = local.clone();
            pool_std::spawn(move || sender.send(shared.try_with(|_| ())).unwrap());
            let shared = local.clone();
            let answer = pool_std::block_in_place(move || {
                assert_eq!(shared.try_with(|_| ()), Err(WorkerLocalError::NotAWorker));
                receiver.recv().unwrap()
            });
            assert_eq!(answer, Err(WorkerLocalError::Lent));
            value.push(2);
        });
        // The closure has ended.
        let (sender, receiver) = mpsc::channel();
        let shared = local.clone();
        pool_std::spawn(move || {
            shared.with(|value| value.borrow_mut().push(3));
            sender.send(()).unwrap();
        });
        pool_std::block_in_place(move || receiver.recv().unwrap());
    });
    let local = Arc::into_inner(local).unwrap();
    assert!(
        local
            .into_values()
            .map(RefCell::into_inner)
            .eq([vec![1, 2, 3]])
    );
}

/// The only worker runs other jobs in a closure that waits. They are lent the same value.
#[test]
fn a_wait_in_a_closure_lends_the_value_again() {
    let pool = pool(1);
    let local = pool.worker_local(|_| Cell::new(0));
    pool.install(|| {
        local.with(|outer| {
            outer.set(1);
            pool_std::scope(|scope| {
                scope.spawn(|_| local.with(|inner| inner.set(inner.get() + 10)));
            });
            assert_eq!(outer.get(), 11);
        });
    });
}

#[test]
fn a_closure_that_panics_gives_the_value_back() {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.max_blocking_threads(1).build().unwrap();
    let local = pool.worker_local(|_| Cell::new(7));
    let call = || pool.install(|| local.with(|_| panic!("in the closure")));
    let panic = catch_unwind(AssertUnwindSafe(call)).map(|(): ()| ());
    assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"in the closure"));
    let lent = pool.install(|| pool_std::scope(|_| local.try_with(Cell::get)));
    assert_eq!(lent, Ok(7));
}

#[test]
fn destructors() {
    struct Counted<'c>(&'c AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let (pool, drops) = (pool(3), AtomicUsize::new(0));
    drop(pool.worker_local(|_| Counted(&drops)));
    assert_eq!(drops.load(SeqCst), 3);
    let mut values = pool.worker_local(|_| Counted(&drops)).into_values();
    drop(values.next());
    assert_eq!(drops.load(SeqCst), 4);
    drop(values);
    assert_eq!(drops.load(SeqCst), 6);
    // The third value is never made.
    let make = || {
        pool.worker_local(|index| {
            assert!(index < 2, "no value");
            Counted(&drops)
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(make)).is_err());
    assert_eq!(drops.load(SeqCst), 8);
}
