#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod oracle;
#[cfg(not(loom))]
mod steps;
