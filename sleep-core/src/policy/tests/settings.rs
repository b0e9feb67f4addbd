//! Settings, and what depends on the number of processors.

use super::*;

#[test]
fn presets_are_what_their_table_says() {
    let table = [
        (IdlePolicy::LATENCY, 512, Some(200), true, 9),
        (IdlePolicy::BALANCED, 256, Some(50), true, 5),
        (IdlePolicy::POWER, 2, Some(5), true, 1),
        (IdlePolicy::IMMEDIATE, 0, None, false, 9),
    ];
    for (policy, rounds, limit, is_adaptive, searchers) in table {
        assert_eq!(policy.rounds_until_sleepy(), rounds);
        assert_eq!(policy.time_limit(), limit.map(Duration::from_micros));
        assert_eq!(policy.has_adaptive_rounds(), is_adaptive);
        assert_eq!(policy.max_searchers().among(9), searchers);
    }
    assert_eq!(IdlePolicy::default(), IdlePolicy::BALANCED);
}

#[test]
fn one_processor_leaves_no_rounds() {
    for policy in [IdlePolicy::LATENCY, IdlePolicy::new(7, 70, Relax::Spin(1))] {
        for processors in [0, 1] {
            let policy = policy.for_processors(4, processors);
            assert_eq!(policy.rounds_until_sleepy(), 0);
            assert_eq!(policy.rounds_until_sleeping(), 0);
        }
        assert_eq!(policy.for_processors(2, 2), policy);
    }
}

#[test]
fn half_of_the_searchers_have_a_processor_each() {
    let searchers = |workers, processors| {
        let policy = IdlePolicy::BALANCED.for_processors(workers, processors);
        policy.searchers_among(workers)
    };
    assert_eq!(searchers(64, 2), 2);
    assert_eq!(searchers(64, 8), 4);
    assert_eq!(searchers(3, 8), 2);
    assert_eq!(searchers(1, 8), 1);
    assert_eq!(
        [1, 2, 3, 9].map(|awake| IdlePolicy::BALANCED
            .for_processors(9, 3)
            .searchers_among(awake)),
        [1, 2, 2, 2]
    );
    let all = IdlePolicy::LATENCY.for_processors(64, 2);
    assert_eq!(all.searchers_among(64), 64);
}

#[test]
fn idle_workers_are_enough_if_they_have_the_other_processors() {
    let enough = |workers, processors| {
        let policy = IdlePolicy::BALANCED.for_processors(workers, processors);
        policy.enough_idle()
    };
    // A processor for each worker.
    assert_eq!(enough(2, 2), 8);
    assert_eq!(enough(64, 64), 8);
    // Fewer than workers; the poster has one of them.
    assert_eq!(enough(64, 32), 8);
    assert_eq!(
        [1, 2, 3, 8, 9].map(|processors| enough(64, processors)),
        [1, 1, 2, 7, 8]
    );
    assert_eq!(enough(3, 0), 1);
    let most = IdlePolicy::BALANCED
        .with_enough_idle(2)
        .for_processors(64, 8);
    assert_eq!(most.enough_idle(), 2);
    assert_eq!(
        IdlePolicy::BALANCED
            .with_enough_idle(usize::MAX)
            .enough_idle(),
        65_535
    );
}

#[test]
fn a_limit_on_searchers_is_positive() {
    assert_eq!(Searchers::at_most(0), Searchers::ONE);
    assert_eq!(Searchers::at_most(usize::MAX).among(1), 65_535);
    assert_eq!(
        [1, 2, 3, 4, 5].map(|workers| Searchers::Half.among(workers)),
        [1, 2, 2, 2, 3]
    );
}

#[test]
fn a_time_limit_fits_into_four_seconds() {
    let limit = |duration| IdlePolicy::DEFAULT.with_time_limit(duration).time_limit();
    assert_eq!(limit(None), None);
    let most = Some(Duration::from_nanos(u32::MAX.into()));
    assert_eq!(limit(Some(Duration::MAX)), most);
    assert_eq!(limit(most), most);
    assert_eq!(limit(Some(Duration::ZERO)), Some(Duration::ZERO));
}
