//! Threads of the host in place of cores.

use std::{sync::Barrier, thread};

use super::*;
use crate::host::{Host, with_workers};
use pool_core::{IdlePolicy, UnknownWorker};

mod broadcast;
mod coming_and_going;
mod join;
mod scope;
mod spawn;

/// So many times; fewer under Miri, which is slow.
const fn times(count: usize) -> usize {
    if cfg!(miri) {
        count.div_ceil(25)
    } else {
        count
    }
}
