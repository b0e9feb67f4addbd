//! Steps of two workers one by one, in one thread.

use std::{
    boxed::Box,
    cell::Cell,
    format,
    ptr::NonNull,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    vec::Vec,
};

use progress_core::Operation;
use sleep_core::{CoreLatch, Purpose};

use super::super::*;
use crate::{
    isolation::Isolation,
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    queue::JobQueue,
    testing::{
        Event, HAS_PROCESS_FENCE, Test, TestHinted, TestPlatform, TestTogether, observe,
        on_platform, registry, workers,
    },
};

type Queue = <Test as Platform>::Queue;
type TestNode = <Queue as JobQueue>::Node;

/// Queues a job of a test, which keeps job and node until the job has been run, and wakes no
/// worker.
fn put(queue: &Queue, node: NonNull<TestNode>, job: JobRef) {
    // SAFETY: 1. by the above.
    unsafe { JobQueue::push(queue, node, job) };
}

/// Checks the look before sleeping. A queue that it forgets is one whose jobs wait until something
/// else is posted (rayon#992).
#[test]
fn the_look_before_sleeping_sees_every_source() {
    type Put = fn(&[WorkerThread<Test>; 2], NonNull<TestNode>, JobRef);
    let sources: [(&str, Put); 6] = [
        ("its own deque", |[worker, _], _, job| {
            assert!(worker.own().try_push(job).is_ok());
        }),
        ("the inbox", |[worker, _], node, job| {
            put(&worker.shared().inbox, node, job);
        }),
        ("another worker's deque", |[_, other], _, job| {
            assert!(other.own().try_push(job).is_ok());
        }),
        ("the injector", |[worker, _], node, job| {
            put(worker.registry().injectors().normal(), node, job);
        }),
        ("the urgent jobs", |[worker, _], node, job| {
            put(worker.registry().injectors().urgent(), node, job);
        }),
        ("the background jobs", |[worker, _], node, job| {
            put(worker.registry().injectors().background(), node, job);
        }),
    ];
    for (source, put_there) in sources {
        let registry = registry::<Test>(2);
        let workers = workers(&registry);
        let job = StackJob::new(|_: JobContext<'_, _>| 7, BlockingLatch::<Test>::new());
        let mut node = Queue::node();
        assert!(
            !workers[0].check_sources_before_sleep().has_work,
            "there is nothing"
        );
        // SAFETY: 1. it stays, and is run below.
        let reference = unsafe { job.as_job_ref() };
        put_there(&workers, NonNull::from(&mut node), reference);
        assert!(workers[0].check_sources_before_sleep().has_work, "{source}");
        assert!(workers[0].yield_now(), "{source}");
        // SAFETY: 1. it has been run, just now; 2. once.
        assert_eq!(unsafe { job.take_result() }, 7);
    }
}

/// Queues two jobs while one worker searches and the other one sleeps. The poster of the second job
/// counted on the searcher, which takes one of them and must wake the sleeper for the other.
#[test]
fn a_worker_that_finds_work_wakes_another_for_the_rest() {
    let registry = registry::<Test>(2);
    let [worker, other] = workers(&registry);
    let (latch, index) = (CoreLatch::new(), worker.index());
    let sleeping = AtomicUsize::new(usize::MAX);
    let jobs: [_; 2] = std::array::from_fn(|_| {
        let run = |_: JobContext<'_, _>| {
            sleeping.store(registry.num_sleeping(), Relaxed);
            // SAFETY: 1. and 3. both live in the frame of the test; 2. `worker` waits; 4. for this.
            unsafe { registry.set_latch(&latch, index) };
        };
        StackJob::new(run, BlockingLatch::<Test>::new())
    });
    let mut nodes = [Queue::node(), Queue::node()];

    let never = CoreLatch::new();
    let mut idle = registry.begin_idle(other.index(), Purpose::Job);
    idle.no_work_found(&never, || unreachable!("only announces"));
    idle.no_work_found(&never, || {
        for (node, job) in nodes.iter_mut().zip(&jobs) {
            // SAFETY: 1. it stays until it has been run, and so does its node.
            let job = unsafe { job.as_job_ref() };
            put(registry.injectors().normal(), NonNull::from(node), job);
        }
        worker.wait_until(&latch);
        assert_eq!(sleeping.load(Relaxed), 0, "the sleeper was woken before");
        true
    });
    idle.end(|| false);
    assert!(worker.yield_now(), "the second job");
    for job in jobs {
        // SAFETY: 1. it has been run; 2. once.
        unsafe { job.take_result() };
    }
}

/// Checks that a worker that is about to sleep takes the process fence when it has disabled the
/// fast push of others, and looks only after it: the fence makes a job visible whose publication
/// was in a store buffer.
#[test]
fn a_process_fence_comes_between_disabling_and_looking() {
    let registry = registry::<Test>(2);
    let [sleeper, owner] = workers(&registry);
    let (owner, fences) = (Rc::new(owner), Rc::new(Cell::new(0)));
    let job = StackJob::new(|_: JobContext<'_, _>| 7, BlockingLatch::<Test>::new());
    // SAFETY: 1. it stays, and is run below.
    let reference = unsafe { job.as_job_ref() };
    HAS_PROCESS_FENCE.set(true);
    assert!(owner.own().enable_fast_push(|| true));
    observe(Some(Box::new({
        let (owner, fences) = (owner.clone(), fences.clone());
        move |event| {
            if event == Event::ProcessFence {
                fences.set(fences.get() + 1);
                assert!(!owner.own().fast_push_enabled(), "disabled before");
                assert!(owner.own().try_push(reference).is_ok());
            }
        }
    })));
    assert!(
        sleeper.check_sources_before_sleep().has_work,
        "the job is visible"
    );
    assert_eq!(fences.get(), 1);
    assert!(sleeper.yield_now(), "the job is run");

    // The owner announces its jobs now, after a fence of its own.
    assert!(!sleeper.check_sources_before_sleep().has_work);
    assert_eq!(fences.get(), 1, "no fence is needed");
    observe(None);
    HAS_PROCESS_FENCE.set(false);
    // SAFETY: 1. it has been run; 2. once.
    assert_eq!(unsafe { job.take_result() }, 7);
}

/// Checks that a worker that sees a job after its process fence wakes those that sleep. One of them
/// looked before the fence, found the fast push disabled already, and took no process fence of its
/// own.
#[test]
fn a_job_seen_after_the_process_fence_is_passed_on() {
    let registry = registry::<TestTogether>(3);
    let [first, second, owner] = workers(&registry);
    let owner = Rc::new(owner);
    let (latch, index) = (CoreLatch::new(), first.index());
    let sleeping = AtomicUsize::new(usize::MAX);
    let run = |_: JobContext<'_, _>| {
        sleeping.store(registry.num_sleeping(), Relaxed);
        // SAFETY: 1. and 3. both live in the frame of the test; 2. `first` waits; 4. for this.
        unsafe { registry.set_latch(&latch, index) };
    };
    let job = StackJob::new(run, BlockingLatch::<TestTogether>::new());
    // SAFETY: 1. it stays, and is run below, on this thread.
    let reference = unsafe { job.as_job_ref() };
    HAS_PROCESS_FENCE.set(true);
    assert!(owner.own().enable_fast_push(|| true));
    observe(Some(Box::new({
        let owner = owner.clone();
        let is_pushed = Cell::new(false);
        move |event| {
            if event == Event::ProcessFence && !is_pushed.replace(true) {
                assert!(owner.own().try_push(reference).is_ok());
            }
        }
    })));

    let never = CoreLatch::new();
    let mut idle = registry.begin_idle(second.index(), Purpose::Job);
    idle.no_work_found(&never, || unreachable!("only announces"));
    idle.no_work_found(&never, || {
        // In its last look, when it has seen nothing.
        first.wait_until(&latch);
        assert_eq!(
            sleeping.load(Relaxed),
            0,
            "the second worker was woken before"
        );
        false
    });
    idle.end(|| false);
    observe(None);
    HAS_PROCESS_FENCE.set(false);
    // SAFETY: 1. it has been run; 2. once.
    unsafe { job.take_result() };
}

/// The same, if the worker that takes the process fence is about to sleep in an isolated wait: it
/// may not run the job.
#[test]
fn a_job_seen_before_a_sleep_in_isolation_is_passed_on() {
    let registry = registry::<TestTogether>(3);
    let [first, second, owner] = workers(&registry);
    let owner = Rc::new(owner);
    let (latch, index) = (Arc::new(CoreLatch::new()), first.index());
    let sleeping = Rc::new(Cell::new(usize::MAX));
    let job = StackJob::new(
        |_: JobContext<'_, _>| (),
        BlockingLatch::<TestTogether>::new(),
    );
    // SAFETY: 1. it stays, and is run below, on this thread.
    let reference = unsafe { job.as_job_ref() };
    HAS_PROCESS_FENCE.set(true);
    assert!(owner.own().enable_fast_push(|| true));
    observe(Some(Box::new({
        let (owner, latch, sleeping) = (owner.clone(), latch.clone(), sleeping.clone());
        let is_pushed = Cell::new(false);
        move |event| {
            if event == Event::ProcessFence && !is_pushed.replace(true) {
                assert!(owner.own().try_push(reference).is_ok());
            }
            if event == Event::Park {
                sleeping.set(owner.registry().num_sleeping());
                // SAFETY: 1. and 3. the test holds both; 2. `first` waits; 4. for this.
                unsafe { owner.registry().set_latch(&raw const *latch, index) };
            }
        }
    })));

    let never = CoreLatch::new();
    let mut idle = registry.begin_idle(second.index(), Purpose::Job);
    idle.no_work_found(&never, || unreachable!("only announces"));
    idle.no_work_found(&never, || {
        // In its last look, when it has seen nothing.
        first.isolate(Isolation::Subtree, || first.wait_until(&latch));
        assert_eq!(sleeping.get(), 1, "only the first worker sleeps");
        false
    });
    idle.end(|| false);
    observe(None);
    HAS_PROCESS_FENCE.set(false);
    assert!(owner.yield_now());
    // SAFETY: 1. it has been run; 2. once.
    unsafe { job.take_result() };
}

/// A closure that thread progress calls in the middle of a search, such as that of
/// `Progress::wakeup`, may queue a job on the worker that searches. Others leave that deque out as
/// soon as the worker is registered as a sleeper.
fn a_job_that_comes_up_during_a_search_is_found_before_the_worker_registers<P: TestPlatform>() {
    let registry = registry::<P>(1);
    let [worker] = workers(&registry);
    let worker = Rc::new(worker);
    let (latch, index) = (CoreLatch::new(), worker.index());
    let run = |_: JobContext<'_, P>| {
        assert_eq!(registry.num_sleeping(), 0, "it is not registered");
        // SAFETY: 1. and 3. both live in the frame of the test; 2. `worker` waits; 4. for this.
        unsafe { registry.set_latch(&latch, index) };
    };
    let job = StackJob::new(run, BlockingLatch::<P>::new());
    // SAFETY: 1. it stays, and is run below, on this thread.
    let reference = unsafe { job.as_job_ref() };
    observe(Some(Box::new({
        let (worker, is_posted) = (worker.clone(), Cell::new(false));
        move |event| {
            // The worker searches, and has found its own deque empty.
            let searches = worker.registry().num_inactive() > 0;
            if event == Event::Take && searches && !is_posted.replace(true) {
                // SAFETY: 1. it is used for this alone.
                unsafe { worker.post(reference) };
            }
        }
    })));
    worker.wait_until(&latch);
    observe(None);
    // SAFETY: 1. it has been run; 2. once.
    unsafe { job.take_result() };
}

/// The closure of a `Progress::wakeup` runs on a thread that makes progress. It must not run on a
/// worker that is registered as a sleeper: if it waited, that worker would register once more.
///
/// Here a worker that is about to sleep makes progress for an operation, and another thread, which
/// the test is too, requests a wake-up meanwhile. That thread relies on the worker, which makes
/// progress already.
fn a_wake_up_does_not_run_on_a_worker_that_is_registered_as_a_sleeper<P: TestPlatform>() {
    // An operation that comes up in the last search is too late to be run before the worker would
    // sleep. Which search is the last one depends on the protocol.
    let wake_ups = (1..10).filter_map(num_sleeping_in_a_wake_up::<P>);
    let num_sleeping: Vec<_> = wake_ups.collect();
    assert!(!num_sleeping.is_empty());
    assert!(num_sleeping.iter().all(|num| *num == 0), "{num_sleeping:?}");
}

/// Lets a worker search until it sleeps. An operation comes up when it has asked so many queues for
/// a job. Requests a wake-up when the worker leaves that operation to the pool, and returns how
/// many workers sleep when the wake-up runs. Returns none if the operation is run before.
fn num_sleeping_in_a_wake_up<P: TestPlatform>(after: usize) -> Option<usize> {
    const NONE: usize = usize::MAX;
    let registry = registry::<P>(1);
    let [worker] = workers(&registry);
    let worker = Rc::new(worker);
    let (latch, index) = (CoreLatch::new(), worker.index());
    let sleeping = Arc::new(AtomicUsize::new(NONE));
    let pending = Arc::new(AtomicUsize::new(0));
    observe(Some(Box::new({
        let (worker, registry) = (worker.clone(), registry.clone());
        let (sleeping, pending) = (sleeping.clone(), pending.clone());
        let latch = &raw const latch;
        let (takes, is_requested) = (Cell::new(0), Cell::new(false));
        // SAFETY: 1. and 3. both live in the frame of the test; 2. `worker` waits; 4. for this.
        let end = move |registry: &Registry<P>| unsafe { registry.set_latch(latch, index) };
        move |event| match event {
            Event::Take if sleeping.load(Relaxed) != NONE => end(&registry),
            Event::Take => {
                takes.set(takes.get() + 1);
                if takes.get() == after {
                    pending.store(1, Relaxed);
                    let pending = pending.clone();
                    let operation = move || pending.store(0, Relaxed);
                    worker.schedule(Box::new(Operation::new(operation)));
                }
            }
            // The worker has set the flag that lets other threads rely on it.
            Event::HeavyFence
                if format!("{:?}", registry.progress()).contains("has_wakeups: true")
                    && !is_requested.replace(true) =>
            {
                let (sleeping, pool) = (sleeping.clone(), registry.clone());
                let wake = move || sleeping.store(pool.num_sleeping(), Relaxed);
                let progress = registry.progress();
                progress.wakeup(progress.later(), Box::new(Operation::new(wake)));
            }
            Event::Park => end(&registry),
            _ => {}
        }
    })));
    worker.wait_until(&latch);
    observe(None);
    // The operation is not lost.
    (0..3).for_each(|_| _ = worker.yield_now());
    assert_eq!(pending.load(Relaxed), 0);
    Some(sleeping.load(Relaxed)).filter(|num| *num != NONE)
}

macro_rules! suite {
    ($name:ident, $platform:ty) => {
        on_platform! { $name, $platform:
            a_job_that_comes_up_during_a_search_is_found_before_the_worker_registers
            a_wake_up_does_not_run_on_a_worker_that_is_registered_as_a_sleeper
        }
    };
}

suite!(jec, super::Test);
suite!(together, super::TestTogether);
suite!(hinted, super::TestHinted);
