//! Measurements of our crates and their peers in one process.

mod blocking;
mod call;
mod computation;
mod counting;
mod crowd;
mod deque;
mod fork_join;
#[cfg(target_os = "linux")]
mod futex;
mod future;
mod join;
mod latch;
mod overlooked;
mod pools;
mod progress;
mod protocols;
mod regions;
mod sparse;
mod spawn;
mod spawning;
mod tick;
mod wake;

use pools::Pools;
use protocol::{serve, thread_counts};

fn main() -> std::io::Result<()> {
    // While there is one thread only; later it takes milliseconds.
    let _is_there = pool_std::ProcessBarrier::is_by_system();
    let pools: Vec<_> = thread_counts().into_iter().map(Pools::new).collect();
    let groups = [
        join::cases(&pools),
        deque::cases(),
        spawn::cases(&pools),
        wake::cases(&pools),
        call::cases(&pools),
        future::cases(&pools),
        blocking::cases(&pools),
        sparse::cases(),
        tick::cases(),
        crowd::cases(),
        progress::cases(&thread_counts()),
        overlooked::cases(&pools),
        protocols::cases(&pools),
        regions::cases(),
    ];
    serve(groups.into_iter().flatten().collect())
}
