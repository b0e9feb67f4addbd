//! Runs the real sleep protocols and the real pool on up to 4,096 virtual workers.
//!
//! The page "The simulator" of the book says what it predicts, and what it cannot.

#[cfg(not(simulate))]
compile_error!("the simulator needs `--cfg simulate`: `cargo xtask simulate`");

mod allocator;
pub mod bars;
pub mod cost;
pub mod job;
pub mod machine;
pub mod observer;
pub mod platform;
pub mod plot;
pub mod protocol;
pub mod report;
pub mod simulation;
pub mod workload;

/// No two allocations share a line, see [`allocator`].
#[global_allocator]
static ALLOCATOR: allocator::LineAllocator = allocator::LineAllocator;
