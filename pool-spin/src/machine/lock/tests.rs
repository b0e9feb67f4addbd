use super::*;

#[cfg(not(loom))]
mod handlers;
#[cfg(loom)]
mod loom;
