//! The parkers that halt, on cores made of threads: an interrupt is pending until it is cleared,
//! and a halt ends when one is.

use core::cell::Cell;
use std::{
    sync::{Condvar, Mutex},
    thread,
    time::Duration,
};

use super::*;
use crate::machine::CoreParker;

const CORES: usize = 4;

/// Whether the interrupt is pending, for each core.
static PENDING: [Mutex<bool>; CORES] = [const { Mutex::new(false) }; CORES];
static CHANGED: [Condvar; CORES] = [const { Condvar::new() }; CORES];

std::thread_local! {
    static CORE: Cell<usize> = const { Cell::new(0) };
    static IS_MASKED: Cell<bool> = const { Cell::new(false) };
}

struct HostInterrupts<const IS_TAKEN: bool>;

impl<const IS_TAKEN: bool> Interrupts for HostInterrupts<IS_TAKEN> {
    type State = bool;

    fn mask() -> bool {
        IS_MASKED.replace(true)
    }

    fn restore(was_masked: bool) {
        IS_MASKED.set(was_masked);
    }

    fn halt() {
        assert!(IS_MASKED.get(), "checking and halting is one step");
        let core = CORE.get();
        let mut pending = PENDING[core].lock().unwrap();
        while !*pending {
            // The limit only ends a test that fails.
            let (guard, time) = CHANGED[core]
                .wait_timeout(pending, Duration::from_secs(120))
                .unwrap();
            assert!(!time.timed_out(), "an interrupt is missing");
            pending = guard;
        }
        if IS_TAKEN {
            *pending = false;
        }
    }
}

struct HostIpi<const IS_TAKEN: bool>;

impl<const IS_TAKEN: bool> Ipi for HostIpi<IS_TAKEN> {
    type Interrupts = HostInterrupts<IS_TAKEN>;

    fn this_core() -> usize {
        CORE.get()
    }

    fn send(core: usize) {
        *PENDING[core].lock().unwrap() = true;
        CHANGED[core].notify_one();
    }

    fn clear() {
        *PENDING[CORE.get()].lock().unwrap() = false;
    }
}

/// Two cores are all that many hosts have.
struct Yielding;

impl ::spin::RelaxStrategy for Yielding {
    fn relax() {
        thread::yield_now();
    }
}

/// Passes the token back and forth between two cores.
fn ping_pong<P: CoreParker>(first_core: usize) {
    let parkers = [P::NEW, P::NEW];
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let play = |me: usize| {
        CORE.set(first_core + me);
        for round in 0..if cfg!(miri) { 50 } else { 1_000 } {
            let mine = 2 * round + me;
            // The writes of the other core come with the token.
            while turn.load(std::sync::atomic::Ordering::Relaxed) != mine {
                parkers[me].park();
            }
            turn.store(mine + 1, std::sync::atomic::Ordering::Relaxed);
            parkers[1 - me].unpark();
        }
    };
    thread::scope(|threads| {
        threads.spawn(|| play(1));
        threads.spawn(|| play(0));
    });
}

fn token_before_the_park<P: CoreParker>() {
    let parker = P::NEW;
    parker.unpark();
    parker.unpark();
    parker.park();
}

#[test]
fn spin() {
    token_before_the_park::<Spin<Yielding>>();
    ping_pong::<Spin<Yielding>>(0);
}

#[test]
fn wfi_ipi() {
    token_before_the_park::<WfiIpi<HostIpi<false>>>();
    ping_pong::<WfiIpi<HostIpi<false>>>(0);
}

#[test]
fn hlt_ipi() {
    token_before_the_park::<HltIpi<HostIpi<true>>>();
    ping_pong::<HltIpi<HostIpi<true>>>(2);
}
