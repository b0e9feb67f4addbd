//! What the slot alone hands over: no fence, no count and no parker takes part.

use ::loom::{
    model,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::super::*;

/// A slot, and a number that one thread writes before it changes the state, without an order of its
/// own.
struct Scene {
    slot: HintSlot<()>,
    written: AtomicUsize,
    /// Both threads add to it, one when it ends and the worker when it begins, so that loom also
    /// runs the model in which the worker comes last. From the slot alone it does not find
    /// that: of the accesses to an object it remembers the last, and a claim looks before it
    /// exchanges.
    turn: AtomicUsize,
}

impl Scene {
    fn write(&self) {
        self.written.store(1, Ordering::Relaxed);
    }

    fn sees(&self) -> bool {
        self.written.load(Ordering::Relaxed) == 1
    }

    /// Orders nothing: Relaxed.
    fn take_turn(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes, and claims the worker as soon as it is registered.
    fn notify(&self) {
        self.write();
        while self.slot.claim().is_none() {
            thread::yield_now();
        }
    }

    /// Writes, and wakes the worker as soon as it sleeps.
    fn wake(&self) {
        self.write();
        while !self.slot.poke() {
            thread::yield_now();
        }
    }
}

/// Models a thread that does `other`, and the worker, which has registered and done `prepare`
/// before.
fn check(
    prepare: fn(&HintSlot<()>),
    other: impl Fn(&Scene) + Copy + Send + Sync + 'static,
    worker: impl Fn(&Scene) + Send + Sync + 'static,
) {
    model(move || {
        let scene = Arc::new(Scene {
            slot: HintSlot::new(()),
            written: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
        });
        assert_eq!(scene.slot.enter(), Entry::New);
        prepare(&scene.slot);
        let thread = {
            let scene = scene.clone();
            thread::spawn(move || {
                other(&scene);
                scene.take_turn();
            })
        };
        scene.take_turn();
        worker(&scene);
        thread.join().unwrap();
    });
}

/// The two kinds of thread that wake a worker.
const WAKERS: [fn(&Scene); 2] = [Scene::notify, Scene::wake];

#[test]
fn a_worker_that_is_woken_sees_what_it_is_woken_for() {
    for waker in WAKERS {
        check(
            |_| (),
            waker,
            |scene| {
                while scene.slot.is_asleep() {
                    thread::yield_now();
                }
                assert!(scene.sees());
            },
        );
    }
}

/// The worker does not ask whether it sleeps, as when it leaves with work. It looks once: after a
/// yield, loom shows it the newest values, whatever it has acquired.
#[test]
fn a_worker_that_receives_a_notification_sees_its_job() {
    check(HintSlot::turn_back, Scene::notify, |scene| {
        assert!(!scene.slot.receive_notification() || scene.sees());
    });
}

/// The worker falls asleep again, before it is claimed or after it, or in the middle.
#[test]
fn a_worker_that_is_notified_before_it_sleeps_again_sees_the_job() {
    check(
        HintSlot::turn_back,
        |scene| {
            scene.write();
            scene.slot.claim();
        },
        |scene| assert!(scene.slot.enter() == Entry::InFlight || scene.sees()),
    );
}

#[test]
fn a_worker_that_sleeps_again_does_not_cover_up_a_notification() {
    model(|| {
        let slot = Arc::new(HintSlot::new(()));
        assert_eq!(slot.enter(), Entry::New);
        slot.turn_back();
        let notifier = {
            let slot = slot.clone();
            thread::spawn(move || slot.claim())
        };
        let entry = slot.enter();
        assert!(notifier.join().unwrap().is_some(), "it is registered");
        assert!(entry == Entry::Notified || slot.is_notified());
    });
}

/// The worker leaves with work in one of the ways, and fails since it was claimed.
fn check_leaving(leave: fn(&HintSlot<()>) -> bool) {
    check(
        HintSlot::turn_back,
        |scene| {
            scene.write();
            scene.slot.claim();
        },
        move |scene| assert!(leave(&scene.slot) || scene.sees()),
    );
}

#[test]
fn a_worker_that_cannot_withdraw_sees_the_job() {
    check_leaving(HintSlot::withdraw);
}

#[test]
fn a_worker_that_cannot_abandon_its_registration_sees_the_job() {
    check_leaving(HintSlot::abandon);
}

#[test]
fn a_worker_that_cannot_retract_sees_the_job() {
    check(
        |_| (),
        |scene| {
            scene.write();
            scene.slot.claim();
        },
        |scene| assert!(scene.slot.retract() || scene.sees()),
    );
}

/// Models a notifier, and a worker whose registration ends by `end`, after it has written. A
/// notifier that does not reach the worker sees what the worker has seen before, so that it finds
/// another one.
fn check_passing_over(prepare: fn(&HintSlot<()>), end: fn(&HintSlot<()>) -> bool) {
    check(
        prepare,
        |scene| {
            let claim = scene.slot.claim();
            assert!(!matches!(claim, None | Some(Claim::Stale)) || scene.sees());
        },
        move |scene| {
            scene.write();
            end(&scene.slot);
        },
    );
}

#[test]
fn a_notifier_that_passes_over_a_worker_that_has_withdrawn_sees_what_it_has_seen() {
    check_passing_over(HintSlot::turn_back, HintSlot::withdraw);
}

#[test]
fn a_notifier_that_passes_over_a_worker_that_has_retracted_sees_what_it_has_seen() {
    check_passing_over(|_| (), HintSlot::retract);
}

#[test]
fn a_notifier_that_discards_a_registration_sees_what_its_worker_has_seen() {
    check_passing_over(HintSlot::turn_back, HintSlot::abandon);
}

/// Two notifiers, or a notifier and a thread that pokes: at most one unparks the worker.
#[test]
fn one_of_two_wakers_unparks_the_worker() {
    let wakers: [fn(&HintSlot<()>) -> bool; 2] =
        [|slot| slot.claim() == Some(Claim::Sleeper), HintSlot::poke];
    for waker in wakers {
        model(move || {
            let slot = Arc::new(HintSlot::new(()));
            assert_eq!(slot.enter(), Entry::New);
            let other = {
                let slot = slot.clone();
                thread::spawn(move || waker(&slot))
            };
            let first = slot.claim();
            let second = other.join().unwrap();
            assert!(second != (first == Some(Claim::Sleeper)), "exactly one");
            assert!(slot.is_notified(), "a notification is not covered up");
        });
    }
}
