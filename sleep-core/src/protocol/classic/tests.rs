#[cfg(not(loom))]
mod examples;
#[cfg(not(loom))]
mod steps;
