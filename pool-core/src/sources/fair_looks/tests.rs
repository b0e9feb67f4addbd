//! A flood of jobs from one source, against one job in each of the others.

use std::{
    cell::{Cell, RefCell, UnsafeCell},
    mem,
    ptr::{self, NonNull},
    sync::Arc,
    vec::Vec,
};

use super::*;
use crate::{
    Isolation, JobContext, Priority,
    job::{Job, JobHeader, JobRef},
    queue::JobQueue,
    testing::{Test, registry, run_until_stopped, with_worker},
};

type Node = <<Test as Platform>::Queue as JobQueue>::Node;
type Put = fn(&WorkerThread<Test>, NonNull<Node>, JobRef);

/// The most jobs that a worker begins before each source has come first at a fair look.
const PROMISED: usize = 320;

/// A job that is run as often as it puts itself into a queue.
#[repr(C)]
struct TestJob<'t> {
    header: JobHeader,
    node: UnsafeCell<Node>,
    name: &'static str,
    log: &'t RefCell<Vec<&'static str>>,
    /// Where it is put again after each run, until no other job is left or it is clear that the
    /// promise is broken.
    again: Option<Put>,
    others_left: &'t Cell<usize>,
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl Job for TestJob<'static> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligation 1.
        let this = unsafe { &*this.cast::<Self>() };
        // SAFETY: 1. it is used in this call.
        let worker = unsafe { WorkerThread::<Test>::current() }.unwrap();
        this.log.borrow_mut().push(this.name);
        match this.again {
            Some(put) if this.others_left.get() > 0 && this.log.borrow().len() < 10 * PROMISED => {
                this.put(worker, put);
            }
            Some(_) => worker.registry().request_stop(worker.index()),
            None => this.others_left.set(this.others_left.get() - 1),
        }
    }
}

impl TestJob<'_> {
    fn put(&self, worker: &WorkerThread<Test>, put: Put) {
        let node = NonNull::new(self.node.get()).unwrap();
        // SAFETY: 1. it lives in a test that runs it; 2. one thread runs all of them.
        put(worker, node, unsafe {
            JobRef::new(ptr::from_ref(self).cast::<TestJob<'static>>())
        });
    }
}

fn put_own(worker: &WorkerThread<Test>, _: NonNull<Node>, job: JobRef) {
    // SAFETY: 1. by `TestJob::put`.
    unsafe { worker.post(job) };
}

fn put_inbox(worker: &WorkerThread<Test>, node: NonNull<Node>, job: JobRef) {
    // SAFETY: 1. by `TestJob::put`.
    unsafe { worker.registry().inject_for(worker.index(), node, job) };
}

fn put_urgent(worker: &WorkerThread<Test>, node: NonNull<Node>, job: JobRef) {
    // SAFETY: 1. by `TestJob::put`.
    unsafe { worker.registry().inject_with(Priority::Urgent, node, job) };
}

fn put_normal(worker: &WorkerThread<Test>, node: NonNull<Node>, job: JobRef) {
    // SAFETY: 1. by `TestJob::put`.
    unsafe { worker.registry().inject(node, job) };
}

fn put_background(worker: &WorkerThread<Test>, node: NonNull<Node>, job: JobRef) {
    // SAFETY: 1. by `TestJob::put`.
    unsafe { (worker.registry()).inject_with(Priority::Background, node, job) };
}

/// Where a worker runs any job until it is requested to stop, below no job on its stack.
const AT_TOP_LEVEL: [fn(&WorkerThread<Test>); 3] = [
    run_until_stopped,
    |worker| worker.wait_for_all_jobs(&worker.shared().terminate),
    |worker| worker.borrow_until(&worker.shared().terminate, Isolation::Anything),
];

/// Runs a worker, with two jobs that are put where `flood` says again and again, and one job in
/// each of the other sources. Returns the jobs in the order of their runs.
fn run_against(
    flood: Put,
    others: &[(&'static str, Put)],
    run: fn(&WorkerThread<Test>),
) -> Vec<&'static str> {
    let registry = registry::<Test>(2);
    let (log, others_left) = (RefCell::new(Vec::new()), Cell::new(others.len()));
    let new = |name, again| TestJob {
        header: JobHeader::new::<TestJob<'static>>(),
        node: UnsafeCell::new(<Test as Platform>::Queue::node()),
        name,
        log: &log,
        again,
        others_left: &others_left,
    };
    let floods = [(); 2].map(|()| new("flood", Some(flood)));
    let jobs: Vec<_> = others.iter().map(|&(name, _)| new(name, None)).collect();
    // SAFETY: 1. this function holds the registry; 2. it is the `Arc`'s pointer.
    let victim = unsafe { WorkerThread::new(Arc::as_ptr(&registry), registry.worker(1).unwrap()) };
    let victim = victim.unwrap();
    with_worker(&registry, 0, |worker| {
        for (job, &(name, put)) in jobs.iter().zip(others) {
            job.put(if name == "others" { &victim } else { worker }, put);
        }
        floods.iter().for_each(|job| job.put(worker, flood));
        run(worker);
        while worker.yield_local() {}
        while worker.yield_now() {}
    });
    mem::take(&mut log.borrow_mut())
}

/// Checks that a job was run before as many others as is promised.
fn assert_comes_in_time(order: &[&str], name: &str) {
    let place = order.iter().position(|job| *job == name);
    assert!(
        place.is_some_and(|place| place < PROMISED),
        "{name}: {place:?}"
    );
}

/// Checks that the other jobs come in time at top level, and not before the first look.
fn assert_all_sources_have_looks(flood: Put, others: &[(&'static str, Put)]) {
    for run in AT_TOP_LEVEL {
        let order = run_against(flood, others, run);
        for (name, _) in others {
            assert_comes_in_time(&order, name);
        }
        assert!(
            order[..usize::from(JOBS_BETWEEN_LOOKS) - 1]
                .iter()
                .all(|job| *job == "flood")
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "a thousand jobs, one after the other")]
fn jobs_that_spawn_each_other_leave_looks_to_all_other_sources() {
    let others: [(_, Put); 5] = [
        ("oldest", put_own),
        ("inbox", put_inbox),
        ("others", put_own),
        ("injector", put_normal),
        ("background", put_background),
    ];
    assert_all_sources_have_looks(put_own, &others);
}

/// In waits for what has begun with the oldest job.
#[test]
fn jobs_that_spawn_each_other_leave_turns_to_the_subtree_of_an_isolated_wait() {
    fn wait(worker: &WorkerThread<Test>, isolation: Isolation) {
        let oldest = worker.own().deque().oldest().unwrap();
        worker.isolate(isolation, || {
            worker.wait_for(worker.await_from(oldest), &worker.shared().terminate);
        });
    }
    let waits: [fn(&WorkerThread<Test>); 2] = [
        |worker| wait(worker, Isolation::Subtree),
        |worker| wait(worker, Isolation::Nothing),
    ];
    let others: [(_, Put); 2] = [("oldest", put_own), ("inbox", put_inbox)];
    for run in waits {
        let order = run_against(put_own, &others, run);
        others
            .iter()
            .for_each(|(name, _)| assert_comes_in_time(&order, name));
    }
}

/// When an isolated job has ended, which has left them.
#[test]
fn jobs_that_spawn_each_other_leave_turns_to_the_rest_of_an_isolated_job() {
    let others: [(_, Put); 2] = [("oldest", put_own), ("inbox", put_inbox)];
    let order = run_against(put_own, &others, |worker| {
        worker.run_rest_from(worker.own().deque().oldest().unwrap());
    });
    others
        .iter()
        .for_each(|(name, _)| assert_comes_in_time(&order, name));
}

/// They lie above the second half, and that above an older job.
#[test]
fn jobs_that_spawn_each_other_leave_turns_to_the_inbox_in_an_isolated_join() {
    let order = run_against(put_own, &[("inbox", put_inbox)], |worker| {
        worker.isolate(Isolation::Subtree, || {
            let flood = worker.take_deque_job().unwrap();
            // SAFETY: 1. it was popped just now.
            let first = |_: JobContext<'_, Test>| unsafe { worker.post(flood) };
            worker.join_context(first, |_| (), false);
        });
    });
    assert_comes_in_time(&order, "inbox");
}

#[test]
#[cfg_attr(miri, ignore = "a thousand jobs, one after the other")]
fn urgent_jobs_leave_looks_to_all_other_sources() {
    let others: [(_, Put); 5] = [
        ("deque", put_own),
        ("inbox", put_inbox),
        ("others", put_own),
        ("injector", put_normal),
        ("background", put_background),
    ];
    assert_all_sources_have_looks(put_urgent, &others);
}

/// The wait ends only when the worker has run its own job.
#[test]
fn urgent_jobs_do_not_keep_a_wait_from_its_end() {
    let registry = registry::<Test>(1);
    let (log, others_left) = (RefCell::new(Vec::new()), Cell::new(1));
    let again: Option<Put> = Some(put_urgent);
    let new = |name, again| TestJob {
        header: JobHeader::new::<TestJob<'static>>(),
        node: UnsafeCell::new(<Test as Platform>::Queue::node()),
        name,
        log: &log,
        again,
        others_left: &others_left,
    };
    let (flood, own) = (new("flood", again), new("own", None));
    with_worker(&registry, 0, |worker| {
        own.put(worker, put_own);
        flood.put(worker, put_urgent);
        // The last run of the flood requests the worker to stop.
        worker.wait_until(&worker.shared().terminate);
    });
    let order = log.borrow();
    assert_comes_in_time(&order, "own");
}

#[test]
fn each_source_comes_first_at_one_of_five_looks() {
    let looks = FairLooks::new();
    let firsts: Vec<_> = (0..5).map(|_| looks.begin().next().unwrap()).collect();
    assert_eq!(firsts, FairSource::ALL);
    for _ in 0..5 {
        assert_eq!(
            looks.begin().collect::<Vec<_>>().len(),
            FairSource::ALL.len()
        );
    }
}
