#[cfg(not(loom))]
mod counters;
#[cfg(not(loom))]
mod counts;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod table;
