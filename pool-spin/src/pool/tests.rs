//! Tests of pools on a host, where threads take the place of cores.

use std::{sync::Barrier, thread};

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

/// Reduces a number of repetitions under Miri, which is slow.
const fn times(count: usize) -> usize {
    if cfg!(miri) {
        count.div_ceil(25)
    } else {
        count
    }
}
