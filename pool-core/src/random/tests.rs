use std::{collections::BTreeSet, vec::Vec};

use super::XorShift64Star;

#[test]
#[cfg_attr(miri, ignore = "thousands of numbers")]
fn numbers_below_an_end_are_spread_evenly() {
    const DRAWS: usize = 10_000;
    let random = XorShift64Star::new(0);
    for end in [1, 2, 5, 64] {
        let mut counts = std::vec![0; end];
        (0..DRAWS).for_each(|_| counts[random.below(end)] += 1);
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(most - least <= DRAWS / 20, "{end}: {counts:?}");
    }
}

/// Checks that the seed matters, also where seeds are addresses or numbers of workers, which are
/// close together.
#[test]
fn neighboring_seeds_give_different_numbers() {
    let numbers = |seed| {
        let random = XorShift64Star::new(seed);
        (0..16).map(|_| random.below(64)).collect::<Vec<_>>()
    };
    // The lowest bit is lost, because the state must not be zero.
    let different: BTreeSet<_> = (0..64).map(|worker| numbers(2 * worker)).collect();
    assert_eq!(different.len(), 64);
}
