//! The state of a job with a handle, and random sequences of operations on handles.

use std::{
    future::Future as _,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

use super::*;
use crate::{JoinHandle, ThreadPool, ThreadPoolBuilder};

mod outcomes;

/// Counts what happened to jobs, and what is still alive.
#[derive(Default)]
struct Counts {
    /// The number of closures and results together.
    alive: AtomicUsize,
    /// The numbers of jobs that have run and that were aborted.
    run: AtomicUsize,
    aborted: AtomicUsize,
    /// The number of panics that went to the pool's handler.
    handled: AtomicUsize,
    woken: AtomicUsize,
}

impl Counts {
    fn get(count: &AtomicUsize) -> usize {
        count.load(SeqCst)
    }
}

/// A value that is counted while it lives: each closure captures one, and returns another one.
struct Counted(Arc<Counts>);

impl Counted {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.alive.fetch_add(1, SeqCst);
        Self(counts.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
    }
}

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, SeqCst);
    }
}

/// A panic of a job in these tests.
struct Expected;

fn pool(threads: usize, counts: &Arc<Counts>) -> ThreadPool {
    let counts = counts.clone();
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let handler = move |panic: Box<dyn std::any::Any + Send>| {
        assert!(panic.is::<Expected>(), "another panic");
        counts.handled.fetch_add(1, SeqCst);
    };
    builder.panic_handler(handler).build().unwrap()
}

/// A closure whose job returns a value, or panics.
fn job(counts: &Arc<Counts>, panics: bool) -> impl FnOnce() -> Counted + Send + use<> {
    let captured = Counted::new(counts);
    move || {
        captured.0.run.fetch_add(1, SeqCst);
        if panics {
            resume_unwind(Box::new(Expected));
        }
        Counted::new(&captured.0)
    }
}

/// A job and its handle, without a queue.
fn task(
    counts: &Arc<Counts>,
    panics: bool,
) -> *mut Task<(), impl FnOnce() -> Counted + use<>, Counted> {
    Task::create((), job(counts, panics))
}

#[test]
fn a_claimed_job_is_neither_run_nor_aborted_again() {
    let counts = Arc::default();
    let task = task(&counts, false);
    // SAFETY: the task lives until both owners have left, at the end. `run` and `leave`: 1. each
    // owner leaves once. `take_result`: 1. the job is done, and this is the only call.
    unsafe {
        assert!((*task).abort());
        assert!(!(*task).abort());
        assert!((*task).state().is_done());
        let result = (*task).take_result();
        assert!(result.is_err_and(|error| error.is_aborted()));
        assert!(Task::run(task, |_| unreachable!("it is aborted")).is_ok());
        Task::leave_of(task);
    }
    assert_eq!(Counts::get(&counts.alive), 0);
}

/// The closure that calls that of a task may own a value, such as the output of a future.
#[test]
fn an_aborted_job_is_freed_although_the_drop_of_its_caller_panics() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    let kind = Arc::new(());
    let task = Task::create(kind.clone(), || ());
    let output = PanicsOnDrop;
    // SAFETY: as above.
    unsafe {
        assert!((*task).abort());
        Task::leave_of(task);
        let ended = Task::run(task, move |_| {
            let _output = output;
            unreachable!("it is aborted")
        });
        assert!(ended.is_err());
    }
    assert_eq!(Arc::strong_count(&kind), 1, "the task is freed");
}

#[test]
fn a_waiter_is_told_once() {
    let counts = Arc::<Counts>::default();
    let task = task(&counts, false);
    let woken = Arc::<Counts>::default();
    let waiter = || Box::new(Waiter::Task(Waker::from(woken.clone())));
    // SAFETY: as above.
    unsafe {
        let state = (*task).state();
        assert!(state.set_waiter(waiter()));
        assert!(state.take_back_waiter().is_some(), "another one comes");
        assert!(state.set_waiter(waiter()));
        assert!(Task::run(task, |closure| closure()).is_ok());
        assert_eq!(Counts::get(&woken.woken), 1);
        assert!(state.take_back_waiter().is_none());
        assert!(!state.set_waiter(waiter()), "it is done");
        assert_eq!(Counts::get(&woken.woken), 1);
        Task::leave_of(task);
    }
    assert_eq!(Arc::strong_count(&woken), 1);
    assert_eq!(Counts::get(&counts.alive), 0);
}

#[test]
fn the_last_owner_frees_the_job() {
    let counts = Arc::<Counts>::default();
    for panics in [false, true] {
        for handle_first in [false, true] {
            let task = task(&counts, panics);
            // SAFETY: as above.
            unsafe {
                if handle_first {
                    Task::leave_of(task);
                }
                let ended = Task::run(task, |closure| closure());
                // A panic goes to the handle, if there is one.
                assert_eq!(ended.is_err(), panics && handle_first);
                if !handle_first {
                    Task::leave_of(task);
                }
            }
            assert_eq!(Counts::get(&counts.alive), 0);
        }
    }
}

impl<K, F, T> Task<K, F, T> {
    /// Ends the handle of a task.
    ///
    /// # Safety
    /// 1. As for [`leave`](Self::leave).
    unsafe fn leave_of(this: *mut Self) {
        // SAFETY: 1. is forwarded to our caller.
        unsafe { Self::leave(this.cast()) };
    }
}

#[test]
fn a_worker_joins_jobs_that_no_other_worker_can_run() {
    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    pool.install(|| {
        let jobs: Vec<_> = (0..10)
            .map(|_| pool.spawn_handle(job(&counts, false)))
            .collect();
        for job in jobs {
            assert!(job.join().is_ok());
        }
        // The job is in the injector, because a detached job of an isolated call is not for that
        // call's waits.
        let isolated = || pool.spawn_handle(job(&counts, false)).join();
        assert!(crate::isolate(isolated).is_ok());
    });
}

#[test]
fn a_panic_goes_to_the_handle_or_else_to_the_handler() {
    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    let error = pool.spawn_handle(job(&counts, true)).join();
    assert!(error.is_err_and(|error| error.is_panic()));
    assert_eq!(Counts::get(&counts.handled), 0);
    pool.install(|| drop(pool.spawn_handle(job(&counts, true))));
    pool.wait_idle().unwrap();
    assert_eq!(Counts::get(&counts.handled), 1);
}

/// The result is dropped although the job's entry is still in a queue, because the owner of the
/// handle has run the job.
#[test]
fn a_handle_that_is_dropped_after_its_job_drops_the_result() {
    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    pool.install(|| {
        for panics in [false, true] {
            // The job is in the injector, where this worker does not look.
            let mut handle = crate::isolate(|| pool.spawn_handle(job(&counts, panics)));
            assert!(handle.wait_timeout(Duration::ZERO));
            drop(handle);
            assert_eq!(Counts::get(&counts.alive), 0);
        }
    });
    pool.wait_idle().unwrap();
    assert_eq!(Counts::get(&counts.handled), 0);
    pool.scope(|scope| {
        let run = job(&counts, true);
        let mut handle = crate::spawn_handle_in(scope, |_| run());
        // The job belongs to the frame below the isolated call.
        assert!(crate::isolate(|| handle.wait_timeout(Duration::ZERO)));
        drop(handle);
    });
}

#[test]
fn a_result_whose_drop_panics_does_not_end_a_worker() {
    struct Panics;

    impl Drop for Panics {
        fn drop(&mut self) {
            resume_unwind(Box::new(Expected));
        }
    }

    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    // The worker drops the result.
    pool.install(|| drop(pool.spawn_handle(|| Panics)));
    pool.wait_idle().unwrap();
    assert_eq!(Counts::get(&counts.handled), 1);
    // The owner of the handle drops the result, or the closure.
    let job = pool.spawn_handle(|| Panics);
    while !job.is_finished() {
        thread::yield_now();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(job))).is_err());
    pool.install(|| {
        let captured = Panics;
        let job = pool.spawn_handle(move || std::mem::forget(captured));
        assert!(catch_unwind(AssertUnwindSafe(|| job.abort())).is_err());
        assert!(job.join().is_err_and(|error| error.is_aborted()));
    });
    assert_eq!(pool.install(|| 1), 1);
}

#[test]
fn a_waker_that_panics_goes_to_the_handler() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            resume_unwind(Box::new(Expected));
        }
    }

    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    let handle = pool.install(|| {
        let mut handle = pool.spawn_handle(job(&counts, false));
        let waker = Waker::from(Arc::new(Panics));
        let poll = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
        assert!(poll.is_pending());
        handle
    });
    // A join could come first, and it waits in another way.
    while !handle.is_finished() {
        thread::yield_now();
    }
    assert!(handle.join().is_ok());
    pool.wait_idle().unwrap();
    assert_eq!(Counts::get(&counts.handled), 1);
}

/// The handle has left its waker, and is gone when the job ends.
#[test]
fn the_panic_of_a_job_is_not_lost_for_that_of_a_waker() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker");
        }
    }
    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    let (sender, receiver) = std::sync::mpsc::channel();
    let run = job(&counts, true);
    let mut handle = pool.spawn_handle(move || {
        receiver.recv().unwrap();
        run()
    });
    let waker = Arc::new(Panics).into();
    let polled = Pin::new(&mut handle).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    drop(handle);
    sender.send(()).unwrap();
    pool.shutdown().unwrap();
    assert_eq!(Counts::get(&counts.handled), 1);
    assert_eq!(Counts::get(&counts.alive), 0);
}

#[test]
fn handles_of_a_scope_borrow() {
    let counts = Arc::<Counts>::default();
    let pool = pool(2, &counts);
    let mut words = ["some", "words"].map(str::to_owned);
    let lengths = pool.scope(|scope| {
        let jobs = words.each_mut().map(|word| {
            crate::spawn_handle_in(scope, |_| {
                word.push('!');
                word.len()
            })
        });
        jobs.map(|job| job.join().unwrap())
    });
    assert_eq!(lengths, [5, 6]);
    assert_eq!(words, ["some!", "words!"]);
    // This handle is joined after its scope, which has waited for the job.
    let job = pool.scope(|scope| crate::spawn_handle_in(scope, |_| words.len()));
    assert!(job.is_finished());
    assert_eq!(job.join().unwrap(), 2);
}

#[test]
fn a_panic_in_a_scope_is_the_handles_or_else_the_scopes() {
    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    pool.scope(|scope| {
        let job = crate::spawn_handle_in(scope, |_| -> () { resume_unwind(Box::new(Expected)) });
        assert!(job.join().unwrap_err().is_panic());
        let aborted = crate::spawn_handle_in(scope, |_| ());
        assert!(aborted.abort());
    });
    let scope = || {
        pool.scope(|scope| {
            drop(crate::spawn_handle_in(scope, |_| -> () {
                panic!("detached")
            }))
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(scope)).is_err());
}

/// The pool has one worker, and no other job may run.
#[test]
fn an_isolated_call_awaits_its_jobs() {
    let counts = Arc::<Counts>::default();
    let pool = pool(1, &counts);
    pool.install(|| {
        crate::isolate(|| {
            let detached = crate::spawn_handle(|| 1);
            let of_a_scope =
                crate::scope(|scope| crate::block_on(crate::spawn_handle_in(scope, |_| 2)));
            assert_eq!(crate::block_on(detached).unwrap(), 1);
            assert_eq!(of_a_scope.unwrap(), 2);
        });
    });
}
