use super::*;

#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod values;
