//! The parkers with up to three preemptions, on cores whose interrupts and events are a mutex and a
//! condition variable: a core that is not woken is a deadlock, which loom reports; what was written
//! before an `unpark` and is not visible after the `park` is a race, which it reports as well.

use ::loom::{
    cell::UnsafeCell,
    model::Builder,
    sync::{Arc, Condvar, Mutex},
    thread,
};
use std::boxed::Box;

use super::*;

/// The core that parks. The threads that unpark run on others.
const PARKING: usize = 0;
const OTHER: usize = 1;

::loom::thread_local! {
    static CORE: core::cell::Cell<usize> = core::cell::Cell::new(OTHER);
    static IS_MASKED: core::cell::Cell<bool> = core::cell::Cell::new(false);
}

::loom::lazy_static! {
    /// Whether the parking core's interrupt is pending, or its event register is set.
    static ref SIGNAL: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
}

/// Waits for a signal, and takes it if `takes`.
fn wait_for_signal(takes: bool) {
    let (lock, changed) = &*SIGNAL;
    let mut signal = lock.lock().unwrap();
    while !*signal {
        signal = changed.wait(signal).unwrap();
    }
    *signal = !takes;
}

fn set_signal() {
    let (lock, changed) = &*SIGNAL;
    *lock.lock().unwrap() = true;
    changed.notify_one();
}

fn clear_signal() {
    *SIGNAL.0.lock().unwrap() = false;
}

/// A core. If `HANDLES`, a handler clears a pending interrupt when interrupts are unmasked. If
/// `TAKES`, a halt takes the interrupt that ends it.
struct Core<const HANDLES: bool, const TAKES: bool>;

impl<const HANDLES: bool, const TAKES: bool> Interrupts for Core<HANDLES, TAKES> {
    type State = bool;

    fn mask() -> bool {
        IS_MASKED.with(|masked| masked.replace(true))
    }

    fn restore(was_masked: bool) {
        IS_MASKED.with(|masked| masked.set(was_masked));
        if HANDLES && !was_masked {
            clear_signal();
        }
    }

    fn halt() {
        assert!(IS_MASKED.with(core::cell::Cell::get));
        wait_for_signal(TAKES);
    }
}

impl<const HANDLES: bool, const TAKES: bool> Ipi for Core<HANDLES, TAKES> {
    type Interrupts = Self;

    fn this_core() -> usize {
        CORE.with(core::cell::Cell::get)
    }

    fn send(core: usize) {
        assert_eq!(core, PARKING, "only a core that halts is interrupted");
        set_signal();
    }

    fn clear() {
        clear_signal();
    }
}

impl Events for Core<false, false> {
    fn send() {
        set_signal();
    }

    fn wait() {
        wait_for_signal(true);
    }
}

/// Models `wakers` threads that each write a value and unpark a core, which parks until it has
/// heard of all of them. If `is_disturbed`, one halt ends for a reason that is not the parker's.
fn scene<P: Parker + Send + Sync + 'static>(new: fn() -> P, wakers: usize, is_disturbed: bool) {
    struct Scene<P> {
        parker: P,
        has_written: [crate::primitive::AtomicBool; 2],
        written: [UnsafeCell<u32>; 2],
    }
    // SAFETY: the model checks that no two threads use a cell at once.
    unsafe impl<P: Sync> Sync for Scene<P> {}

    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let scene = Arc::new(Scene {
            parker: new(),
            has_written: Default::default(),
            written: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let wakers: Box<[_]> = (0..wakers)
            .map(|index| {
                let scene = scene.clone();
                thread::spawn(move || {
                    // SAFETY: read only after the park that this ends.
                    scene.written[index].with_mut(|written| unsafe { *written = 1 });
                    // Relaxed: the parker must make the value visible.
                    scene.has_written[index].store(true, crate::primitive::Ordering::Relaxed);
                    scene.parker.unpark();
                })
            })
            .collect();
        let disturbing = is_disturbed.then(|| thread::spawn(set_signal));
        CORE.with(|core| core.set(PARKING));
        let is_missing = || {
            let written = &scene.has_written[..wakers.len()];
            written
                .iter()
                .any(|written| !written.load(crate::primitive::Ordering::Relaxed))
        };
        // The first park ends with the first waker; the core parks again while one is missing.
        scene.parker.park();
        while is_missing() {
            scene.parker.park();
        }
        if wakers.len() == 1 {
            // SAFETY: the writer has unparked us.
            scene.written[0].with(|written| assert_eq!(unsafe { *written }, 1));
        }
        for thread in wakers.into_iter().chain(disturbing) {
            thread.join().unwrap();
        }
    });
}

#[test]
fn wfi_ipi() {
    scene(WfiIpi::<Core<false, false>>::new, 1, false);
}

#[test]
fn wfi_ipi_two_wakers() {
    scene(WfiIpi::<Core<false, false>>::new, 2, false);
}

/// Runs the handler for the interrupt between two halts.
#[test]
fn wfi_ipi_with_a_handler() {
    scene(WfiIpi::<Core<true, false>>::new, 1, true);
}

#[test]
fn hlt_ipi() {
    scene(HltIpi::<Core<false, true>>::new, 2, false);
}

#[test]
fn wfe() {
    scene(Wfe::<Core<false, false>>::new, 2, false);
}
