//! What the pool asks of the operating system, as safe functions.
//!
//! | file | systems |
//! | --- | --- |
//! | `system/linux.rs` | Linux and Android |
//! | `system/apple.rs` | macOS and the other systems of Apple |
//! | `system/windows.rs` | Windows, from version 8 |
//! | `system/unknown.rs` | all others, and Miri: what only makes a pool faster is left out |
//!
//! What macOS, Windows and Android do not have, they take from the last.

#[cfg_attr(
    all(any(target_os = "linux", target_os = "android"), not(miri)),
    path = "system/linux.rs"
)]
#[cfg_attr(all(target_vendor = "apple", not(miri)), path = "system/apple.rs")]
#[cfg_attr(
    all(windows, not(any(target_vendor = "win7", miri))),
    path = "system/windows.rs"
)]
#[cfg_attr(
    any(
        not(any(
            target_os = "linux",
            target_os = "android",
            target_vendor = "apple",
            windows
        )),
        target_vendor = "win7",
        miri
    ),
    path = "system/unknown.rs"
)]
mod this;
#[cfg(all(
    any(
        target_vendor = "apple",
        windows,
        all(
            any(target_os = "linux", target_os = "android"),
            not(any(target_env = "gnu", target_env = "musl"))
        )
    ),
    not(miri)
))]
mod unknown;

pub(crate) use this::*;

/// The stack of a thread, which grows downward.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stack {
    pub(crate) lowest: usize,
    pub(crate) size: usize,
}

/// What a thread of this process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "some systems do not say")]
pub(crate) enum ThreadState {
    /// It runs, or waits for nothing but a processor.
    Running,
    /// The kernel keeps it until something has ended, which needs no other thread as a rule.
    Kept,
    /// It sleeps in a system call: it waits for a lock, for input, or for a time.
    Sleeping,
    /// It was stopped, or has ended.
    Stopped,
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::AtomicU32,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn a_wait_for_a_word_ends_at_its_limit() {
        const LIMIT: Duration = Duration::from_millis(120);
        let word = AtomicU32::new(0);
        let start = Instant::now();
        while let Some(rest) = LIMIT
            .checked_sub(start.elapsed())
            .filter(|rest| !rest.is_zero())
        {
            futex_wait(&word, 0, Some(rest));
        }
        assert!(start.elapsed() >= LIMIT);
        // With another value it does not wait at all.
        futex_wait(&word, 1, None);
    }
}
