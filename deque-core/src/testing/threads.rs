//! Elements that count their own drops, and stampedes over queues, for this crate's tests.

// Without `alloc` only the intrusive queue's tests remain.
#![cfg_attr(not(feature = "alloc"), allow(dead_code))]

use std::{
    boxed::Box,
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    vec::Vec,
};

use crate::Steal;

std::thread_local! {
    /// The state of a random number generator, or zero if this thread is not delayed.
    static DELAYS: Cell<u32> = const { Cell::new(0) };
}

/// Delays this thread often from now on, at interruption points and in [`delay`].
pub(crate) fn delay_often() {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    if DELAYS.get() == 0 {
        DELAYS.set(0x9e37_79b9 ^ u32::try_from(NEXT.fetch_add(1, SeqCst)).expect("few threads"));
    }
}

/// Returns the number after this one. None is zero.
pub(super) fn xorshift32(mut state: u32) -> u32 {
    state ^= state << 13;
    state ^= state >> 17;
    state ^ state << 5
}

/// Delays the thread at random: not at all, by some turns of a loop, by a yield, or by a nap.
pub(crate) fn delay() {
    let mut state = DELAYS.get();
    if state == 0 {
        return;
    }
    state = xorshift32(state);
    DELAYS.set(state);
    match state % 4096 {
        0 => thread::sleep(core::time::Duration::from_micros(50)),
        1..16 => thread::yield_now(),
        16..256 => (0..state >> 25).for_each(|_| core::hint::spin_loop()),
        _ => {}
    }
}

/// How many interruption points are left to pass, and what runs at the next one.
type Interruption = (usize, Box<dyn FnOnce()>);

std::thread_local! {
    static INTERRUPTION: Cell<Option<Interruption>> = const { Cell::new(None) };
}

/// Runs `body` once for each interruption point that it passes on this thread, and once without.
/// What `interruption` returns runs at that point, as if another thread did it while the system
/// stops this one.
pub(crate) fn interrupted_everywhere<S>(
    prepare: impl Fn() -> S,
    interruption: impl Fn(&S) -> Box<dyn FnOnce()>,
    body: impl Fn(S),
) {
    for point in 0.. {
        let state = prepare();
        INTERRUPTION.set(Some((point, interruption(&state))));
        body(state);
        if INTERRUPTION.take().is_some() {
            assert!(point > 0, "no interruption point was passed");
            return;
        }
    }
}

/// Runs the interruption of the test, if this is its point.
pub(crate) fn interrupt() {
    match INTERRUPTION.take() {
        Some((0, interruption)) => interruption(),
        Some((points, interruption)) => INTERRUPTION.set(Some((points - 1, interruption))),
        None => {}
    }
}

/// The number of elements that a test with threads moves. `DEQUE_CORE_ELEMENTS=few`, when the tests
/// are built, makes it less, for tools that slow each step down.
pub(crate) const MANY: usize = if cfg!(miri) {
    24
} else if option_env!("DEQUE_CORE_ELEMENTS").is_some() {
    10_000
} else {
    100_000
};

/// A tally of elements that were made and dropped.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    dropped: Arc<AtomicUsize>,
}

impl Tally {
    pub(crate) fn element(&self) -> Box<Counted> {
        self.panicking_element(false)
    }

    /// Creates an element whose destructor may panic.
    pub(crate) fn panicking_element(&self, panics: bool) -> Box<Counted> {
        let tally = self.clone();
        Box::new(Counted { tally, panics })
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped.load(SeqCst)
    }
}

/// Notes its drop. A second drop would be a double free, which Miri reports.
pub(crate) struct Counted {
    tally: Tally,
    panics: bool,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.tally.dropped.fetch_add(1, SeqCst);
        assert!(!self.panics, "a destructor that panics on purpose");
    }
}

/// Checks that every number below `count` was taken exactly once.
pub(crate) struct Taken(Vec<AtomicBool>);

impl Taken {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicBool::new(false)).collect())
    }

    pub(crate) fn note(&self, number: usize) {
        assert!(
            !self.0[number].swap(true, SeqCst),
            "{number} was taken twice"
        );
    }

    pub(crate) fn assert_all(&self) {
        let missing = self.0.iter().filter(|taken| !taken.load(SeqCst)).count();
        assert_eq!(missing, 0, "elements were lost");
    }
}

/// Runs thieves until `produce` has returned and `steal` then answers `Empty`.
pub(crate) fn with_thieves<T>(
    thieves: usize,
    steal: impl Fn() -> Steal<T> + Sync,
    take: impl Fn(T) + Sync,
    produce: impl FnOnce(),
) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..thieves {
            scope.spawn(|| {
                loop {
                    let finished = done.load(SeqCst);
                    match steal() {
                        Steal::Success(element) => take(element),
                        Steal::Empty if finished => break,
                        Steal::Empty | Steal::Retry => thread::yield_now(),
                    }
                }
            });
        }
        produce();
        done.store(true, SeqCst);
    });
}
