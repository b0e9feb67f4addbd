#[cfg(not(loom))]
mod injecting;
#[cfg(loom)]
mod loom;
