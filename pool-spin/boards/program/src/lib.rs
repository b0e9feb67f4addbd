//! The program that every board runs: the same tests of the pool, on cores that truly sleep.
//!
//! A board boots, implements [`Board`], and calls [`boot_core`] on the core that boots,
//! [`other_core`] on each other one, and [`timer_interrupt`] in its timer's handler.
#![no_std]

mod blocking;
mod board;
mod console;
mod cores;
mod lossy;
mod mode;
mod protocol;
mod restart;
mod tests;
mod timer;
#[cfg(feature = "trace")]
mod trace;

pub use blocking::{Blocking, DetectingPool, detecting_pool};
pub use board::Board;
pub use console::Console;
pub use cores::{boot_core, other_core};
pub use lossy::Lossy;
pub use mode::Mode;
pub use protocol::pool;
pub use timer::timer_interrupt;

use pool_spin::{Cores, SpinPool};

/// The number of jobs that each worker's deque has room for.
pub const JOBS: usize = 64;

/// The type parameter of most pools.
type Chip<B, const CORES: usize> = Cores<B, CORES, JOBS, protocol::Sleep<B, CORES>>;
/// The pool of most tests.
pub type Pool<B, const CORES: usize> = SpinPool<Chip<B, CORES>>;
/// A worker of a board's pool.
type Worker<'w, B, const CORES: usize> = pool_spin::Worker<'w, Chip<B, CORES>>;
