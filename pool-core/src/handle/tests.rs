//! Jobs that their queue and a handle share.

#[cfg(loom)]
mod loom;
