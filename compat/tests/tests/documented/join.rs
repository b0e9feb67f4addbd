//! What rayon-core documents of `join` and `join_context`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use rayon_core::{ThreadPool, ThreadPoolBuilder, join, join_context};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

fn payload(result: thread::Result<()>) -> &'static str {
    result.unwrap_err().downcast_ref::<&str>().unwrap()
}

fn sort<T: PartialOrd + Send>(values: &mut [T]) {
    if values.len() <= 1 {
        return;
    }
    let last = values.len() - 1;
    let mut middle = 0;
    for index in 0..last {
        if values[index] <= values[last] {
            values.swap(index, middle);
            middle += 1;
        }
    }
    values.swap(middle, last);
    let (low, high) = values.split_at_mut(middle);
    join(|| sort(low), || sort(&mut high[1..]));
}

#[test]
fn smoke() {
    let mut values: Vec<u32> = (0..6 * 1024).map(|n| n * 7919 % 6151).collect();
    sort(&mut values);
    assert!(values.is_sorted());
    assert_eq!(join(|| 22, || "text"), (22, "text"));
}

#[test]
fn one_worker_runs_the_first_closure_first() {
    let order = Mutex::new(Vec::new());
    let note = |what| order.lock().unwrap().push(what);
    pool(1).join(|| join(|| note(1), || note(2)), || note(3));
    assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn nothing_migrates_on_one_worker() {
    let both = pool(1).install(|| join_context(|a| a.migrated(), |b| b.migrated()));
    assert_eq!(both, (false, false));
}

#[test]
fn what_comes_from_outside_has_migrated() {
    // Not in a pool: the global one runs both, on its threads or on this one.
    let caller = thread::current().id();
    let moved = || thread::current().id() != caller;
    let (a, b) = join_context(|a| (a.migrated(), moved()), |b| (b.migrated(), moved()));
    assert!(a.0 == a.1 && b.0 == b.1, "{a:?} {b:?}");
}

#[test]
fn what_is_stolen_has_migrated() {
    let started = AtomicBool::new(false);
    pool(2).install(|| {
        join_context(
            |a| {
                assert!(!a.migrated());
                while !started.load(SeqCst) {
                    std::hint::spin_loop();
                }
            },
            |b| {
                started.store(true, SeqCst);
                assert!(b.migrated());
            },
        )
    });
}

// The owner gives no sign of life meanwhile; jobs under the stolen one are stealable too.
#[test]
fn jobs_are_stealable_under_an_endless_leaf() {
    let left = AtomicUsize::new(100);
    let pool = pool(2);
    pool.scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|_| {
                left.fetch_sub(1, SeqCst);
            });
        }
        while left.load(SeqCst) > 0 {
            std::hint::spin_loop();
        }
    });
}

#[test]
fn a_panic_of_either_closure_is_continued() {
    let pool = pool(2);
    for _ in 0..100 {
        let first = catch_unwind(AssertUnwindSafe(|| {
            pool.join(|| panic!("first"), || ());
        }));
        assert_eq!(payload(first), "first");
        let second = catch_unwind(AssertUnwindSafe(|| {
            pool.join(|| (), || panic!("second"));
        }));
        assert_eq!(payload(second), "second");
        let both = catch_unwind(AssertUnwindSafe(|| {
            pool.join(|| panic!("first"), || panic!("second"));
        }));
        assert_eq!(payload(both), "first");
    }
}

// chili's bug: the first closure unwinds while the second one is queued in the same frame.
#[test]
fn a_panic_of_the_first_closure_waits_for_the_second() {
    let pool = pool(2);
    for _ in 0..100 {
        let ran = AtomicUsize::new(0);
        let borrowed = [1, 2, 3];
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                join(
                    || panic!("first"),
                    || ran.store(borrowed.iter().sum(), SeqCst),
                );
            })
        }));
        assert_eq!(payload(result), "first");
        assert_eq!(ran.load(SeqCst), 6, "a queued job is run all the same");
    }
}

// rayon#10, #109: a panic of a job that was stolen, or that a stolen job spawned, must still
// release the thread that waits.
#[test]
fn a_panic_of_a_stolen_job_releases_its_waiter() {
    for _ in 0..20 {
        // A new one each time: that no sleeping worker overlooks the second half is promised for
        // the first join of a worker only.
        let pool = pool(2);
        let stolen = AtomicBool::new(false);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                join(
                    || {
                        while !stolen.load(SeqCst) {
                            thread::yield_now();
                        }
                    },
                    || {
                        stolen.store(true, SeqCst);
                        rayon_core::scope(|scope| {
                            scope.spawn(|scope| scope.spawn(|_| panic!("indirect")));
                        });
                    },
                );
            });
        }));
        assert_eq!(payload(result), "indirect");
        assert_eq!(pool.join(|| 1, || 2), (1, 2), "the workers live");
    }
}

/// What a worker does while it waits (rayon#592, #1205): any job of its pool, so a lock must not
/// be held across a join.
#[test]
fn a_waiting_worker_runs_other_jobs_of_its_pool() {
    let pool = pool(2);
    let by_waiter = AtomicUsize::new(0);
    pool.scope(|scope| {
        let waiter = rayon_core::current_thread_index();
        let by_waiter = &by_waiter;
        let stolen = AtomicBool::new(false);
        join(
            || {
                while !stolen.load(SeqCst) {
                    thread::yield_now();
                }
                scope.spawn(move |_| {
                    assert_eq!(rayon_core::current_thread_index(), waiter);
                    by_waiter.fetch_add(1, SeqCst);
                });
            },
            || {
                stolen.store(true, SeqCst);
                while by_waiter.load(SeqCst) == 0 {
                    std::hint::spin_loop();
                }
            },
        );
    });
    assert_eq!(by_waiter.load(SeqCst), 1);
}

#[test]
fn closures_need_not_return_the_same() {
    let (a, b) = join::<_, _, u8, String>(|| 1, || "two".to_owned());
    assert_eq!((a, &*b), (1, "two"));
    let join = || join_context::<_, _, bool, u8>(|context| context.migrated(), |_| 2);
    assert_eq!(pool(1).install(join), (false, 2));
}
