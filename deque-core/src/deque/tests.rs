use super::*;

#[cfg(not(loom))]
mod biased;
#[cfg(not(loom))]
mod handles;
#[cfg(loom)]
mod loom;
#[cfg(loom)]
mod loom_biased;
#[cfg(not(loom))]
mod shrink;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod values;
