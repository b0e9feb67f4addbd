//! The timer's interrupt handler, which spawns jobs.

use core::{ptr, time::Duration};

use pool_spin::ExitReason;
use portable_atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::{Pool, board::Board};

/// The action of the handler, and the subject that it is for.
static ACTION: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static SUBJECT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// The number of closures that the handler has spawned, and of those that have run.
static SPAWNED: AtomicUsize = AtomicUsize::new(0);
static RUN: AtomicUsize = AtomicUsize::new(0);

/// Whether the closure that the timer spawned has run, or the timer's last interrupt has occurred.
static HAS_COME: AtomicBool = AtomicBool::new(false);

/// An action of the handler. Its argument is the subject.
pub(crate) type Action = fn(*const ());

/// The time between two interrupts of a core that works. An emulated core needs some time for a
/// handler.
pub(crate) const INTERVAL: Duration = Duration::from_micros(200);

/// Handles an interrupt of the timer of the core that boots. The board's handler calls this once
/// the timer is silent.
pub fn timer_interrupt() {
    // Ordering: Acquire pairs with `set_action`. The handler runs on the same core today, but no
    // rule says that a board's timer must.
    let action = ACTION.load(Ordering::Acquire);
    if !action.is_null() {
        // SAFETY: only `set_action` writes the word, from an `Action`.
        let action = unsafe { core::mem::transmute::<*mut (), Action>(action) };
        action(SUBJECT.load(Ordering::Relaxed));
    }
}

/// Sets the action of the handler, and what it is for.
pub(crate) fn set_action<T: Sync>(subject: &'static T, action: Option<Action>) {
    SUBJECT.store(ptr::from_ref(subject).cast_mut().cast(), Ordering::Relaxed);
    let action = action.map_or(ptr::null_mut(), |action| action as *mut ());
    // Ordering: Release pairs with `timer_interrupt`.
    ACTION.store(action, Ordering::Release);
}

/// Makes the core that boots worker 0, which sleeps like all others until the timer interrupts it
/// after this time. The handler spawns a job, which wakes it.
pub(crate) fn sleep_until_timer<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    delay: Duration,
) {
    set_action(pool, Some(spawn_and_wake::<B, CORES>));
    B::interrupt_after(delay);
    let is_awake = || HAS_COME.swap(false, Ordering::Acquire);
    assert_eq!(pool.run_worker_until(0, is_awake), Ok(ExitReason::Done));
    set_action(pool, None);
}

/// Spawns a job that wakes worker 0; runs in the handler.
fn spawn_and_wake<B: Board, const CORES: usize>(pool: *const ()) {
    // SAFETY: `sleep_until_timer` stored it, from a static pool of this type.
    let pool: &'static Pool<B, CORES> = unsafe { &*pool.cast() };
    let spawned = pool.spawn(|worker| {
        worker.join(|_| (), |_| ());
        // Ordering: Release pairs with `sleep_until_timer`.
        HAS_COME.store(true, Ordering::Release);
        pool.wake_worker(0).expect("there is a worker 0");
    });
    if spawned.is_err() {
        // There is no room until the workers have run a closure, so this tries again a little
        // later.
        B::interrupt_after(INTERVAL);
    }
}

/// Runs a body while the timer interrupts this core all the time, in the middle of its operations.
/// Each handler spawns a closure. Returns the number of closures, which have all run.
pub(crate) fn while_interrupted<B: Board, const CORES: usize>(
    pool: &'static Pool<B, CORES>,
    body: impl FnOnce(),
) -> usize {
    SPAWNED.store(0, Ordering::Relaxed);
    RUN.store(0, Ordering::Relaxed);
    set_action(pool, Some(spawn_and_interrupt_again::<B, CORES>));
    B::interrupt_after(INTERVAL);
    body();
    // Each handler arms the timer again, so one more comes.
    set_action(pool, Some(note_last));
    // Ordering: Acquire pairs with `note_last`.
    while !HAS_COME.swap(false, Ordering::Acquire) {
        core::hint::spin_loop();
    }
    set_action(pool, None);
    let spawned = SPAWNED.load(Ordering::Relaxed);
    while RUN.load(Ordering::Relaxed) < spawned {
        sleep_until_timer(pool, INTERVAL);
    }
    spawned
}

/// Records the last interrupt. Runs in the handler.
fn note_last(_pool: *const ()) {
    // Ordering: Release pairs with `while_interrupted`.
    HAS_COME.store(true, Ordering::Release);
}

/// Spawns a closure and arms the timer again; runs in the handler.
fn spawn_and_interrupt_again<B: Board, const CORES: usize>(pool: *const ()) {
    // SAFETY: `while_interrupted` stored it, from a static pool of this type.
    let pool: &'static Pool<B, CORES> = unsafe { &*pool.cast() };
    let spawned = pool.spawn(|_| {
        RUN.fetch_add(1, Ordering::Relaxed);
    });
    // Some closures find no room.
    SPAWNED.fetch_add(usize::from(spawned.is_ok()), Ordering::Relaxed);
    B::interrupt_after(INTERVAL);
}
