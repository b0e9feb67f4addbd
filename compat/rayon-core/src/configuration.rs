//! The older way to set up a pool.
#![allow(deprecated)]

use crate::{builder::ThreadPoolBuilder, thread_pool::ThreadPool};

rayon_names::configuration!();
