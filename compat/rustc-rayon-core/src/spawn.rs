//! Jobs that no caller waits for, which begin with a null [`TLV`](crate::tlv::TLV): what the
//! spawner's value points to may have ended by then.

use crate::tlv::Value;

/// Spawns a job on the current pool: [`pool_std::spawn()`].
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    pool_std::spawn(move || Value::NULL.with(func));
}

/// Spawns a job on the current pool; those of one worker start in order: [`pool_std::spawn_fifo`].
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    pool_std::spawn_fifo(move || Value::NULL.with(func));
}
