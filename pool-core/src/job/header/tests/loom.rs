use std::boxed::Box;

use ::loom::{model, thread};

use super::*;

struct Sent(JobRef);

/// A thief runs the job while its owner does something that returns when the job is done; then the
/// job is gone.
fn check(own: impl Fn(&AwaitableHeader, &WorkerThread<Test>) + Sync + Send + 'static) {
    model(move || {
        let registry = registry(1);
        let worker = worker(&registry);
        let probe = Box::new(Probe::new());
        // SAFETY: 1. it stays until it is done; 2. a thief runs it.
        let job = Sent(unsafe { JobRef::new(&raw const *probe) });
        let thief = thread::spawn(move || {
            let Sent(job) = { job };
            // SAFETY: 1. once.
            unsafe { job.execute() };
        });
        own(&probe.header, &worker);
        assert_eq!(probe.value(), 7);
        drop(probe);
        thief.join().unwrap();
    });
}

fn wait(header: &AwaitableHeader, worker: &WorkerThread<Test>) {
    let latch = SpinLatch::new(worker);
    // SAFETY: 1. once; 2. we wait below; 3. `Probe` says so.
    if unsafe { header.set_awaited(&latch) } {
        while !latch.core().probe() {
            thread::yield_now();
        }
    }
}

#[test]
fn an_owner_looks_until_it_is_done() {
    check(|header, _| {
        while !header.is_done() {
            thread::yield_now();
        }
    });
}

#[test]
fn an_owner_waits() {
    check(wait);
}

/// Loom does not see for itself that the thief may be done before the owner's first look.
#[test]
fn an_owner_waits_later() {
    check(|header, worker| {
        thread::yield_now();
        wait(header, worker);
    });
}
