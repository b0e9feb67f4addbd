//! Threads of the host in place of cores.

use std::{cell::Cell, ptr, sync::Barrier, thread};

use super::*;
use crate::{CoreLocal, Machine, Spin};
use pool_core::{IdlePolicy, UnknownWorker};

mod broadcast;
mod coming_and_going;
mod join;
mod scope;
mod spawn;

std::thread_local! {
    static LOCAL: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

struct HostCore;

// SAFETY: 1. a thread-local variable is just that.
unsafe impl CoreLocal for HostCore {
    fn get() -> *const () {
        LOCAL.get()
    }

    unsafe fn set(pointer: *const ()) {
        LOCAL.set(pointer);
    }
}

struct Host;

// SAFETY: 1. a thread-local variable is null at first; 2. threads are neither moved nor pre-empted
// by what uses the pool.
unsafe impl Machine for Host {
    type Local = HostCore;
    type Parker = Spin<Yielding>;
}

/// Two cores are all that many hosts have.
struct Yielding;

impl ::spin::RelaxStrategy for Yielding {
    fn relax() {
        thread::yield_now();
    }
}

/// So many times; fewer under Miri, which is slow.
const fn times(count: usize) -> usize {
    if cfg!(miri) {
        count.div_ceil(25)
    } else {
        count
    }
}

/// Runs a body while every place of a pool has its worker, and ends the pool.
fn with_workers<M: Machine, const CORES: usize, const JOBS: usize>(
    pool: &'static SpinPool<M, CORES, JOBS>,
    body: impl FnOnce(),
) {
    thread::scope(|threads| {
        for index in 0..CORES {
            threads.spawn(move || assert_eq!(pool.run_worker(index), Ok(Left::Ended)));
        }
        wait_for_workers(pool);
        body();
        pool.end();
    });
}

/// Waits until all places of a pool have their worker.
fn wait_for_workers<M: Machine, const CORES: usize, const JOBS: usize>(
    pool: &'static SpinPool<M, CORES, JOBS>,
) {
    while pool.broadcast(|_| ()).contains(&None) {
        thread::yield_now();
    }
}
