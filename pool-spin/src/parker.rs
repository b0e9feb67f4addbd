//! How cores sleep.

mod counting;
mod halting;
mod hlt_ipi;
mod spin;
#[cfg(any(target_arch = "aarch64", all(target_arch = "arm", target_os = "none")))]
mod wfe;
mod wfi_ipi;

pub(crate) use counting::Counting;
pub use hlt_ipi::HltIpi;
pub use spin::Spin;
#[cfg(any(target_arch = "aarch64", all(target_arch = "arm", target_os = "none")))]
pub use wfe::Wfe;
pub use wfi_ipi::WfiIpi;
