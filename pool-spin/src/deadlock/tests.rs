//! Tests on a host, where threads take the place of cores.

use std::{
    sync::{
        Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    vec::Vec,
};

use pool_core::{IdlePolicy, Parker, UnknownWorker};

use super::*;
use crate::{
    host::{Host, HostLock, wait_for_workers, with_workers},
    machine::{CoreParker, Machine},
    pool::{ExitReason, SpinPool, Worker},
};

mod completion;
mod interrupts;
mod marks;
#[cfg(feature = "trace")]
mod trace;

type HostParker = <Host as Machine>::Parker;

/// The pools under test. With `--cfg sleep_busy` their workers never sleep.
#[cfg(not(sleep_busy))]
type TestProtocol<const CORES: usize> = crate::pool::DefaultProtocol<Host, CORES>;
#[cfg(sleep_busy)]
type TestProtocol<const CORES: usize> = pool_core::Busy<HostParker, [HostParker; CORES]>;

type TestCores<const CORES: usize> = DetectingCores<Host, HostLock, CORES, 64, TestProtocol<CORES>>;

/// Creates a pool under test, whose workers sleep as soon as they find nothing.
const fn pool<const CORES: usize>(handler: fn(&Report<'_>)) -> SpinPool<TestCores<CORES>> {
    #[cfg(not(sleep_busy))]
    let protocol = pool_core::Jec::from_array(
        [const { pool_core::Slot::new(HostParker::NEW) }; CORES],
        IdlePolicy::IMMEDIATE,
    );
    #[cfg(sleep_busy)]
    let protocol =
        pool_core::Busy::from_array([const { HostParker::NEW }; CORES], IdlePolicy::IMMEDIATE);
    SpinPool::with_protocol_and_deadlock_handler(protocol, handler)
}

/// The handler of pools in which there is no deadlock.
fn no_report(report: &Report<'_>) {
    panic!("a false report: {report}");
}

/// Counts reports and keeps the tickets of the last one.
struct Reports {
    count: AtomicUsize,
    tickets: Mutex<Vec<Ticket>>,
}

impl Reports {
    const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            tickets: Mutex::new(Vec::new()),
        }
    }

    fn add(&self, report: &Report<'_>) {
        *self.tickets.lock().unwrap() = report.blocked().collect();
        self.count.fetch_add(1, SeqCst);
    }

    fn count(&self) -> usize {
        self.count.load(SeqCst)
    }

    /// Waits until there have been this many reports.
    fn wait_for(&self, count: usize) {
        while self.count() < count {
            thread::yield_now();
        }
        assert_eq!(self.count(), count);
    }

    fn tickets(&self) -> Vec<Ticket> {
        self.tickets.lock().unwrap().clone()
    }
}

/// Reduces a number of repetitions under Miri, which is slow.
const fn times(count: usize) -> usize {
    if cfg!(miri) {
        count.div_ceil(100)
    } else {
        count
    }
}
