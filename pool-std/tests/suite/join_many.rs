//! Joins of more than two closures, and of closures that are given their worker.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use pool_std::{ThreadPool, ThreadPoolBuilder, Worker, join_n, with_worker};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().expect("a small pool")
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic.downcast_ref::<&str>().expect("a text")
}

#[test]
fn a_macro_for_any_number() {
    pool(2).install(|| {
        pool_std::join!();
        assert_eq!(pool_std::join!(|| 1), (1,));
        assert_eq!(pool_std::join!(|| 1, || "two"), (1, "two"));
        let text = String::from("owned");
        let (a, b, c, d, e) = pool_std::join!(|| 1, || 2_u8, move || text, || [4; 4], || Some(5),);
        assert_eq!((a, b, &*c, d, e), (1, 2, "owned", [4; 4], Some(5)));
    });
}

#[test]
fn an_array_in_its_order() {
    pool(2).install(|| {
        let none: [i32; 0] = join_n([(); 0].map(|()| || 0));
        assert_eq!(none.len(), 0);
        assert_eq!(join_n([7].map(|n| move || n)), [7]);
        let numbers: [usize; 1000] = std::array::from_fn(|n| n);
        assert_eq!(
            join_n(numbers.map(|n| move || n * n)),
            numbers.map(|n| n * n)
        );
    });
}

// All of them run in parallel: none returns before all have started.
#[test]
fn many_at_the_same_time() {
    let barrier = Barrier::new(4);
    let meet = || {
        // A sleeping worker may overlook the second half of a join, but not this job, and whatever
        // was queued before it is stolen first.
        pool_std::spawn(|| ());
        barrier.wait();
    };
    pool(4).install(|| {
        join_n([meet; 4]);
        pool_std::join!(meet, meet, meet, meet);
    });
}

#[test]
fn the_first_panic_counts_and_the_others_end() {
    let ended = AtomicUsize::new(0);
    let run = |number: usize| {
        ended.fetch_add(1, SeqCst);
        match number {
            2 => panic!("two"),
            3 => panic!("three"),
            _ => number,
        }
    };
    for threads in [1, 2] {
        ended.store(0, SeqCst);
        let many = || join_n([1, 2, 3, 4].map(|number| move || run(number)));
        let panic = catch_unwind(AssertUnwindSafe(|| pool(threads).install(many))).unwrap_err();
        assert_eq!(message(&*panic), "two");
        assert!(ended.load(SeqCst) >= 2);

        let three = || pool_std::join!(|| run(1), || run(3), || run(2));
        let panic = catch_unwind(AssertUnwindSafe(|| pool(threads).install(three))).unwrap_err();
        assert_eq!(message(&*panic), "three");
    }
}

fn leaves(worker: Worker<'_>, depth: u32, on: &[AtomicUsize]) -> usize {
    assert_eq!(Some(worker.index()), pool_std::current_thread_index());
    on[worker.index()].fetch_add(1, SeqCst);
    if depth == 0 {
        return 1;
    }
    let (a, b) = worker.join(
        |worker| leaves(worker, depth - 1, on),
        |worker| leaves(worker, depth - 1, on),
    );
    a + b
}

#[test]
fn closures_are_given_the_worker_they_run_on() {
    for threads in [1, 3] {
        let on = [const { AtomicUsize::new(0) }; 3];
        let pool = pool(threads);
        assert_eq!(pool.install_with(|worker| leaves(worker, 12, &on)), 1 << 12);
        let calls: usize = on.iter().map(|count| count.load(SeqCst)).sum();
        assert_eq!(calls, (2 << 12) - 1);
    }
}

#[test]
fn both_workers_meet() {
    let barrier = Barrier::new(2);
    let meet = |worker: Worker<'_>| {
        barrier.wait();
        worker.index()
    };
    let (a, b) = pool(2).install_with(|worker| worker.join(meet, meet));
    assert_ne!(a, b);
}

#[test]
fn without_a_pool_it_is_the_global_one() {
    let index = with_worker(|worker| {
        assert!(pool_std::current_thread_index().is_some());
        worker.index()
    });
    assert!(index < pool_std::current_num_threads());
    assert_eq!(pool_std::current_thread_index(), None);
}

#[test]
fn a_panic_passes_through_a_worker() {
    let pool = pool(2);
    let join = |worker: Worker<'_>| worker.join(|_| panic!("first"), |_| panic!("second"));
    let panic = catch_unwind(AssertUnwindSafe(|| pool.install_with(join))).unwrap_err();
    assert_eq!(message(&*panic), "first");
    assert_eq!(pool.install(|| 1), 1, "the pool goes on");
}
