//! For models: a process fence as an interrupt that the owner takes at some point of its own.
//!
//! A thief asks, waits for the answer, and takes a fence before and after. At each of its points
//! the owner reads whether it was asked, and sees that now or later as loom decides. Then it takes
//! a fence and answers. So the fence takes effect at any point after the call has begun and before
//! it returns, as the system promises, and the exchange orders nothing that the system does not.
//! The points are before, between and after the store and the load of a pop. Anywhere else in the
//! owner's code a fence is no different from one at the nearest point.

use core::cell::Cell;

use ::loom::sync::{
    Notify,
    atomic::{AtomicBool, Ordering, fence},
};

/// What one thief and the owner tell each other.
struct Request {
    asked: AtomicBool,
    answered: AtomicBool,
    /// The thief's wait may end early.
    answer: Notify,
}

impl Request {
    fn new() -> Self {
        Self {
            asked: AtomicBool::new(false),
            answered: AtomicBool::new(false),
            answer: Notify::new(),
        }
    }
}

::loom::lazy_static! {
    static ref REQUESTS: [Request; 2] = [Request::new(), Request::new()];
    /// The owner pops no more.
    static ref RETIRED: AtomicBool = AtomicBool::new(false);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Other,
    /// The owner, and how many thieves there may be.
    Owner(usize),
    /// A thief, and its number.
    Thief(usize),
}

::loom::thread_local! {
    static ROLE: Cell<Role> = Cell::new(Role::Other);
}

/// Makes this thread the owner, against this many thieves.
pub(crate) fn be_owner(thieves: usize) {
    ROLE.with(|role| role.set(Role::Owner(thieves)));
}

/// Makes this thread a thief.
pub(crate) fn be_thief(number: usize) {
    ROLE.with(|role| role.set(Role::Thief(number)));
}

/// Makes the owner take a fence.
pub(crate) fn fence_all() {
    let Role::Thief(number) = ROLE.with(Cell::get) else {
        panic!("only thieves revoke");
    };
    fence(Ordering::SeqCst);
    let request = &REQUESTS[number];
    request.asked.store(true, Ordering::Release);
    while !request.answered.load(Ordering::Acquire) && !RETIRED.load(Ordering::Acquire) {
        request.answer.wait();
    }
    request.answered.store(false, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Takes a fence if a thief asks for one.
pub(crate) fn interruption_point() {
    let Role::Owner(thieves) = ROLE.with(Cell::get) else {
        return;
    };
    for request in &REQUESTS[..thieves] {
        if request.asked.load(Ordering::Acquire) {
            answer(request);
        }
    }
}

fn answer(request: &Request) {
    fence(Ordering::SeqCst);
    request.asked.store(false, Ordering::Relaxed);
    request.answered.store(true, Ordering::Release);
    request.answer.notify();
}

/// Ends the owner's pops: thieves that wait are told, and later ones need not wait.
pub(crate) fn retire() {
    let Role::Owner(thieves) = ROLE.with(Cell::get) else {
        panic!("only the owner");
    };
    ROLE.with(|role| role.set(Role::Other));
    fence(Ordering::SeqCst);
    RETIRED.store(true, Ordering::Release);
    for request in &REQUESTS[..thieves] {
        request.answer.notify();
    }
}
