//! Closures that each worker runs.

use pool_std::BroadcastContext;

use crate::tlv::Value;

/// Runs a closure on each worker of the current pool, with the caller's value of
/// [`TLV`](crate::tlv::TLV), and waits for all: [`pool_std::broadcast()`].
///
/// # Panics
/// Continues the panic of a closure.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let value = Value::current();
    pool_std::broadcast(|context| value.with(|| op(context)))
}

/// Spawns a job on each worker of the current pool. The jobs begin with a null
/// [`TLV`](crate::tlv::TLV): [`pool_std::spawn_broadcast`].
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    pool_std::spawn_broadcast(move |context| Value::NULL.with(|| op(context)));
}
