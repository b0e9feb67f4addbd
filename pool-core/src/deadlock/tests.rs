// Threads wait there for each other without end.
#[cfg(not(any(loom, miri)))]
mod late_note;
#[cfg(not(loom))]
mod leaving;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod threads;
