//! How many elements a batch has.

/// The most elements of a batch whose caller names no limit.
pub(crate) const MAX_BATCH: usize = 32;

/// Panics if the caller's limit is zero.
#[track_caller]
pub(crate) fn check_limit(limit: usize) {
    assert!(limit > 0, "a batch has at least one element");
}

/// Returns how many elements a batch takes when this many are available. Half is rounded up: half
/// of one must be one, or the last element could not be stolen.
pub(crate) fn size(available: usize, limit: usize) -> usize {
    available.div_ceil(2).min(limit)
}
