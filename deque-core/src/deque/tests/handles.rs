//! Which auto traits the handles have, whatever their elements.

use core::{
    cell::Cell,
    panic::{RefUnwindSafe, UnwindSafe},
};
use std::boxed::Box;

use super::*;
use crate::{ArcStealer, ArcWorker, Injector};

/// Neither shareable nor safe across an unwinding.
type Awkward = Box<(Cell<u8>, *mut u8, Box<dyn Fn() + Send>)>;

#[test]
fn handles_may_cross_an_unwinding() {
    fn check<T: UnwindSafe + RefUnwindSafe>() {}
    check::<Deque<Awkward, Growable<Awkward>>>();
    check::<Deque<Awkward, Fixed<Awkward, 4>>>();
    check::<ArcWorker<Awkward>>();
    check::<ArcStealer<Awkward>>();
    check::<Worker<&Deque<Awkward, Growable<Awkward>>>>();
    check::<Stealer<&Deque<Awkward, Growable<Awkward>>>>();
    check::<Injector<Awkward>>();
}

#[test]
fn handles_move_between_threads_as_their_elements_do() {
    fn send<T: Send>() {}
    fn send_and_sync<T: Send + Sync>() {}
    type Sendable = Box<Cell<u8>>;
    send::<ArcWorker<Sendable>>();
    send_and_sync::<ArcStealer<Sendable>>();
    send_and_sync::<Injector<Sendable>>();
}
