//! The sleep protocols, in all executions of small pools.

use proofs::pool::{GUARDS, Guard, Kind, NAMED, Scenario, check};

/// Scenarios with millions of states.
const LARGE: [&str; 4] = [
    "join-and-job",
    "pair-of-two-posters",
    "guest-and-job",
    "three-workers",
];

/// Scenarios that are played with `Sockets`, unless the tests are deep: the others have millions of
/// states.
const SMALL_WITH_SOCKETS: [&str; 5] = [
    "one-job",
    "two-posters",
    "inbox",
    "inbox-and-fork",
    "guest-waits",
];

/// Makes the large scenarios part of the tests.
const DEEP: &str = "PROOFS_DEEP";

fn is_deep() -> bool {
    std::env::var_os(DEEP).is_some()
}

fn has_sockets(kind: Kind) -> bool {
    matches!(kind, Kind::Sockets | Kind::OneSocket)
}

fn scenarios(kind: Kind) -> impl Iterator<Item = &'static (&'static str, Scenario)> {
    NAMED
        .iter()
        .filter(move |(name, _)| match has_sockets(kind) {
            // Three workers in three sockets have more states than fit into memory.
            true if is_deep() => !LARGE.contains(name),
            true => SMALL_WITH_SOCKETS.contains(name),
            false => is_deep() || !LARGE.contains(name),
        })
}

/// Whether a scenario is played without each guard that is spare.
fn is_played_without_spare(kind: Kind, name: &str) -> bool {
    if is_deep() {
        return !LARGE.contains(&name);
    }
    match has_sockets(kind) {
        true => name == "inbox",
        false => ["one-job", "inbox-and-fork", "blocked-and-asleep"].contains(&name),
    }
}

/// A job waits beside a worker that sleeps for so many steps of all actors at most, and then is
/// taken, or the worker is woken.
#[test]
fn every_job_is_taken_soon_and_every_worker_is_stopped() {
    for kind in Kind::ALL {
        for (name, scenario) in scenarios(kind) {
            match check(kind, *scenario, &[]) {
                Ok(findings) => {
                    println!("{} {name}: {findings:?}", kind.name());
                    let steps = findings.most_wasteful_steps;
                    let most = if has_sockets(kind) { 60 } else { 50 };
                    assert!(
                        steps.is_some_and(|steps| steps <= most),
                        "{name}: {findings:?}"
                    );
                }
                Err(failure) => panic!("{} {name}: {failure}", kind.name()),
            }
        }
    }
}

/// Guards that `Jec` has, and a scenario that fails without each.
const JEC_NEEDS: &[(Guard, &str)] = &[
    (Guard::LastLook, "one-job"),
    (Guard::Cascade, "pair-in-a-row"),
    (Guard::PosterWakes, "one-job"),
    (Guard::LatchCheck, "one-job"),
    (Guard::SetterWakes, "one-job"),
    (Guard::ThiefWakes, "join"),
    (Guard::SlotBeforeLatch, "one-job"),
    (Guard::Token, "one-job"),
    (Guard::SlotSaysAwake, "one-job"),
    (Guard::WakerCounts, "one-job"),
    (Guard::TurnBackWaits, "one-job"),
    (Guard::BitBeforeSlot, "inbox-and-fork"),
    (Guard::BitClearedFirst, "fork"),
    (Guard::GuestLooks, "guest"),
    (Guard::GuestLooksAtLatch, "guest"),
    (Guard::GuestLeavesToHost, "guest-waits"),
    (Guard::OwnerIsWoken, "inbox"),
    (Guard::ReportLooks, "block-and-release"),
    (Guard::SleepIsNoted, "blocked-and-asleep"),
    (Guard::WakeIsNoted, "block-and-release"),
];

/// Guards that `Jec` has, without which every scenario still ends, and why it has them.
const JEC_HAS: &[(Guard, &str)] = &[
    (
        Guard::SleepySearch,
        "spares the registration of a worker that would turn back",
    ),
    (
        Guard::SleepyCheck,
        "spares the same, and the wake-up of a worker that is about to look",
    ),
    (
        Guard::Backlog,
        "wakes at once; otherwise the cascade does, one worker later",
    ),
    (
        Guard::LendInOneStep,
        "a guest that comes looks at all sources, as long as guests do that",
    ),
    (
        Guard::HostReclaims,
        "memory safety, whatever a protocol claims: with this one, no guest is there",
    ),
];

/// What workers of one socket do beside what those of `Jec` do.
const SOCKET_NEEDS: &[(Guard, &str)] = &[
    (Guard::SocketIsNoted, "one-job"),
    (Guard::ClearedThenLooks, "two-posters"),
    (Guard::SetAgainWakes, "two-posters"),
];

const CLASSIC_NEEDS: &[(Guard, &str)] = &[
    (Guard::LastLook, "inbox"),
    (Guard::PosterWakes, "one-job"),
    (Guard::LatchCheck, "one-job"),
    (Guard::SetterWakes, "one-job"),
    (Guard::ThiefWakes, "join"),
    (Guard::SlotBeforeLatch, "one-job"),
    (Guard::SlotBeforeState, "one-by-one"),
    (Guard::Token, "one-job"),
    (Guard::SlotSaysAwake, "one-job"),
    (Guard::TurnBackWaits, "one-job"),
    (Guard::OwnerIsWoken, "inbox"),
    (Guard::ReportLooks, "block-and-release"),
    (Guard::SleepIsNoted, "blocked-and-asleep"),
    (Guard::WakeIsNoted, "block-and-release"),
];

const CLASSIC_HAS: &[(Guard, &str)] = &[
    (
        Guard::SleepySearch,
        "with the check, takes the place of the last look for jobs that all may take",
    ),
    (
        Guard::SleepyCheck,
        "with the search, takes the place of the last look for jobs that all may take",
    ),
];

const HINTS_NEEDS: &[(Guard, &str)] = &[
    (Guard::LastLook, "inbox"),
    (Guard::Cascade, "pair"),
    (Guard::PosterWakes, "one-job"),
    (Guard::LatchCheck, "one-job"),
    (Guard::SetterWakes, "one-job"),
    (Guard::ThiefWakes, "join"),
    (Guard::Token, "one-job"),
    (Guard::SlotSaysAwake, "one-job"),
    (Guard::OwnerIsWoken, "inbox"),
    (Guard::CountsAgain, "pair"),
    (Guard::UnitIsSpent, "fork"),
    (Guard::ReportLooks, "block-and-release"),
    (Guard::SleepIsNoted, "blocked-and-asleep"),
    (Guard::WakeIsNoted, "block-and-release"),
];

const HINTS_HAS: &[(Guard, &str)] = &[
    (
        Guard::NotificationWaits,
        "takes the place of the last look for injected jobs",
    ),
    (
        Guard::StaleIsRepeated,
        "is for a notifier that meets a worker with a job while another one sleeps: with two \
         workers, that one has its last look then",
    ),
    (
        Guard::LatchPassesOn,
        "is for jobs that are pushed without a fence while all seem to be awake, which the model \
         leaves out; otherwise the cascade passes it on. Loom's \
         a_set_latch_leaves_no_sleeper_that_was_missing_from_the_count fails without it",
    ),
];

/// Guards of which one suffices: without both, a scenario fails.
const ONE_OF_TWO: &[(Kind, [Guard; 2], &str)] = &[
    (
        Kind::Classic,
        [Guard::LastLook, Guard::SleepySearch],
        "one-job",
    ),
    (Kind::Classic, [Guard::LastLook, Guard::SleepyCheck], "pair"),
    (
        Kind::Hints,
        [Guard::LastLook, Guard::NotificationWaits],
        "one-job",
    ),
];

fn fails(kind: Kind, name: &str, without: &[Guard]) -> bool {
    check(kind, Scenario::named(name).unwrap(), without).is_err()
}

/// Guards of a protocol that are needed, each with a scenario that fails without it, and those that
/// are spare, each with the reason why it is there.
fn guards_of(kind: Kind) -> [Vec<(Guard, &'static str)>; 2] {
    match kind {
        Kind::Jec => [JEC_NEEDS.into(), JEC_HAS.into()],
        Kind::Classic => [CLASSIC_NEEDS.into(), CLASSIC_HAS.into()],
        Kind::Hints => [HINTS_NEEDS.into(), HINTS_HAS.into()],
        Kind::OneSocket => [[JEC_NEEDS, SOCKET_NEEDS].concat(), JEC_HAS.into()],
        Kind::Sockets => {
            let others = [(Guard::SocketCascade, "pair-in-a-row")];
            let of_jec = JEC_NEEDS.iter().filter(|(guard, _)| guard.is_in(kind));
            let needs = of_jec.chain(SOCKET_NEEDS).chain(&others);
            [needs.copied().collect(), JEC_HAS.into()]
        }
    }
}

/// Checks that a scenario fails without each guard that is needed, and none without the others.
fn check_guards(kind: Kind) {
    let [needs, has] = guards_of(kind);
    for (guard, scenario) in needs {
        assert!(
            fails(kind, scenario, &[guard]),
            "{kind:?} without {guard:?}"
        );
    }
    for (guard, why) in has {
        let is_played = |name: &str| is_played_without_spare(kind, name);
        for (name, scenario) in scenarios(kind).filter(|(name, _)| is_played(name)) {
            if let Err(failure) = check(kind, *scenario, &[guard]) {
                panic!("{kind:?} {name} without {guard:?}, which {why}: {failure}");
            }
        }
    }
}

#[test]
fn each_guard_of_jec_is_needed_or_said_to_be_spare() {
    check_guards(Kind::Jec);
}

#[test]
fn each_guard_of_sockets_is_needed_or_said_to_be_spare() {
    check_guards(Kind::Sockets);
    check_guards(Kind::OneSocket);
}

#[test]
fn each_guard_of_classic_is_needed_or_said_to_be_spare() {
    check_guards(Kind::Classic);
}

#[test]
fn each_guard_of_hints_is_needed_or_said_to_be_spare() {
    check_guards(Kind::Hints);
}

#[test]
fn one_of_two_guards_is_needed() {
    for &(kind, guards, scenario) in ONE_OF_TWO {
        assert!(
            fails(kind, scenario, &guards),
            "{kind:?} without {guards:?}"
        );
    }
}

/// Checks that the lists name what each protocol has, and nothing else: without a guard that a
/// protocol does not have, all its scenarios end well.
#[test]
fn no_guard_is_forgotten() {
    for (name, guard) in GUARDS {
        for kind in Kind::ALL {
            let is_listed = guards_of(kind).concat().iter().any(|(it, _)| it == guard);
            assert_eq!(guard.is_in(kind), is_listed, "{name} in {kind:?}");
        }
        assert!(
            Kind::ALL.into_iter().any(|kind| guard.is_in(kind)),
            "{name}"
        );
        assert_eq!(Guard::named(name), Some(*guard));
    }
}

#[test]
fn a_failure_comes_with_an_execution() {
    let failure = check(
        Kind::Jec,
        Scenario::named("one-job").unwrap(),
        &[Guard::SetterWakes],
    );
    let text = failure.unwrap_err().to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "no actor can go on, and not all is done");
    let sleeps = "  poster 0: sets the latch of worker 1, which was Sleeping";
    assert!(
        lines.contains(&sleeps) || text.contains("which was Sleeping"),
        "{text}"
    );
    assert!(lines.last().unwrap().starts_with("  then: "), "{text}");
}
