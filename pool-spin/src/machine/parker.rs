//! How cores sleep.

mod halting;
mod hlt_ipi;
mod spin;
mod wfe;
mod wfi_ipi;

#[cfg(test)]
mod tests;

pub use hlt_ipi::HltIpi;
pub use spin::Spin;
pub use wfe::Wfe;
pub use wfi_ipi::WfiIpi;
