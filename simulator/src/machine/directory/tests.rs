//! Single accesses: hits, transfers, invalidations, and the queue at a line's home.

use super::*;
use crate::machine::Part;

const COSTS: CostModel = CostModel::SERVER;
const ADDRESS: usize = 0x1000;

fn site() -> Site {
    Location::caller()
}

/// Makes an access of a core at time zero. Returns what it takes.
fn access(directory: &mut Directory, core: u16, access: Access) -> u64 {
    at(directory, core, access, 0)
}

fn at(directory: &mut Directory, core: u16, access: Access, now: u64) -> u64 {
    let node = COSTS.node(usize::from(core));
    directory
        .access(core, node, access, ADDRESS, site(), now, 0)
        .now
        - now
}

#[test]
fn a_line_that_a_core_has_is_a_hit_until_another_core_writes_it() {
    let mut directory = Directory::new(COSTS, 4);
    let late = 1_000_000;
    assert_eq!(
        access(&mut directory, 0, Access::Load),
        COSTS.memory + COSTS.hit
    );
    assert_eq!(access(&mut directory, 0, Access::Load), COSTS.hit);
    assert_eq!(
        at(&mut directory, 1, Access::Exchange, late),
        COSTS.near + COSTS.hit + COSTS.exchange
    );
    assert_eq!(
        at(&mut directory, 0, Access::Load, 2 * late),
        COSTS.near + COSTS.hit
    );
    // Both have it now, so a write invalidates the other copy.
    assert_eq!(
        at(&mut directory, 1, Access::Exchange, 3 * late),
        COSTS.near + COSTS.hit + COSTS.exchange
    );
    assert_eq!(
        at(&mut directory, 1, Access::Exchange, 4 * late),
        COSTS.hit + COSTS.exchange
    );
}

#[test]
fn a_store_does_not_wait_for_its_line_but_a_locked_instruction_does() {
    let mut directory = Directory::new(COSTS, 4);
    access(&mut directory, 1, Access::Load);
    let node = COSTS.node(0);
    let late = 1_000_000;
    let store = directory.access(0, node, Access::Store, ADDRESS, site(), late, 0);
    assert_eq!(
        (store.now, store.drained_at),
        (late + COSTS.hit, late + COSTS.near)
    );
    let next = directory.access(
        0,
        node,
        Access::Exchange,
        ADDRESS,
        site(),
        store.now,
        store.drained_at,
    );
    assert_eq!(next.now, late + COSTS.near + COSTS.hit + COSTS.exchange);
}

#[test]
fn distance_counts() {
    let mut directory = Directory::new(COSTS, 600);
    access(&mut directory, 0, Access::Store);
    let late = 1_000_000;
    assert_eq!(
        at(&mut directory, 64, Access::Load, late),
        COSTS.far + COSTS.hit
    );
    assert_eq!(
        at(&mut directory, 512, Access::Load, 2 * late),
        COSTS.farthest + COSTS.hit
    );
    // The nearest copy answers.
    assert_eq!(
        at(&mut directory, 513, Access::Load, 3 * late),
        COSTS.near + COSTS.hit
    );
}

#[test]
fn requests_for_one_line_queue() {
    let mut directory = Directory::new(COSTS, 4);
    access(&mut directory, 0, Access::Store);
    let late = 1_000_000;
    let first = at(&mut directory, 1, Access::Exchange, late);
    let second = at(&mut directory, 2, Access::Exchange, late);
    assert_eq!(second - first, COSTS.near);
    let (_, traffic, _) = directory.shared_lines().next().unwrap();
    assert_eq!(
        (traffic.transfers, traffic.exclusive, traffic.waited),
        (3, 3, COSTS.near)
    );
}

#[test]
fn a_window_counts_shared_lines_hits_included() {
    let mut directory = Directory::new(COSTS, 4);
    access(&mut directory, 0, Access::Load);
    assert_eq!(directory.begin_window(), 0, "one core has used it");
    access(&mut directory, 1, Access::Load);
    assert_eq!(directory.begin_window(), 1);
    access(&mut directory, 1, Access::Load);
    access(&mut directory, 1, Access::Load);
    assert_eq!(directory.begin_window(), 1, "a hit counts, once");
    assert_eq!(directory.begin_window(), 0);
}

#[test]
fn memory_that_is_free_of_charge_is_a_hit_for_every_core() {
    let (free, other) = (Box::new([0_u64; 8]), Box::new([0_u64; 8]));
    let mut directory = Directory::new(COSTS, 2);
    let parts = Parts::from_iter([Part::Injector]);
    directory.add_region(Region::of(Part::Injector, &*free), parts);
    directory.add_region(Region::of(Part::Counters, &*other), parts);
    let mut exchange = |address: *const [u64; 8], core| {
        let access = Access::Exchange;
        let price = directory.access(core, 0, access, address.addr(), site(), 0, 0);
        price.now
    };
    for core in [0, 1] {
        assert_eq!(exchange(&raw const *free, core), COSTS.hit);
    }
    assert_ne!(exchange(&raw const *other, 0), COSTS.hit);
    assert_eq!(directory.shared_lines().count(), 0, "no traffic is noted");
}

#[test]
fn memory_that_is_freed_is_forgotten() {
    let mut directory = Directory::new(COSTS, 4);
    access(&mut directory, 0, Access::Load);
    access(&mut directory, 1, Access::Load);
    directory.forget(ADDRESS, 64);
    assert_eq!(directory.begin_window(), 1, "it was touched before");
    assert_eq!(
        access(&mut directory, 1, Access::Load),
        COSTS.memory + COSTS.hit
    );
}
