#[cfg(not(loom))]
mod late_note;
#[cfg(not(loom))]
mod leaving;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod threads;
