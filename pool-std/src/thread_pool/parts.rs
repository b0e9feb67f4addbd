//! The parts of a pool beside its workers.

use std::sync::Arc;

use crate::{
    api::scope::OutsideScopes,
    blocking::{deadlock::Reporting, sections::Sections},
    driver::Drivers,
    fork::Process,
    seeded::Membership,
    sync::Mutex,
    thread_pool::{
        active::ActiveWorkers, call::Guests, discard::Discard, follow::Follower,
        handlers::Handlers, idle::Idle, lazy::LazyThreads, spares::Spares, threads::Threads,
        waits::Waits,
    },
    tracer::PoolRings,
};

/// What a pool keeps beside its workers.
#[derive(Default)]
pub(crate) struct PoolParts {
    /// Stored outside the registry, because deferred closures call them while the registry is
    /// dropped.
    pub(crate) handlers: Arc<Handlers>,
    pub(crate) threads: Threads,
    pub(crate) lazy: LazyThreads,
    #[cfg(feature = "pinning")]
    pub(crate) pins: crate::thread_pool::pins::Pins,
    /// What workers say about their blocked sections.
    pub(crate) sections: Sections,
    pub(crate) reporting: Reporting,
    /// Held while a broadcast is queued, see `Registry::inject_broadcast`.
    pub(crate) broadcasting: Mutex<()>,
    /// The scopes with jobs that no worker has queued.
    pub(crate) outside_scopes: OutsideScopes,
    /// Workers that fall asleep are to execute a process fence.
    pub(crate) overlooks_no_jobs: bool,
    pub(crate) guests: Guests,
    pub(crate) waits: Waits,
    /// If there are several workers, and the system says how much processor time they use.
    pub(crate) crowd: Option<Arc<crate::thread_pool::crowd::Crowd>>,
    pub(crate) active: ActiveWorkers,
    pub(crate) follower: Follower,
    pub(crate) spares: Spares,
    pub(crate) idle: Idle,
    pub(crate) discard: Discard,
    pub(crate) drivers: Drivers,
    /// If the pool is seeded.
    pub(crate) turns: Option<Membership>,
    pub(crate) rings: PoolRings,
    /// Where the pool was built.
    pub(crate) process: Process,
}
