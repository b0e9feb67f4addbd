//! The queue's reference against the handle. A thread that is not told is a deadlock, a job that is
//! freed twice or never is counted, and loom reports accesses that nothing orders.
//!
//! What fails if something were missing:
//! - `a_wait_against_the_end_of_the_job`: the release of `finish` or `finish_and_leave`, or the
//!   acquire of `is_done`; the acquire of `finish`, or the release of `set_waiter`; the look at
//!   `AWAITED` in `finish_and_leave`.
//! - `a_waiter_that_is_replaced`: the look at `DONE` in `take_back_waiter`.
//! - `an_abort_against_the_begin_of_the_job`: the claim.
//! - `the_last_owner_frees_the_job`, `a_handle_that_was_awaited_is_left`: the acquire or the
//!   release of `leave`, or of the exchange in `finish_and_leave`.

use std::{boxed::Box, sync::Arc};

use ::loom::{cell::UnsafeCell, model, sync::Notify, thread};

use super::super::*;

/// What the job gives back, and what it gives if it was aborted.
const RESULT: u32 = 1;
const ABORTED: u32 = 2;

/// A job whose waiter is a thread.
struct Job {
    state: HandleState<Waiter>,
    content: UnsafeCell<u32>,
    /// Counts the models' jobs that are not freed.
    _counted: Arc<()>,
}

#[derive(Clone)]
struct Waiter(Arc<Bell>);

/// A bell, and what the thread that rings must see. Loom reports a look that nothing orders.
struct Bell {
    rung: Notify,
    seen: UnsafeCell<u32>,
}

// SAFETY: that is what the models check.
unsafe impl Sync for Bell {}

impl Waiter {
    fn new() -> Self {
        let waiter = Self(Arc::new(Bell {
            rung: Notify::new(),
            seen: UnsafeCell::new(0),
        }));
        // SAFETY: no other thread has it yet.
        waiter.0.seen.with_mut(|seen| unsafe { *seen = 1 });
        waiter
    }

    fn wake(self) {
        // SAFETY: loom checks that the write comes before.
        assert_eq!(self.0.seen.with(|seen| unsafe { *seen }), 1);
        self.0.rung.notify();
    }
}

/// A reference to a job: of its queue, or of its handle.
#[derive(Clone, Copy)]
struct Reference(*mut Job);

// SAFETY: that is what the models check.
unsafe impl Send for Reference {}

impl Reference {
    fn state(&self) -> &HandleState<Waiter> {
        // SAFETY: callers have not left yet.
        unsafe { &(*self.0).state }
    }

    fn write(&self, result: u32) {
        // SAFETY: callers have claimed the content.
        unsafe { (*self.0).content.with_mut(|content| *content = result) };
    }

    fn read(&self) -> u32 {
        // SAFETY: for the owner of the handle, when the job is done.
        unsafe { (*self.0).content.with(|content| *content) }
    }

    /// Waits for the end of the job. Loom's bell may end a wait too early.
    fn wait(&self, waiter: &Waiter) {
        while !self.state().is_done() {
            waiter.0.rung.wait();
        }
    }

    /// Frees the job. Returns what is in it.
    fn free(self) -> u32 {
        // SAFETY: it comes from `job`, and this is the last owner.
        let job = unsafe { Box::from_raw(self.0) };
        // The drop touches it too.
        job.state.waiter.with_mut(|_| ());
        // SAFETY: as above.
        job.content.with_mut(|content| unsafe { *content })
    }

    /// What a worker does. Returns what it has freed, if it was the last owner.
    fn run(self) -> Option<u32> {
        let state: *const HandleState<Waiter> = self.state();
        let has_run = self.state().claim();
        let mut waiter = None;
        let mut is_last = None;
        if has_run {
            self.write(RESULT);
            // SAFETY: 1. the queue's reference is not used afterwards; 2. it was claimed.
            is_last = unsafe { HandleState::finish_and_leave(state) };
            if is_last.is_none() {
                // SAFETY: 1. as above.
                waiter = unsafe { self.state().finish() };
            }
        }
        // SAFETY: 1. as above.
        let is_last = is_last.unwrap_or_else(|| unsafe { HandleState::leave_queue(state) });
        let freed = is_last.then(|| self.free());
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        freed
    }

    /// What the owner of a handle does at its end. Returns what it has freed.
    fn leave(self) -> Option<u32> {
        // SAFETY: 1. the handle is not used afterwards.
        unsafe { HandleState::leave_handle(self.state()) }.then(|| self.free())
    }
}

/// Creates a job, and calls a closure with its handle while another thread runs the job. The job
/// is freed once then.
fn against_the_queue(handle: impl FnOnce(Reference) -> Option<u32>) -> [Option<u32>; 2] {
    let counted = Arc::new(());
    let job = Reference(Box::into_raw(Box::new(Job {
        state: HandleState::new(),
        content: UnsafeCell::new(0),
        _counted: counted.clone(),
    })));
    let queue = thread::spawn(move || {
        let job = job;
        job.run()
    });
    let by_handle = handle(job);
    let by_queue = queue.join().unwrap();
    assert_eq!(Arc::strong_count(&counted), 1, "it is freed");
    assert!(
        by_handle.is_none() || by_queue.is_none(),
        "it is freed once"
    );
    [by_handle, by_queue]
}

#[test]
fn a_wait_against_the_end_of_the_job() {
    model(|| {
        against_the_queue(|job| {
            let waiter = Waiter::new();
            // SAFETY: 1. it is the first one, of the handle.
            if unsafe { job.state().set_waiter(waiter.clone()) } {
                job.wait(&waiter);
            }
            assert!(job.state().is_done());
            assert_eq!(job.read(), RESULT);
            job.leave()
        });
    });
}

#[test]
fn a_waiter_that_is_replaced() {
    model(|| {
        against_the_queue(|job| {
            let waiters = [(); 2].map(|()| Waiter::new());
            // SAFETY: 1. the first one is the first, and the second one comes when that is
            // cleared.
            let is_awaited = unsafe {
                job.state().set_waiter(waiters[0].clone())
                    && job.state().take_back_waiter().is_some()
                    && job.state().set_waiter(waiters[1].clone())
            };
            if is_awaited {
                job.wait(&waiters[1]);
            }
            assert!(job.state().is_done());
            assert_eq!(job.read(), RESULT);
            job.leave()
        });
    });
}

#[test]
fn an_abort_against_the_begin_of_the_job() {
    model(|| {
        against_the_queue(|job| {
            let has_aborted = job.state().claim();
            if has_aborted {
                job.write(ABORTED);
                // SAFETY: 1. it was claimed, just now.
                assert!(unsafe { job.state().finish() }.is_none());
                assert!(job.state().is_done());
                assert_eq!(job.read(), ABORTED);
            }
            job.leave()
        });
    });
}

#[test]
fn the_last_owner_frees_the_job() {
    model(|| {
        let freed = against_the_queue(Reference::leave);
        assert_eq!(freed.into_iter().flatten().next(), Some(RESULT));
    });
}

/// A future that was polled, and is dropped.
#[test]
fn a_handle_that_was_awaited_is_left() {
    model(|| {
        against_the_queue(|job| {
            // SAFETY: 1. it is the first one, of the handle.
            unsafe {
                _ = job.state().set_waiter(Waiter::new()) && job.state().clear_waiter();
            }
            job.leave()
        });
    });
}
