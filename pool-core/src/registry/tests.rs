#[cfg(not(loom))]
mod injecting;
#[cfg(loom)]
mod loom;
#[cfg(not(any(loom, miri)))]
mod only_caller;
