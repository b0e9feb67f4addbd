use super::*;

#[cfg(not(loom))]
mod left_behind;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod rounds;
#[cfg(not(loom))]
mod sequential;
#[cfg(not(loom))]
mod steps;
