//! Measurements of our crates and their peers in one process.

mod join;

use protocol::{serve, thread_counts};

fn main() -> std::io::Result<()> {
    serve(join::cases(&thread_counts()))
}
