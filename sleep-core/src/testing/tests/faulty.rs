//! A small protocol of one's own, and what the check says when a line of it is missing.

use super::{
    super::protocol::scenarios::{Scenario, of_awake_set, of_lending, of_protocol},
    *,
};

mod small;

use small::{Fault, Small};

fn check(fault: Fault) {
    let make = |workers| Small::new(workers, fault);
    check_protocol(make);
    check_lending(make);
    check_awake_set(make);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn a_protocol_of_ones_own_passes() {
    check(Fault::None);
}

/// Each mistake, the scenario that finds it, and what it says.
type Planted = (Fault, &'static str, &'static str);

/// Runs, of these scenarios, those alone that find the mistake. The others take most of the time.
fn finds_each(scenarios: &[Scenario<Small>], mistakes: &[Planted]) {
    for &(fault, name, message) in mistakes {
        let finding = || scenarios.iter().filter(|it| it.title.ends_with(name));
        assert!(finding().count() > 0, "no scenario is called {name}");
        let found =
            failure(|| finding().for_each(|it| it.run(&|workers| Small::new(workers, fault))));
        assert!(found.contains(message), "{fault:?}: {found}");
    }
}

const LOST: &str = "a wake-up is lost";
const MISCOUNTED: &str = "miscounted";

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn each_planted_mistake_is_found() {
    use Fault::*;
    let mistakes = [
        (NoFenceOfPoster, "a job from outside", LOST),
        (FenceAfterTheLookForSleepers, "a job from outside", LOST),
        (NoFenceOfSleeper, "a job from outside", LOST),
        (NoLastLook, "a job from outside", LOST),
        (LooksBeforeItRegisters, "a job from outside", LOST),
        (NoLookAtTheLatch, "a stop", LOST),
        (LatchBeforeItRegisters, "a stop", LOST),
        (NoLookAtTheLatchOfAJob, "one of another worker", LOST),
        (TrustsThePark, "a park that returns early", MISCOUNTED),
        (NoCascade, "that need two workers", LOST),
        (LooksForMoreBeforeItLeaves, "that need two workers", LOST),
        (NoFenceOnLeaving, "that need two workers", LOST),
        (WakesForNoJobs, "for a pool at rest", "no jobs"),
        (LocksWhileItLooks, "an interrupt handler", "without end"),
        (NoFenceForOne, "a job for the second worker", LOST),
        (WakesTheFirstAlone, "a job for each worker", LOST),
        (WakesAnyWorkerForOne, "a job for the second worker", LOST),
        (NoEndOfTheSearch, "a stop", MISCOUNTED),
        (WakerDoesNotCount, "a stop", MISCOUNTED),
        (SaysThatAllAreAwake, "after a fence", LOST),
        (SaysThatItWakesNone, "without a job", "`wake_worker`"),
        (SaysThatItWakesAll, "a job from outside", "`wake_worker`"),
        (
            ReturnsAnotherParker,
            "one of another worker",
            "another parker",
        ),
    ];
    finds_each(&of_protocol(), &mistakes);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn each_planted_mistake_in_lending_is_found() {
    use Fault::*;
    let mistakes = [
        (NoLookOnReturn, "a guest", LOST),
        (NoFenceOnReturn, "a guest", LOST),
        (ReturnsWhileLent, "a guest", "`no_work_found` returns"),
        (LendsTheIneligible, "at rest", "eligible"),
        (LendsTwice, "at rest", "borrowed already"),
        (OffersASleeperTwice, "at rest", "twice"),
        (ParksAGuestAsTheWorker, "a guest that sleeps", LOST),
        (CountsTheBorrowed, "at rest", MISCOUNTED),
        (SaysThatNoneWasWoken, "at rest", "`give_back`"),
    ];
    finds_each(&of_lending(), &mistakes);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn each_planted_mistake_in_leaving_sleepers_out_is_found() {
    use Fault::*;
    let mistakes = [
        (LeavesOutAllOthers, "to the second worker", LOST),
        (OffersTheCaller, "to the second worker", "calling worker"),
        (OffersTwice, "to the second worker", "twice"),
        (OffersOnAfterAJob, "at rest", "another worker"),
        (SaysThatAJobIsHeld, "to the second worker", "no worker"),
    ];
    finds_each(&of_awake_set(), &mistakes);
}

/// By schedule, not by luck.
#[test]
#[cfg_attr(miri, ignore = "hundreds of schedules")]
fn the_same_mistake_is_found_in_the_same_schedule() {
    let [one, other] = [(); 2].map(|()| failure(|| check(Fault::NoFenceOfSleeper)));
    assert_eq!(one, other);
    assert!(
        one.contains("worker 0: sees no job in its last look"),
        "{one}"
    );
    assert!(
        one.contains("the thread outside: has queued a job"),
        "{one}"
    );
}
