#[cfg(loom)]
mod loom;
