#[cfg(not(loom))]
use super::*;

#[cfg(not(loom))]
mod steps;
