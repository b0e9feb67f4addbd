#[cfg(not(loom))]
mod liar;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod threads;
