//! What the pool asks of the operating system, as safe functions.
//!
//! | file | systems |
//! | --- | --- |
//! | `system/linux.rs` | Linux and Android |
//! | `system/windows.rs` | Windows, from version 8 |
//! | `system/unknown.rs` | all others, and Miri: what only makes a pool faster is left out |

#[cfg_attr(
    all(any(target_os = "linux", target_os = "android"), not(miri)),
    path = "system/linux.rs"
)]
#[cfg_attr(
    all(windows, not(any(target_vendor = "win7", miri))),
    path = "system/windows.rs"
)]
#[cfg_attr(
    any(
        not(any(target_os = "linux", target_os = "android", windows)),
        target_vendor = "win7",
        miri
    ),
    path = "system/unknown.rs"
)]
mod this;

pub(crate) use this::*;

/// The stack of a thread, which grows downward.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stack {
    pub(crate) lowest: usize,
    pub(crate) size: usize,
}
