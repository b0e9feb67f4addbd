// Not under Miri: their threads wait for facts in loops of yields.
#[cfg(not(any(loom, miri)))]
mod liar;
#[cfg(loom)]
mod loom;
#[cfg(not(any(loom, miri)))]
mod threads;
