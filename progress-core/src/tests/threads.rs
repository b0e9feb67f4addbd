//! Races of real threads.

use std::{
    sync::atomic::{AtomicBool, AtomicPtr},
    thread,
    time::Duration,
};

use super::*;

/// A number and its complement, which are destroyed before the node is freed.
struct Node {
    number: usize,
    complement: usize,
}

impl Node {
    fn new(number: usize) -> *mut Self {
        Box::into_raw(Box::new(Self {
            number,
            complement: !number,
        }))
    }

    fn check(node: *mut Self) {
        // SAFETY: the caller holds a guard.
        let (number, complement) = unsafe { ((*node).number, (*node).complement) };
        assert_eq!(number, !complement);
    }

    fn free(node: *mut Self) {
        // SAFETY: the node was taken out of reach, and progress has been made.
        unsafe {
            (*node).complement = (*node).number;
            drop(Box::from_raw(node));
        }
    }
}

/// A node on its way to be freed.
struct Retired(*mut Node);

// SAFETY: only the owner frees the node.
unsafe impl Send for Retired {}

impl Retired {
    fn free(self) {
        Node::free(self.0);
    }
}

const ROUNDS: usize = if cfg!(miri) { 6 } else { 5_000 };

/// Replaces a node while managed and unmanaged readers look at it.
#[test]
fn stress() {
    let progress = progress(3);
    let node = AtomicPtr::new(Node::new(0));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(SeqCst) {
                let _delay = progress.delay();
                Node::check(node.load(SeqCst));
            }
        });
        scope.spawn(|| {
            let mut this = progress.register().unwrap();
            let mut active = this.activate();
            while !is_done.load(SeqCst) {
                Node::check(node.load(SeqCst));
                active.tick();
            }
        });
        scope.spawn(|| {
            let mut this = progress.register().unwrap();
            while !is_done.load(SeqCst) {
                let _active = this.activate();
                Node::check(node.load(SeqCst));
            }
        });
        let mut this = progress.register().unwrap();
        for number in 1..=ROUNDS {
            let old = Retired(node.swap(Node::new(number), SeqCst));
            this.defer(move || old.free());
            if this.pending() > 100 {
                this.wait();
            }
        }
        is_done.store(true, SeqCst);
    });
    Node::free(node.into_inner());
}

/// Publishes two words without release or acquire, which the second event makes consistent.
#[test]
fn what_is_published_after_progress_is_seen_whole() {
    use std::sync::atomic::Ordering::Relaxed;

    let progress = progress(3);
    let complement = |number: usize| !number & usize::MAX >> 1;
    let words = [(); 2].map(|()| (Tally::new(0), Tally::new(complement(0))));
    // The number of the publication; the words of an even one are the first pair.
    let published = Tally::new(0);
    thread::scope(|scope| {
        for stays_active in [false, true] {
            let (progress, words, published) = (&progress, &words, &published);
            scope.spawn(move || {
                let mut this = progress.register().unwrap();
                let mut number = 0;
                while number < ROUNDS {
                    let mut active = this.activate();
                    for _ in 0..if stays_active { 100 } else { 1 } {
                        number = published.load(Relaxed);
                        let (first, second) = &words[number % 2];
                        let (first, second) = (first.load(Relaxed), second.load(Relaxed));
                        assert_eq!((first, second), (number, complement(number)));
                        active.tick();
                    }
                    drop(active);
                    thread::yield_now();
                }
            });
        }
        let mut this = progress.register().unwrap();
        for number in 1..=ROUNDS {
            let (first, second) = &words[number % 2];
            first.store(number, Relaxed);
            second.store(complement(number), Relaxed);
            let value = progress.later();
            this.wait_for(value);
            published.store(number, Relaxed);
            // No thread reads the other pair when it is written again.
            let value = progress.later();
            this.wait_for(value);
        }
    });
}

/// Replaces a node on threads that are not managed, which schedule the freeing of the old one.
#[test]
fn any_thread_frees() {
    let progress = progress(1);
    let node = AtomicPtr::new(Node::new(0));
    let writers = Tally::new(2);
    thread::scope(|scope| {
        for part in 0..2 {
            let (progress, node, writers) = (&progress, &node, &writers);
            scope.spawn(move || {
                for number in 1..=ROUNDS {
                    let old = Retired(node.swap(Node::new(2 * number + part), SeqCst));
                    progress.defer(move || old.free());
                }
                writers.fetch_sub(1, SeqCst);
            });
        }
        scope.spawn(|| {
            while writers.load(SeqCst) > 0 {
                let _delay = progress.delay();
                Node::check(node.load(SeqCst));
            }
        });
        let mut this = progress.register().unwrap();
        while writers.load(SeqCst) > 0 {
            let _active = this.activate();
            Node::check(node.load(SeqCst));
        }
    });
    progress.run_reached();
    assert!(progress.unowned.is_empty(), "{progress:?}");
    Node::free(node.into_inner());
}

/// Runs ten million of them by hand with `PROGRESS_OPERATIONS=10000000 cargo test --release -p
/// progress-core`.
#[test]
fn every_operation_is_run_exactly_once() {
    let operations: usize = std::env::var("PROGRESS_OPERATIONS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(if cfg!(miri) { 200 } else { 100_000 });
    let runs: StdArc<[std::sync::atomic::AtomicU8]> = (0..operations)
        .map(|_| std::sync::atomic::AtomicU8::new(0))
        .collect();
    let progress = progress(4);
    thread::scope(|scope| {
        for part in 0..4 {
            let (progress, runs) = (&progress, &runs);
            scope.spawn(move || {
                let mut this = progress.register().unwrap();
                let mut active = this.activate();
                for number in (part..operations).step_by(4) {
                    let runs = runs.clone();
                    active.defer(move || {
                        runs[number].fetch_add(1, SeqCst);
                    });
                    if number % 64 == part {
                        active.tick();
                    }
                }
                drop(active);
                while this.pending() > 0 {
                    this.wait();
                }
            });
        }
    });
    drop(progress);
    assert!(runs.iter().all(|runs| runs.load(SeqCst) == 1));
}

/// Reproduces OTP-16870: all threads go to sleep at the same time, with operations pending.
#[test]
fn all_threads_sleep_at_once() {
    for _ in 0..ROUNDS / 10 + 1 {
        let progress = progress(3);
        let tally = StdArc::new(Tally::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut this = progress.register().unwrap();
                    this.activate().schedule(counting(&tally));
                    while this.pending() > 0 {
                        this.wait();
                    }
                });
            }
        });
        assert_eq!(tally.load(SeqCst), 3);
    }
}

/// Reproduces otp#4127: a wake-up between a thread's decision to sleep and its sleep must not be
/// lost.
#[test]
fn a_wake_before_the_sleep_is_not_lost() {
    let progress = progress(2);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut this = progress.register().unwrap();
            for _ in 0..ROUNDS {
                let value = progress.later();
                this.wait_for(value);
            }
        });
        // Stands in the way now and then, so that the other one has to sleep.
        let mut this = progress.register().unwrap();
        while !waiter.is_finished() {
            let mut active = this.activate();
            active.tick();
        }
    });
}

#[test]
fn blocking_stops_all_others() {
    let progress = progress(3);
    let is_blocked = AtomicBool::new(false);
    let is_done = AtomicBool::new(false);
    let work = Tally::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut this = progress.register().unwrap();
                while !is_done.load(SeqCst) {
                    let mut active = this.activate();
                    for _ in 0..10 {
                        assert!(
                            !is_blocked.load(SeqCst),
                            "no thread is active while one blocks"
                        );
                        work.fetch_add(1, SeqCst);
                        let _ = active.update();
                        active.leader_update();
                    }
                }
            });
        }
        let mut this = progress.register().unwrap();
        for _ in 0..ROUNDS / 30 + 1 {
            let mut blocked = this.block();
            is_blocked.store(true, SeqCst);
            let nested = blocked.block();
            let before = work.load(SeqCst);
            thread::sleep(Duration::from_micros(20));
            drop(nested);
            thread::yield_now();
            assert_eq!(work.load(SeqCst), before, "still blocked");
            is_blocked.store(false, SeqCst);
            drop(blocked);
        }
        is_done.store(true, SeqCst);
    });
}

/// Checks that progress passes by an active thread that waits to block the others.
#[test]
fn blocking_beside_another_blocker_counts_as_an_update() {
    let progress = progress(2);
    let mut one = progress.register().unwrap();
    let mut active = one.activate();
    let moment = progress.later();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = progress.register().unwrap();
            let _blocked = other.block();
            assert!(progress.has_reached(moment), "the guard delays nothing");
        });
        while !progress.state().is_blocked() {
            assert!(!progress.has_reached(moment));
            thread::yield_now();
        }
        drop(active.block());
    });
    let moment = progress.later();
    assert!(
        !(0..9).any(|_| progress.has_reached(moment)),
        "it is active"
    );
}

#[test]
fn two_threads_block_in_turn() {
    let progress = progress(2);
    let inside = Tally::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut this = progress.register().unwrap();
                for round in 0..ROUNDS / 10 + 1 {
                    let check = || {
                        assert_eq!(inside.fetch_add(1, SeqCst), 0, "one at a time");
                        inside.fetch_sub(1, SeqCst);
                    };
                    if round % 2 == 0 {
                        let _blocked = this.block();
                        check();
                    } else {
                        let mut active = this.activate();
                        let _blocked = active.block();
                        check();
                    }
                }
            });
        }
    });
}
