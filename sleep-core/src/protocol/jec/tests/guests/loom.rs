//! Guests against posters, against the setter of a latch, and against each other. A worker that is
//! not woken in time is a deadlock, which loom reports.
//!
//! What fails if something were missing:
//! - `a_job_is_not_overlooked_while_a_guest_comes_and_goes`: the fence of `give_back`; the look in
//!   `give_back`.
//! - `a_latch_is_not_overlooked_while_a_guest_comes_and_goes`: the setter's fence.
//! - `a_guest_that_waits_is_woken_by_its_latch`: the second token, of the guest; the guest's bit in
//!   the slot.

use ::loom::{sync::Arc, thread};

use super::*;
use crate::{
    primitive::Ordering::Relaxed,
    testing::guests::{check_guests, come_and_go, come_early, post, set_latch},
};

#[test]
fn a_job_is_not_overlooked_while_a_guest_comes_and_goes() {
    check_guests::<TestJec>(3, &[come_and_go, post]);
}

#[test]
fn a_job_for_one_worker_is_not_overlooked_while_a_guest_comes_and_goes() {
    check_guests::<TestJec>(
        3,
        &[come_and_go, |house| {
            house.scene.queue(0);
            let sleep = &house.scene.sleep;
            sleep.announce_for([sleep.worker(0).unwrap()]);
        }],
    );
}

#[test]
fn a_latch_is_not_overlooked_while_a_guest_comes_and_goes() {
    check_guests::<TestJec>(3, &[come_and_go, set_latch]);
}

#[test]
fn a_job_is_not_overlooked_while_a_guest_comes_during_the_last_look() {
    check_guests::<TestJec>(3, &[come_early, post]);
}

#[test]
fn a_latch_is_not_overlooked_while_a_guest_comes_during_the_last_look() {
    check_guests::<TestJec>(3, &[come_early, set_latch]);
}

#[test]
fn two_guests_take_turns() {
    check_guests::<TestJec>(
        2,
        &[
            |house| {
                come_and_go(house);
                set_latch(house);
            },
            come_and_go,
        ],
    );
}

/// Models a guest that waits for a latch of its own, as in a join whose second half was stolen,
/// while the host's latch is set.
#[test]
fn a_guest_that_waits_is_woken_by_its_latch() {
    check_guests::<TestJec>(
        2,
        &[|house| {
            house.guest(|worker| {
                let latch = Arc::new(CoreLatch::new());
                let thief = {
                    let (house, latch) = (house.clone(), latch.clone());
                    thread::spawn(move || {
                        // SAFETY: 1. to 3. the thread holds both; 2. the guest waits; 4. no frame
                        // ends with it.
                        unsafe { crate::set_latch(&house.scene.sleep, &*latch, worker) };
                    })
                };
                let sleep = &house.scene.sleep;
                let mut idle = sleep.start_looking(worker, Purpose::Job);
                while !latch.probe() {
                    sleep.no_work_found(&mut idle, &latch, || false);
                }
                sleep.work_found(idle, || false);
                thief.join().unwrap();
            });
            set_latch(house);
        }],
    );
}

/// Checks that the models above have guests.
#[test]
fn a_guest_comes_in_some_interleavings() {
    use std::sync::atomic::AtomicBool;

    static CAME: AtomicBool = AtomicBool::new(false);
    check_guests::<TestJec>(
        2,
        &[|house| {
            house.guest(|_| CAME.store(true, Relaxed));
            set_latch(house);
        }],
    );
    assert!(CAME.load(Relaxed));
}
