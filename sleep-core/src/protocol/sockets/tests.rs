#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod sequential;
