//! For models: a process fence, as an interrupt that the owner takes at some point of its own.
//!
//! A thief asks, waits for the answer, and takes a fence before and after. The owner looks at each
//! of its points whether it was asked, sees it now or later as loom likes, and then takes a fence
//! and answers. So the fence stands at any point after the call has begun and before it returns, as
//! the system promises, and the exchange orders nothing that the system does not. Points stand
//! before, between and after the store and the load of a pop; anywhere else in the owner's code a
//! fence is no different from one at the nearest point.

use core::cell::Cell;

use ::loom::sync::{
    Notify,
    atomic::{AtomicBool, Ordering, fence},
};

/// One thief's line to the owner.
struct Line {
    asked: AtomicBool,
    answered: AtomicBool,
    /// The thief's wait may end early.
    answer: Notify,
}

impl Line {
    fn new() -> Self {
        Self {
            asked: AtomicBool::new(false),
            answered: AtomicBool::new(false),
            answer: Notify::new(),
        }
    }
}

::loom::lazy_static! {
    static ref LINES: [Line; 2] = [Line::new(), Line::new()];
    /// The owner pops no more.
    static ref RETIRED: AtomicBool = AtomicBool::new(false);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Other,
    /// How many thieves there may be.
    Owner(usize),
    /// With its number.
    Thief(usize),
}

::loom::thread_local! {
    static ROLE: Cell<Role> = Cell::new(Role::Other);
}

/// This thread is the owner, against so many thieves.
pub(crate) fn be_owner(thieves: usize) {
    ROLE.with(|role| role.set(Role::Owner(thieves)));
}

/// This thread is a thief.
pub(crate) fn be_thief(number: usize) {
    ROLE.with(|role| role.set(Role::Thief(number)));
}

/// Has the owner take a fence.
pub(crate) fn fence_all() {
    let Role::Thief(number) = ROLE.with(Cell::get) else {
        panic!("only thieves revoke");
    };
    fence(Ordering::SeqCst);
    let line = &LINES[number];
    line.asked.store(true, Ordering::Release);
    while !line.answered.load(Ordering::Acquire) && !RETIRED.load(Ordering::Acquire) {
        line.answer.wait();
    }
    line.answered.store(false, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Takes a fence if somebody asks for one.
pub(crate) fn interruption_point() {
    let Role::Owner(thieves) = ROLE.with(Cell::get) else {
        return;
    };
    for line in &LINES[..thieves] {
        if line.asked.load(Ordering::Acquire) {
            answer(line);
        }
    }
}

fn answer(line: &Line) {
    fence(Ordering::SeqCst);
    line.asked.store(false, Ordering::Relaxed);
    line.answered.store(true, Ordering::Release);
    line.answer.notify();
}

/// The owner pops no more: who waits is told, and who asks from now on need not wait.
pub(crate) fn retire() {
    let Role::Owner(thieves) = ROLE.with(Cell::get) else {
        panic!("only the owner");
    };
    ROLE.with(|role| role.set(Role::Other));
    fence(Ordering::SeqCst);
    RETIRED.store(true, Ordering::Release);
    for line in &LINES[..thieves] {
        line.answer.notify();
    }
}
