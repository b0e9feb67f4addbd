//! Input and output: one suite for every backend.
#![cfg(all(
    feature = "io-uring",
    target_os = "linux",
    target_pointer_width = "64",
    not(miri)
))]

mod support;

#[path = "io/child.rs"]
mod child;
#[path = "io/suite.rs"]
mod suite;

use pool_std::io::IoBackend;

suite::suite!(helper_threads, IoBackend::HelperThreads);
