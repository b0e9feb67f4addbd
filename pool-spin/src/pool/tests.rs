//! Tests of pools on a host, where threads take the place of cores.

use std::{
    sync::{Arc, Barrier},
    thread,
};

use super::*;
use crate::host::{Host, with_workers};
use pool_core::{IdlePolicy, UnknownWorker};

mod arriving_and_leaving;
mod broadcast;
mod join;
#[cfg(feature = "metrics")]
mod metrics;
mod scope;
mod spawn;
#[cfg(feature = "trace")]
mod trace;
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
