use super::*;

#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod sequential;
#[cfg(not(loom))]
mod steps;
