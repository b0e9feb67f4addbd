//! Tests of pools on a host, where threads take the place of cores.

use std::{
    sync::{Arc, Barrier},
    thread,
};

use super::*;
use crate::host::{Host, with_workers};
use pool_core::{IdlePolicy, Isolation, UnknownWorker};

mod arriving_and_leaving;
mod broadcast;
mod full_deque;
mod isolation;
mod join;
#[cfg(feature = "metrics")]
mod metrics;
mod outside;
mod scope;
mod spawn;
#[cfg(feature = "trace")]
mod trace;
#[cfg(all(feature = "trace", not(sleep_busy)))]
mod traced;
#[cfg(all(unix, not(miri)))]
mod unwinding;

/// Reduces a number of repetitions under Miri, which is slow.
const fn times(count: usize) -> usize {
    match count.div_ceil(200) {
        _ if !cfg!(miri) => count,
        // Each repetition but the first follows another.
        0..2 => 2,
        count => count,
    }
}

/// The pools under test. With `--cfg sleep_busy` their workers never sleep.
#[cfg(not(sleep_busy))]
type TestCores<const CORES: usize, const JOBS: usize> = Cores<Host, CORES, JOBS>;
#[cfg(sleep_busy)]
type TestCores<const CORES: usize, const JOBS: usize> =
    Cores<Host, CORES, JOBS, pool_core::Busy<HostParker, [HostParker; CORES]>>;
#[cfg(sleep_busy)]
type HostParker = <Host as Machine>::Parker;

/// Creates a pool under test.
const fn pool<const CORES: usize, const JOBS: usize>(
    policy: IdlePolicy,
) -> SpinPool<TestCores<CORES, JOBS>> {
    #[cfg(not(sleep_busy))]
    return SpinPool::with_idle_policy(policy);
    #[cfg(sleep_busy)]
    return SpinPool::with_protocol(pool_core::Busy::from_array(
        [const { HostParker::NEW }; CORES],
        policy,
    ));
}

#[test]
fn one_core_does_not_spin() {
    static ONE: SpinPool<Cores<Host, 1, 2>> = SpinPool::new();
    static TWO: SpinPool<Cores<Host, 2, 2>> = SpinPool::new();
    let policies = [ONE.registry.sleep().policy(), TWO.registry.sleep().policy()];
    assert_eq!(policies[0].rounds_until_sleepy(), 0);
    assert_eq!(policies[1], IdlePolicy::DEFAULT);
}

/// Checks the sizes of the README, which are rounded to a tenth of a KiB.
#[cfg(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    feature = "metrics",
    not(feature = "trace")
))]
#[test]
fn a_pool_takes_as_much_memory_as_the_readme_says() {
    fn check<const CORES: usize, const JOBS: usize>() {
        let size = size_of::<SpinPool<Cores<Host, CORES, JOBS>>>();
        let said = JOBS * (112 + 8 * CORES) + (18 * CORES + 25) * 1024 / 10;
        let rounded = (CORES + 1) * 1024 / 20;
        assert!(size.abs_diff(said) <= rounded, "{size} bytes, not {said}");
    }
    check::<1, 16>();
    check::<1, 64>();
    check::<4, 64>();
    check::<8, 256>();
}
