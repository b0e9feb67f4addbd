use std::boxed::Box;

use ::loom::{model, thread};

use super::*;

struct Sent(JobRef);

/// Models a thief that runs the job while its owner does something that returns when the job is
/// done. Then the job is gone.
fn check(own: fn(&Probe)) {
    model(move || {
        let probe = Box::new(Probe::new());
        // SAFETY: 1. it stays until it is done; 2. a thief runs it.
        let job = Sent(unsafe { JobRef::new(&raw const *probe) });
        let thief = thread::spawn(move || {
            let Sent(job) = { job };
            // SAFETY: 1. once.
            unsafe { job.execute() };
        });
        own(&probe);
        assert_eq!(probe.value(), 7);
        drop(probe);
        thief.join().unwrap();
    });
}

fn wait(probe: &Probe) {
    let flag = AtomicBool::new(false);
    let mut room = MaybeUninit::uninit();
    if probe.set_awaited(&flag, &mut room) {
        while !flag.load(Ordering::Acquire) {
            thread::yield_now();
        }
    }
}

#[test]
fn an_owner_looks_until_it_is_done() {
    check(|probe| {
        while !probe.header.is_done() {
            thread::yield_now();
        }
    });
}

#[test]
fn an_owner_waits() {
    check(wait);
}

/// Lets the thief finish before the owner's first look, which loom does not try for itself.
#[test]
fn an_owner_waits_later() {
    check(|probe| {
        thread::yield_now();
        wait(probe);
    });
}
