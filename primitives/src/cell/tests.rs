use crate::{
    AtomicBool, Custody,
    Ordering::{self, Acquire, Relaxed, Release},
};
use ::loom::{model, sync::Arc, thread};

/// Hands custody over from one thread to another by a flag.
fn hand_over(give: Ordering, take: Ordering) {
    model(move || {
        let scene = Arc::new((AtomicBool::new(false), Custody::new()));
        let other = thread::spawn({
            let scene = scene.clone();
            move || {
                scene.1.hold();
                scene.0.store(true, give);
            }
        });
        if scene.0.load(take) {
            scene.1.hold();
        }
        other.join().unwrap();
    });
}

#[test]
fn custody_is_handed_over_by_release_and_acquire() {
    hand_over(Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn custody_reports_a_hand_over_without_order() {
    hand_over(Relaxed, Relaxed);
}
