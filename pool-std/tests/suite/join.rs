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

/// What a closure captures: four words that check themselves, and a count of those that live.
struct Captured<'a> {
    check: [usize; 2],
    alive: &'a AtomicUsize,
}

impl<'a> Captured<'a> {
    fn new(alive: &'a AtomicUsize, number: usize) -> Self {
        alive.fetch_add(1, SeqCst);
        Self {
            check: [number, !number],
            alive,
        }
    }

    fn number(&self) -> usize {
        assert_eq!(self.check[0], !self.check[1]);
        self.check[0]
    }
}

impl Drop for Captured<'_> {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, SeqCst);
    }
}

/// Joins closures that capture values directly or in a box, so that they are passed by address or
/// in registers, and checks that each value is dropped once, however the halves end.
#[test]
fn destructors() {
    fn number(captured: &Captured<'_>, fails: bool) -> usize {
        if fails {
            std::panic::panic_any(captured.number());
        }
        captured.number()
    }

    type Joined = fn((Captured<'_>, bool), (Captured<'_>, bool)) -> (usize, usize);
    let forms: [Joined; 5] = [
        |(a, fa), (b, fb)| join(move || number(&a, fa), move || number(&b, fb)),
        |(a, fa), (b, fb)| {
            let (a, b) = (Box::new((a, fa)), Box::new((b, fb)));
            join(move || number(&a.0, a.1), move || number(&b.0, b.1))
        },
        |(a, fa), (b, fb)| {
            let a = Box::new((a, fa));
            join(move || number(&a.0, a.1), move || number(&b, fb))
        },
        |(a, fa), (b, fb)| {
            let b = Box::new((b, fb));
            join_context(move |_| number(&a, fa), move |_| number(&b.0, b.1))
        },
        |(a, fa), (b, fb)| {
            pool_std::with_worker(|worker| {
                worker.join(move |_| number(&a, fa), move |_| number(&b, fb))
            })
        },
    ];
    let pool = pool(2);
    let alive = AtomicUsize::new(0);
    let fails = [(true, false), (false, true), (false, false), (true, true)];
    for joined in forms.into_iter().step_by(if cfg!(miri) { 4 } else { 1 }) {
        for (a_fails, b_fails) in fails.into_iter().take(if cfg!(miri) { 2 } else { 4 }) {
            let run = || {
                let halves = [(1, a_fails), (2, b_fails)];
                let [a, b] = halves.map(|(number, fails)| (Captured::new(&alive, number), fails));
                joined(a, b)
            };
            let outside: &dyn Fn() -> (usize, usize) = &run;
            let inside: &dyn Fn() -> (usize, usize) = &|| pool.install(run);
            for run in [outside, inside] {
                match catch_unwind(AssertUnwindSafe(run)) {
                    Ok(results) => assert_eq!(results, (1, 2)),
                    Err(panic) => {
                        let expected = if a_fails { 1 } else { 2 };
                        assert_eq!(*panic.downcast::<usize>().unwrap(), expected);
                    }
                }
                assert_eq!(alive.load(SeqCst), 0);
            }
        }
    }
}

/// Joins large closures of which a thief takes the second, which then runs elsewhere, and may
/// panic there.
#[test]
fn destructors_of_stolen_halves() {
    let pool = pool(2);
    let alive = AtomicUsize::new(0);
    for fails in [false, true] {
        let barrier = &Barrier::new(2);
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| {
                let [a, b] = [1, 2].map(|number| Captured::new(&alive, number));
                join_context(
                    move |context| {
                        barrier.wait();
                        (a.number(), context.migrated())
                    },
                    move |context| {
                        barrier.wait();
                        assert!(!fails, "on purpose");
                        (b.number(), context.migrated())
                    },
                )
            })
        }));
        assert_eq!(result.ok(), (!fails).then_some(((1, false), (2, true))));
        assert_eq!(alive.load(SeqCst), 0);
    }
}
