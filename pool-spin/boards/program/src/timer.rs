//! What the board's timer does to the pool: it spawns a job, from its interrupt handler.

use core::{ptr, time::Duration};

use pool_spin::Left;
use portable_atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::{Pool, board::Board};

/// What the handler calls, and with which pool.
static HANDLER: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static POOL: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// Closures that the handler could not spawn.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

type Handler = fn(*const ());

/// To be called by the board's handler for the timer of the core that boots, once the timer is
/// silent.
pub fn timer_interrupt() {
    // Ordering: Acquire pairs with `sleep_until_timer`, which writes it last. The handler runs on
    // the same core, but nothing says that a board's timer must.
    let handler = HANDLER.load(Ordering::Acquire);
    if !handler.is_null() {
        // SAFETY: only `sleep_until_timer` writes the word, from a `Handler`.
        let handler = unsafe { core::mem::transmute::<*mut (), Handler>(handler) };
        handler(POOL.load(Ordering::Relaxed));
    }
}

/// The core that boots becomes worker 0 and sleeps, like all others, until the timer interrupts it
/// after this time. The handler spawns a job, which releases worker 0.
pub(crate) fn sleep_until_timer<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    delay: Duration,
) {
    let handler: Handler = spawn_release::<B, CORES>;
    POOL.store(ptr::from_ref(pool).cast_mut().cast(), Ordering::Relaxed);
    // Ordering: Release pairs with `timer_interrupt`.
    HANDLER.store(handler as *mut (), Ordering::Release);
    B::interrupt_after(delay);
    assert_eq!(pool.run_worker(0), Ok(Left::Released));
    assert_eq!(REFUSED.load(Ordering::Relaxed), 0, "there was room");
}

/// In the handler.
fn spawn_release<B: Board, const CORES: usize>(pool: *const ()) {
    // SAFETY: `sleep_until_timer` stored it, from a static pool of this type.
    let pool: &'static Pool<B, CORES> = unsafe { &*pool.cast() };
    let spawned = pool.spawn(|worker| {
        // The timer may be faster than the core that boots is on its way to sleep.
        while pool.release_worker(0).is_err() {
            core::hint::spin_loop();
        }
        worker.join(|_| (), |_| ());
    });
    if spawned.is_err() {
        REFUSED.fetch_add(1, Ordering::Relaxed);
    }
}
