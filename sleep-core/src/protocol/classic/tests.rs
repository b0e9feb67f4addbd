#[cfg(not(loom))]
mod examples;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod sequential;
#[cfg(not(loom))]
mod steps;
