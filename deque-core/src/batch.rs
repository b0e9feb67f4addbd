//! How many elements a batch has.

/// The most elements of a batch whose caller names no limit.
pub(crate) const MAX_BATCH: usize = 32;

/// How many of so many elements a batch has. Half rounded up: half of one must be one, or the last
/// element could not be stolen.
pub(crate) const fn half(available: usize) -> usize {
    available.div_ceil(2)
}
