//! The clock of the workers' times.

use std::time::Instant;

use crate::sync::First;

/// Elsewhere `Instant::now` panics.
const HAS_CLOCK: bool = !cfg!(all(target_family = "wasm", target_os = "unknown"));

/// Returns the time in nanoseconds since the first call in this process. None on systems where the
/// standard library has no clock.
pub(crate) fn now() -> Option<u64> {
    static START: First<Instant> = First::new();

    if !HAS_CLOCK {
        return None;
    }
    let nanoseconds = START.get_or_set(Instant::now).elapsed().as_nanos();
    // Enough for 584 years.
    u64::try_from(nanoseconds).ok()
}

/// Returns the present moment. None on systems where the standard library has no clock.
pub(crate) fn instant() -> Option<Instant> {
    HAS_CLOCK.then(Instant::now)
}
