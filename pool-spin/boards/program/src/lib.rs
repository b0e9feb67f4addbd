//! The program that every board runs: the same tests of the pool, on cores that truly sleep.
#![no_std]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

mod board;
mod lossy;
mod mode;

pub use board::Board;
pub use lossy::Lossy;
pub use mode::Mode;
