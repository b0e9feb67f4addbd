//! Fork and join as users see it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use pool_std::{IdlePolicy, ParkerKind, ThreadPool, ThreadPoolBuilder, join, join_context};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

fn quick_sort(numbers: &mut [u32]) {
    if numbers.len() < 2 {
        return;
    }
    let pivot = numbers.len() - 1;
    let mut middle = 0;
    for index in 0..pivot {
        if numbers[index] <= numbers[pivot] {
            numbers.swap(index, middle);
            middle += 1;
        }
    }
    numbers.swap(middle, pivot);
    let (left, right) = numbers.split_at_mut(middle);
    join(|| quick_sort(left), || quick_sort(&mut right[1..]));
}

fn shuffled(count: u32) -> Vec<u32> {
    (0..count)
        .map(|index| index.wrapping_mul(2_654_435_761))
        .collect()
}

#[test]
fn smoke() {
    let mut numbers = shuffled(50_000);
    let mut expected = numbers.clone();
    expected.sort_unstable();
    quick_sort(&mut numbers);
    assert_eq!(numbers, expected);
}

// Breadth first, a join never takes its second half back, but finds it in its turn, or waits for
// it. The first job that it finds runs on top of the stack, so even small numbers make a deep
// stack.
#[test]
fn breadth_first() {
    for threads in [1, 3] {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let pool = builder.breadth_first().build().unwrap();
        let mut numbers = shuffled(200);
        let mut expected = numbers.clone();
        expected.sort_unstable();
        pool.install(|| quick_sort(&mut numbers));
        assert_eq!(numbers, expected);

        let second = AtomicUsize::new(0);
        let panic = pool.install(|| {
            catch_unwind(AssertUnwindSafe(|| {
                join(|| panic!("the first half"), || second.fetch_add(1, SeqCst))
            }))
            .map(|((), _)| ())
        });
        assert_eq!(
            *panic.unwrap_err().downcast::<&str>().unwrap(),
            "the first half"
        );
        assert_eq!(
            second.load(SeqCst),
            1,
            "the caller of a join waits for both"
        );
    }
}

// Every parker with every policy: less spinning must expose no deadlock (onnxruntime#21545).
#[test]
fn every_parker_and_policy() {
    for parker in [ParkerKind::Condvar, ParkerKind::Futex] {
        for policy in [IdlePolicy::IMMEDIATE, IdlePolicy::DEFAULT] {
            let pool = ThreadPoolBuilder::new()
                .num_threads(3)
                .parker(parker)
                .idle_policy(policy)
                .build()
                .unwrap();
            for _ in 0..20 {
                let mut numbers = shuffled(2_000);
                pool.install(|| quick_sort(&mut numbers));
                assert!(numbers.is_sorted());
            }
            pool.shutdown().unwrap();
        }
    }
}

#[test]
fn panics() {
    let pool = pool(2);
    for (a_fails, b_fails, expected) in [(true, false, "a"), (false, true, "b"), (true, true, "a")]
    {
        let ended = AtomicUsize::new(0);
        let run = |name: &'static str, fails: bool| {
            ended.fetch_add(1, SeqCst);
            if fails {
                std::panic::panic_any(name);
            }
        };
        let panic = catch_unwind(AssertUnwindSafe(|| {
            pool.join(|| run("a", a_fails), || run("b", b_fails));
        }))
        .unwrap_err();
        assert_eq!(*panic.downcast::<&str>().unwrap(), expected);
        assert_eq!(ended.load(SeqCst), 2);
    }
    assert_eq!(pool.install(|| 1), 1, "the workers have survived");
}

#[test]
fn migrated_is_exact() {
    let pool = pool(2);
    let barrier = Barrier::new(2);
    let (a, b) = pool.install(|| {
        let meet = |migrated| {
            barrier.wait();
            migrated
        };
        join_context(
            |context| meet(context.migrated()),
            |context| meet(context.migrated()),
        )
    });
    assert_eq!((a, b), (false, true));

    let pool = self::pool(1);
    let flags = pool.install(|| join_context(|c| c.migrated(), |c| c.migrated()));
    assert_eq!(flags, (false, false), "no other worker is there to steal");
}

#[test]
fn depth_is_limited_by_the_stack_alone() {
    fn nest(depth: usize) -> usize {
        if depth == 0 {
            0
        } else {
            join(|| nest(depth - 1), || 1).0 + 1
        }
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .stack_size(64 << 20)
        .build()
        .unwrap();
    assert_eq!(pool.install(|| nest(10_000)), 10_000);
}

// chili#20 of the collection: the frame of a `join` that unwinds must not leave its job behind.
#[test]
fn an_unwinding_join_leaves_nothing_behind() {
    let pool = pool(1);
    for _ in 0..100 {
        let borrowed = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.join(|| panic!("on purpose"), || borrowed.fetch_add(1, SeqCst))
        }));
        assert!(result.is_err());
        assert_eq!(borrowed.load(SeqCst), 1);
    }
}
