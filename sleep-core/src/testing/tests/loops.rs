//! A pool's whole loop, with queues of its own.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::*;
use crate::{NewJobs, Parker as _, Purpose, SleepProtocol as _, StopLatch};

/// One worker and two queues.
struct Pool {
    sleep: LastLook,
    stop: [StopLatch; 1],
    queues: [AtomicUsize; 2],
    done: ScheduledParker,
}

impl Pool {
    fn new() -> Self {
        Self {
            sleep: LastLook::new(1),
            stop: [StopLatch::new()],
            queues: [const { AtomicUsize::new(0) }; 2],
            done: ScheduledParker::new(),
        }
    }

    fn take(&self) -> bool {
        let take = |queue: &AtomicUsize| {
            let jobs = queue.load(Relaxed);
            queue.store(jobs.saturating_sub(1), Relaxed);
            jobs > 0
        };
        self.queues.iter().any(take)
    }

    /// Plays the worker, whose last look is at so many of the queues.
    fn work(&self, seen: usize) {
        let has_work = || {
            self.queues[..seen]
                .iter()
                .any(|queue| queue.load(Relaxed) > 0)
        };
        let me = self.sleep.worker(0).unwrap();
        let mut idle = self.sleep.start_looking(me, Purpose::Job);
        while !self.stop[0].probe() {
            if self.take() {
                self.sleep.work_found(idle, has_work);
                self.done.unpark();
                idle = self.sleep.start_looking(me, Purpose::Job);
            } else {
                self.sleep
                    .no_work_found(&mut idle, self.stop[0].latch(), has_work);
            }
        }
        self.sleep.work_found(idle, has_work);
    }

    /// Queues a job in the second queue, announces so many, and stops the worker when the job has
    /// been run.
    fn post(&self, announced: usize) {
        self.queues[1].fetch_add(1, Relaxed);
        self.sleep.announce(NewJobs::injected(announced, true));
        self.done.park();
        StopLatch::set_all(&self.stop, &self.sleep);
    }
}

fn check(seen: usize, announced: usize) {
    Schedules::new(Pool::new)
        .thread("worker", move |pool| pool.work(seen))
        .thread("poster", move |pool| pool.post(announced))
        .spurious_wake_ups(1)
        .check();
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of schedules")]
fn a_loop_that_looks_at_every_queue_passes() {
    check(2, 1);
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of schedules")]
fn a_queue_that_the_last_look_leaves_out_loses_a_wake_up() {
    let found = failure(|| check(1, 1));
    assert!(found.contains("a wake-up is lost"), "{found}");
}

/// The call wakes no worker, because a batch may be empty.
#[test]
#[cfg_attr(miri, ignore = "hundreds of schedules")]
fn a_job_that_is_announced_as_none_loses_a_wake_up() {
    let found = failure(|| check(2, 0));
    assert!(found.contains("a wake-up is lost"), "{found}");
}

#[test]
fn a_panic_of_a_thread_is_reported_with_its_schedule() {
    let check = Schedules::new(|| ()).thread("the only thread", |()| {
        point("begins");
        panic!("what the thread says");
    });
    let found = failure(|| check.check());
    assert!(found.contains("what the thread says"), "{found}");
    assert!(found.contains("the only thread: begins"), "{found}");
}

#[test]
#[cfg_attr(miri, ignore = "tens of thousands of points")]
fn threads_that_wait_for_each_other_in_loops_are_reported() {
    let wait = |(): &()| loop {
        point("waits");
    };
    let check = Schedules::new(|| ())
        .thread("one", wait)
        .thread("other", wait);
    let found = failure(|| check.preemptions(0).check());
    assert!(found.contains("go on without end"), "{found}");
    assert!(
        found.contains("one waits in a loop; other waits in a loop"),
        "{found}"
    );
    assert!(found.lines().count() < 500, "repeated steps are folded");
}

/// The thread that polls is not at fault: a wake-up of the other one is lost.
#[test]
#[cfg_attr(miri, ignore = "tens of thousands of points")]
fn a_thread_that_is_parked_while_another_one_polls_is_named() {
    let check = Schedules::new(ScheduledParker::new)
        .thread("the sleeper", |parker| parker.park())
        .thread("the one that polls", |_| {
            loop {
                point("polls");
            }
        });
    let found = failure(|| check.preemptions(0).check());
    assert!(
        found.contains("the sleeper is parked, and no thread wakes it"),
        "{found}"
    );
    assert!(found.contains("times)"), "{found}");
}

/// Waits in its destructor, as the frame of a scope does for its jobs.
struct Waiting<'a>(&'a ScheduledParker);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        loop {
            self.0.park();
        }
    }
}

/// Reproduces a bug: the check unwound the thread, which then waited, and the check for it.
#[test]
#[should_panic(expected = "a wake-up is lost")]
fn a_mistake_is_reported_although_a_destructor_waits() {
    Schedules::new(ScheduledParker::new)
        .thread("scope", |parker| {
            let waiting = Waiting(parker);
            waiting.0.park();
        })
        .thread("job", |_| ())
        .check();
}

/// Reproduces a bug, as above: the thread caught the panic each time.
#[test]
#[should_panic(expected = "a wake-up is lost")]
fn a_mistake_is_reported_although_a_thread_catches_panics() {
    Schedules::new(ScheduledParker::new)
        .thread("worker", |parker| {
            while catch_unwind(AssertUnwindSafe(|| parker.park())).is_err() {}
        })
        .thread("poster", |_| ())
        .check();
}
