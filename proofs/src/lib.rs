//! What threads can observe of each other under the memory model of C++20 and Rust: all executions
//! of a small program.
//!
//! And all executions of a small pool, with a sleep protocol that is played step by step.
//!
//! [`Litmus`](litmus::Litmus) is a program, which is read from text, and [`memory::check`] goes
//! through its executions. The README of this crate describes the text, the model, and the programs
//! that are in the repository. `cargo xtask litmus FILE` checks one.
//!
//! [`pool::check`] plays a pool, as a [`Model`](model::Model) that [`model::explore()`] goes
//! through. `cargo xtask model SCENARIO` does so.

pub mod litmus;
pub mod memory;
pub mod model;
pub mod pool;
