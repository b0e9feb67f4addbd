//! What threads can observe of each other under the memory model of C++20 and Rust: all executions
//! of a small program.
//!
//! [`Litmus`](litmus::Litmus) is a program, which is read from text, and [`memory::check`] goes
//! through its executions. The README of this crate describes the text, the model, and the programs
//! that are in the repository. `cargo xtask litmus FILE` checks one.

pub mod litmus;
pub mod memory;
