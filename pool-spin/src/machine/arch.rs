//! Instructions that the language has no names for, for each architecture.
//!
//! None of them is `nomem`: the compiler may move no access to memory across one, since what they
//! wait for is written by others.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(all(target_arch = "arm", target_os = "none"))]
mod cortex_m;
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
mod riscv;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub use aarch64::Aarch64;
#[cfg(all(target_arch = "arm", target_os = "none"))]
pub use cortex_m::CortexM;
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
pub use riscv::{MachineMode, SupervisorMode};
#[cfg(target_arch = "x86_64")]
pub use x86_64::X86_64;
