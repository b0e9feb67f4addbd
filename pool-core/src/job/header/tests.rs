use std::sync::Arc;

use super::*;
use crate::{
    job::JobRef,
    registry::Registry,
    testing::{Test, registry},
    worker::WorkerThread,
};

#[cfg(loom)]
mod loom;

/// A job that writes a number.
#[repr(C)]
struct Probe {
    header: AwaitableHeader,
    value: UnsafeCell<u8>,
}

impl Probe {
    fn new() -> Self {
        Self {
            header: AwaitableHeader::new::<Self>(),
            value: UnsafeCell::new(0),
        }
    }

    fn value(&self) -> u8 {
        // SAFETY: callers know that the job has been run.
        self.value.with(|value| unsafe { *value })
    }
}

// SAFETY: 1. the header comes first, begins with a `JobHeader`, and is made for `Self`.
unsafe impl Job for Probe {
    unsafe fn execute(this: *const ()) {
        let this: *const Self = this.cast();
        // SAFETY: the job is valid until it is done; nobody reads the value before.
        unsafe {
            (*this).value.with_mut(|value| *value = 7);
            AwaitableHeader::set_done::<Test>(&raw const (*this).header);
        }
    }
}

fn worker(registry: &Arc<Registry<Test>>) -> WorkerThread<Test> {
    let index = registry.worker(0).unwrap();
    // SAFETY: 1. callers keep the registry for longer; 2. it is the `Arc`'s own pointer.
    unsafe { WorkerThread::new(Arc::as_ptr(registry), index) }.unwrap()
}

#[cfg(not(loom))]
mod one_thread {
    use super::*;

    /// Runs the job as a thief does.
    fn run(probe: &Probe) {
        // SAFETY: `new`: 1. it stays; 2. it is run here. `execute`: 1. once.
        unsafe { JobRef::new(probe).execute() };
    }

    #[test]
    fn done_before_anybody_waits() {
        let registry = registry(1);
        let worker = worker(&registry);
        let (probe, latch) = (Probe::new(), SpinLatch::new(&worker));
        assert!(!probe.header.is_done());
        run(&probe);
        assert!(probe.header.is_done());
        // SAFETY: 1. once; 2. it is false; 3. `Probe` says so.
        assert!(!unsafe { probe.header.set_awaited(&latch) });
        assert_eq!(probe.value(), 7);
    }

    #[test]
    fn awaited_and_then_run() {
        let registry = registry(1);
        let worker = worker(&registry);
        let (probe, latch) = (Probe::new(), SpinLatch::new(&worker));
        // SAFETY: 1. once; 2. both stay; 3. `Probe` says so.
        assert!(unsafe { probe.header.set_awaited(&latch) });
        assert!(!probe.header.is_done() && !latch.core().probe());
        run(&probe);
        assert!(latch.core().probe());
        assert_eq!(probe.value(), 7);
    }
}
