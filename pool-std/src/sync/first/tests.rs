use std::{
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use super::*;

#[test]
fn smoke() {
    static FIRST: First<usize> = First::new();
    assert!(FIRST.get().is_none());
    assert_eq!(*FIRST.get_or_set(|| 1), 1);
    assert_eq!(*FIRST.get_or_set(|| unreachable!("it has a value")), 1);
    assert_eq!(FIRST.get(), Some(&1));
}

#[test]
fn all_threads_get_the_first_value() {
    const THREADS: usize = 4;
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 200 };
    static ALIVE: AtomicUsize = AtomicUsize::new(0);
    static VALUES: [First<Counted>; ROUNDS] = [const { First::new() }; ROUNDS];

    /// Counts those that live.
    struct Counted(usize);

    impl Counted {
        fn new(number: usize) -> Self {
            ALIVE.fetch_add(1, SeqCst);
            Self(number)
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, SeqCst);
        }
    }

    let meeting = Barrier::new(THREADS);
    for (round, first) in VALUES.iter().enumerate() {
        let numbers = thread::scope(|threads| {
            let get = |number| {
                let meeting = &meeting;
                threads.spawn(move || {
                    meeting.wait();
                    first.get_or_set(|| Counted::new(number)).0
                })
            };
            let threads: [_; THREADS] = std::array::from_fn(get);
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(numbers, [numbers[0]; THREADS]);
        assert_eq!(ALIVE.load(SeqCst), round + 1);
    }
}

#[test]
fn a_value_whose_making_panics_is_made_again() {
    static FIRST: First<usize> = First::new();
    let made = std::panic::catch_unwind(|| FIRST.get_or_set(|| panic!("on purpose")));
    assert!(made.is_err());
    assert_eq!(*FIRST.get_or_set(|| 2), 2);
}
