//! The pool under [`ThreadPool`](crate::ThreadPool): one of pool-std, whose jobs run with a value of
//! [`TLV`](crate::tlv::TLV).

use pool_std::BroadcastContext;

use crate::{
    scope::{Scope, ScopeFifo},
    tlv::Value,
};

pub(crate) struct Pool {
    pool: pool_std::ThreadPool,
}

impl From<pool_std::ThreadPool> for Pool {
    fn from(pool: pool_std::ThreadPool) -> Self {
        Self { pool }
    }
}

/// Each function wraps closures and calls the function of that name of [`pool_std::ThreadPool`].
impl Pool {
    pub(crate) fn install<R: Send>(&self, op: impl FnOnce() -> R + Send) -> R {
        let value = Value::current();
        self.pool.install(move || value.with(op))
    }

    pub(crate) fn broadcast<R: Send>(
        &self,
        op: impl Fn(BroadcastContext<'_>) -> R + Sync,
    ) -> Vec<R> {
        let value = Value::current();
        self.pool.broadcast(|context| value.with(|| op(context)))
    }

    pub(crate) fn join<RA: Send, RB: Send>(
        &self,
        a: impl FnOnce() -> RA + Send,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        self.install(|| crate::join(a, b))
    }

    pub(crate) fn scope<'scope, R: Send>(&self, op: impl FnOnce(&Scope<'scope>) -> R + Send) -> R {
        self.install(|| crate::scope(op))
    }

    pub(crate) fn scope_fifo<'scope, R: Send>(
        &self,
        op: impl FnOnce(&ScopeFifo<'scope>) -> R + Send,
    ) -> R {
        self.install(|| crate::scope_fifo(op))
    }

    pub(crate) fn in_place_scope<'scope, R>(&self, op: impl FnOnce(&Scope<'scope>) -> R) -> R {
        self.pool.in_place_scope(Scope::body(op))
    }

    pub(crate) fn in_place_scope_fifo<'scope, R>(
        &self,
        op: impl FnOnce(&ScopeFifo<'scope>) -> R,
    ) -> R {
        self.pool.in_place_scope_fifo(ScopeFifo::body(op))
    }

    pub(crate) fn spawn(&self, op: impl FnOnce() + Send + 'static) {
        self.pool.spawn(move || Value::NULL.with(op));
    }

    pub(crate) fn spawn_fifo(&self, op: impl FnOnce() + Send + 'static) {
        self.pool.spawn_fifo(move || Value::NULL.with(op));
    }

    pub(crate) fn spawn_broadcast(
        &self,
        op: impl Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    ) {
        self.pool
            .spawn_broadcast(move |context| Value::NULL.with(|| op(context)));
    }
}

/// What concerns no job is as it is.
impl std::ops::Deref for Pool {
    type Target = pool_std::ThreadPool;

    fn deref(&self) -> &Self::Target {
        &self.pool
    }
}
