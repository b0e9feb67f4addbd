use std::vec::Vec;

use super::*;
use crate::protocol::jec::counters::Word;

/// More workers than three words have bits, so that the last word is used in part.
const WORKERS: usize = 3 * GROUP + 5;

/// Half of a word for each number of threads, less one bit: there are bits for sleepers on every
/// target.
const WIDE: Widths = Widths::new((Word::BITS - 1) / 2, 1);

const NARROW: Widths = Widths::new(8, 1);

struct Pool {
    slots: Vec<Slot<()>>,
    sleepers: Sleepers,
}

impl Pool {
    fn with(widths: Widths, workers: usize, asleep: &[usize]) -> Self {
        let slots = (0..workers).map(|_| Slot::new(())).collect();
        let pool = Self {
            slots,
            sleepers: Sleepers::new(widths),
        };
        asleep.iter().for_each(|&worker| pool.add(worker));
        pool
    }

    fn add(&self, worker: usize) {
        self.sleepers.add(&self.slots, worker);
    }

    fn remove(&self, worker: usize) {
        self.sleepers.remove(&self.slots, worker);
    }

    /// Returns all workers that are offered.
    fn offered(&self) -> Vec<usize> {
        let mut offered = Vec::new();
        self.sleepers.find(&self.slots, None, |worker| {
            offered.push(worker);
            false
        });
        offered
    }

    /// Returns all workers that are offered as awake.
    fn awake(&self, first: usize) -> Vec<usize> {
        let mut awake = Vec::new();
        let is_accepted = self.sleepers.any_awake(&self.slots, first, |worker| {
            awake.push(worker);
            false
        });
        assert!(!is_accepted);
        awake
    }

    fn find(&self) -> Option<usize> {
        let mut found = None;
        self.sleepers.find(&self.slots, None, |worker| {
            found = Some(worker);
            true
        });
        found
    }
}

#[test]
fn no_sleeper_is_found_where_none_is() {
    assert_eq!(Pool::with(WIDE, WORKERS, &[]).offered(), []);
    assert_eq!(Pool::with(WIDE, 0, &[]).offered(), []);
}

#[test]
fn each_worker_is_found_alone() {
    let pool = Pool::with(WIDE, WORKERS, &[]);
    for worker in 0..WORKERS {
        pool.add(worker);
        assert_eq!(pool.offered(), [worker]);
        pool.remove(worker);
        assert_eq!(pool.offered(), []);
    }
}

#[test]
fn the_word_of_the_latest_comes_first_in_the_order_of_numbers() {
    let pool = Pool::with(WIDE, WORKERS, &[GROUP + 4, WORKERS - 1, GROUP, 1, 7, 3]);
    let others = [GROUP, GROUP + 4, WORKERS - 1];
    assert_eq!(pool.offered()[..3], [1, 3, 7]);
    assert_eq!(pool.offered()[3..], others);
    // As words of which one waker after the other takes a worker.
    pool.remove(1);
    assert_eq!(pool.find(), Some(3));
    pool.remove(3);
    assert_eq!(pool.find(), Some(7));
}

/// Checks that workers that wake others at the same time do not try the same ones first.
#[test]
#[cfg_attr(miri, ignore = "takes a minute, and one thread alone uses the bitmap")]
fn workers_begin_apart_and_are_offered_all() {
    let all: Vec<_> = (0..2 * GROUP).collect();
    let pool = Pool::with(WIDE, 2 * GROUP, &all);
    let mut firsts = Vec::new();
    for waker in 0..2 * GROUP {
        let mut offered = Vec::new();
        pool.sleepers.find(&pool.slots, Some(waker), |worker| {
            offered.push(worker);
            false
        });
        firsts.push(offered[0]);
        offered.sort_unstable();
        assert_eq!(offered, all);
    }
    firsts.sort_unstable();
    assert_eq!(firsts, all);
}

#[test]
fn later_words_are_offered_in_a_circle() {
    let pool = Pool::with(WIDE, WORKERS, &[0, WORKERS - 1, GROUP + 4]);
    assert_eq!(pool.offered(), [GROUP + 4, WORKERS - 1, 0]);
}

/// Checks that wakers do not read words again and again in which the last waker found no bit.
#[test]
fn wakers_begin_where_the_last_one_has_found_a_sleeper() {
    let pool = Pool::with(WIDE, WORKERS, &[2 * GROUP, 2 * GROUP + 1, 0]);
    pool.remove(0);
    assert_eq!(pool.find(), Some(2 * GROUP));
    pool.remove(2 * GROUP);
    assert_eq!(pool.sleepers.first.load(Ordering::Relaxed) / GROUP, 2);
    assert_eq!(pool.find(), Some(2 * GROUP + 1));
}

#[test]
fn a_worker_that_sleeps_again_is_found_once() {
    let pool = Pool::with(WIDE, WORKERS, &[5, 2, 5]);
    assert_eq!(pool.offered(), [2, 5]);
}

#[test]
fn workers_that_are_awake_are_offered_in_a_circle() {
    let asleep: Vec<_> = (0..WORKERS).filter(|worker| worker % 40 != 3).collect();
    let pool = Pool::with(WIDE, WORKERS, &asleep);
    let awake: Vec<_> = (3..WORKERS).step_by(40).collect();
    for first in (0..2 * WORKERS).step_by(if cfg!(miri) { 19 } else { 1 }) {
        let mut offered = pool.awake(first);
        // The others of the first word come before the next word.
        if first < WORKERS {
            assert_eq!(offered[0] / GROUP, next_group(&awake, first), "{first}");
        }
        offered.sort_unstable();
        assert_eq!(offered, awake);
    }
    assert_eq!(Pool::with(WIDE, 3, &[]).awake(1), [1, 2, 0]);
    assert_eq!(Pool::with(WIDE, 0, &[]).awake(0), []);
}

/// Returns the first group, from that of `first` on, in a circle, that has one of these workers.
fn next_group(workers: &[usize], first: usize) -> usize {
    let groups = || workers.iter().map(|worker| worker / GROUP);
    let later = groups().filter(|&group| group >= first / GROUP).min();
    later.or_else(|| groups().min()).unwrap()
}

#[test]
fn a_worker_that_is_accepted_is_the_last() {
    let pool = Pool::with(WIDE, WORKERS, &[1]);
    let mut offered = Vec::new();
    assert!(pool.sleepers.any_awake(&pool.slots, 0, |worker| {
        offered.push(worker);
        worker == 3
    }));
    assert_eq!(offered, [0, 2, 3]);
}

#[test]
fn few_workers_are_all_offered_until_one_is_accepted() {
    let pool = Pool::with(NARROW, 3, &[2]);
    assert_eq!(pool.offered(), [0, 1, 2]);
    assert_eq!(pool.find(), Some(0));
}

#[test]
#[cfg_attr(miri, ignore = "so many slots take minutes")]
fn the_greatest_pool_has_a_bit_for_each_worker() {
    let most = AtomicCounters::MAX_THREADS;
    let pool = Pool::with(Widths::DEFAULT, most, &[0, most - 1]);
    if pool.sleepers.are_few() {
        return;
    }
    assert_eq!(pool.offered(), [most - 1, 0]);
}
