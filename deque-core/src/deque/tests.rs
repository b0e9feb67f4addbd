use super::*;

#[cfg(all(
    not(loom),
    not(any(
        target_arch = "powerpc",
        target_arch = "powerpc64",
        target_arch = "arm"
    ))
))]
mod biased;
#[cfg(not(loom))]
mod fast_push;
#[cfg(not(loom))]
mod gate;
#[cfg(not(loom))]
mod handles;
#[cfg(not(loom))]
mod linear;
#[cfg(loom)]
mod loom;
#[cfg(loom)]
mod loom_batches;
#[cfg(loom)]
mod loom_biased;
#[cfg(not(loom))]
mod meddling;
#[cfg(not(loom))]
mod nested;
#[cfg(not(loom))]
mod room;
#[cfg(not(loom))]
mod sequences;
#[cfg(not(loom))]
mod shrink;
#[cfg(not(any(loom, miri)))]
mod states;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
mod values;
