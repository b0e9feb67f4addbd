use super::*;
use crate::{job::JobRef, primitive::AtomicBool};

#[cfg(loom)]
mod loom;

/// A job that writes a number, and sets a flag if it is awaited.
#[repr(C)]
struct Probe {
    header: AwaitableHeader,
    value: UnsafeCell<u8>,
}

impl Probe {
    fn new() -> Self {
        Self {
            header: AwaitableHeader::new::<Self>(5),
            value: UnsafeCell::new(0),
        }
    }

    fn value(&self) -> u8 {
        // SAFETY: callers know that the job has been run.
        self.value.with(|value| unsafe { *value })
    }

    /// Leaves a flag as the latch.
    fn set_awaited(&self, flag: &AtomicBool, room: &mut MaybeUninit<Awaiting>) -> bool {
        // SAFETY: 1. each test calls it once; 2. and for this alone.
        unsafe { self.header.set_awaited(ptr::from_ref(flag).cast(), room) }
    }
}

// SAFETY: 1. the header comes first, begins with a `JobHeader`, and is made for `Self`.
unsafe impl Job for Probe {
    unsafe fn execute(this: *const ()) {
        let this: *const Self = this.cast();
        // SAFETY: the job is valid until it is done; no thread reads the value before. Job and flag
        // stay until the flag is set.
        unsafe {
            (*this).value.with_mut(|value| *value = 7);
            if let Some(flag) = AwaitableHeader::set_done(&raw const (*this).header) {
                (*flag.cast::<AtomicBool>()).store(true, Ordering::Release);
            }
        }
    }
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
    fn done_before_the_owner_waits() {
        let (probe, flag) = (Probe::new(), AtomicBool::new(false));
        assert!(!probe.header.is_done());
        run(&probe);
        assert!(probe.header.is_done());
        // SAFETY: 1. it is ours.
        assert_eq!(unsafe { probe.header.note() }, 5);
        assert!(!probe.set_awaited(&flag, &mut MaybeUninit::uninit()));
        assert_eq!(probe.value(), 7);
    }

    #[test]
    fn awaited_and_then_run() {
        let (probe, flag) = (Probe::new(), AtomicBool::new(false));
        let mut room = MaybeUninit::uninit();
        assert!(probe.set_awaited(&flag, &mut room));
        assert!(!probe.header.is_done());
        run(&probe);
        assert!(flag.load(Ordering::Acquire));
        assert_eq!(probe.value(), 7);
    }
}
