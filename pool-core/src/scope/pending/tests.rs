use core::mem::{offset_of, size_of};

use super::*;
use crate::testing::Test;

type Jobs = PendingJobs<'static, Test>;

const LINE: usize = 64;

/// Checks that a worker that spawns and one that ends a job write no line of each other, in a
/// frame that is not aligned.
#[test]
fn what_different_workers_write_is_on_different_lines() {
    let latch = offset_of!(Jobs, latch);
    let latch_end = latch + size_of::<CountLatch<'static, Test>>();
    let last_read = offset_of!(Jobs, isolation).max(offset_of!(Jobs, owner));
    assert!(latch >= last_read + LINE);
    assert!(offset_of!(Jobs, left) + size_of::<AtomicUsize>() >= latch_end + LINE);
}

/// Checks that a recursion that opens scopes has stack left: with lines of their own by an
/// alignment, a scope took 512 bytes.
#[test]
fn a_scope_takes_little_stack() {
    assert!(size_of::<crate::ScopeCore<'static, Test>>() <= 256);
}
