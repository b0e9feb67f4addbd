//! For models: a process fence as an interrupt that a poster takes at some point of its own.
//!
//! As in the models of deque-core: the caller asks, waits for the answer, and takes a fence before and after. At each
//! of its points the poster reads whether it was asked, and sees that now or later as loom decides. Then it takes
//! a fence and answers. So the fence takes effect at any point after the call has begun and before it returns.

use ::loom::sync::{
    Notify,
    atomic::{AtomicBool, Ordering, fence},
};

::loom::lazy_static! {
    static ref ASKED: AtomicBool = AtomicBool::new(false);
    static ref ANSWERED: AtomicBool = AtomicBool::new(false);
    static ref ANSWER: Notify = Notify::new();
    /// The poster posts no more.
    static ref RETIRED: AtomicBool = AtomicBool::new(false);
}

/// Makes the poster take a fence. One thread calls this.
pub(crate) fn heavy() {
    fence(Ordering::SeqCst);
    ASKED.store(true, Ordering::Release);
    while !ANSWERED.load(Ordering::Acquire) && !RETIRED.load(Ordering::Acquire) {
        ANSWER.wait();
    }
    ANSWERED.store(false, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Takes a fence if it is asked for. The poster calls this.
pub(crate) fn interruption_point() {
    if ASKED.load(Ordering::Acquire) {
        fence(Ordering::SeqCst);
        ASKED.store(false, Ordering::Relaxed);
        ANSWERED.store(true, Ordering::Release);
        ANSWER.notify();
    }
}

/// Ends the poster's points: a call that waits is told, and later ones need not wait.
pub(crate) fn retire() {
    fence(Ordering::SeqCst);
    RETIRED.store(true, Ordering::Release);
    ANSWER.notify();
}
