#[cfg(not(loom))]
mod crowd;
#[cfg(not(loom))]
mod hints;
#[cfg(not(loom))]
mod left_out;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod moving;
#[cfg(not(loom))]
mod operations;
#[cfg(not(loom))]
mod protocols;
#[cfg(not(loom))]
mod retries;
#[cfg(not(loom))]
mod steps;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod waiting;
