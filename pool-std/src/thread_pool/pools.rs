//! The pools of the process, for what shows all of them.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    fork::PerProcess,
    platform::Registry,
    sync::{Mutex, MutexGuard, lock},
};

/// All pools that were built in this process, except those that are gone.
static POOLS: PerProcess<Mutex<Vec<Listed>>> = PerProcess::new();

struct Listed {
    /// Which pool of the process, from 1 on.
    number: usize,
    registry: Weak<Registry>,
}

fn pools() -> MutexGuard<'static, Vec<Listed>> {
    lock(POOLS.here())
}

/// Puts a pool on the list.
pub(crate) fn list(registry: &Arc<Registry>) {
    static NUMBERS: AtomicUsize = AtomicUsize::new(1);

    let mut pools = pools();
    pools.retain(|pool| pool.registry.strong_count() > 0);
    // Ordering: Relaxed; only the numbers matter.
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let registry = Arc::downgrade(registry);
    pools.push(Listed { number, registry });
}

/// Returns the pools that have not gone, with their numbers. In a child of `fork`, those that were
/// built there.
pub(crate) fn all() -> Vec<(usize, Arc<Registry>)> {
    let pools = pools();
    let living = pools
        .iter()
        .filter_map(|pool| Some((pool.number, pool.registry.upgrade()?)));
    living.collect()
}
