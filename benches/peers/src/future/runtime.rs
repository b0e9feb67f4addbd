//! What polls futures.

use std::{
    future::{Future, poll_fn},
    task::Poll,
};

use pool_std::{JoinHandle, ThreadPool};
use tokio::{runtime, task};

use crate::pools::Pool;

/// A pool that polls futures.
pub(crate) trait Runtime: Pool {
    /// Spawns a future and waits for its result, on a thread outside.
    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T;

    /// Spawns a future whose result is not wanted, on a thread outside.
    fn spawn_from_outside(&self, future: impl Future<Output = ()> + Send + 'static);

    /// Spawns a future, within another one.
    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Spawns a closure that computes, within a future.
    fn compute<T: Send + 'static>(
        closure: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send;

    /// Lets other futures be polled first.
    fn give_way() -> impl Future<Output = ()> + Send;
}

impl Runtime for ThreadPool {
    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.spawn_future(future).join().expect("it does not panic")
    }

    fn spawn_from_outside(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.spawn_future(future));
    }

    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        result_of(pool_std::spawn_future(future))
    }

    fn compute<T: Send + 'static>(
        closure: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        result_of(pool_std::spawn_handle(closure))
    }

    async fn give_way() {
        let mut has_given_way = false;
        poll_fn(|context| {
            if has_given_way {
                return Poll::Ready(());
            }
            has_given_way = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

async fn result_of<T>(handle: JoinHandle<T>) -> T {
    handle.await.expect("it does not panic")
}

impl Pool for runtime::Runtime {
    const SYSTEM: &str = "tokio";

    fn new(threads: usize) -> Self {
        let mut builder = runtime::Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder.build().expect("a small pool")
    }
}

impl Runtime for runtime::Runtime {
    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        let handle = self.spawn(future);
        self.block_on(handle).expect("it does not panic")
    }

    fn spawn_from_outside(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.spawn(future));
    }

    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        value_of(task::spawn(future))
    }

    fn compute<T: Send + 'static>(
        closure: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        value_of(task::spawn_blocking(closure))
    }

    async fn give_way() {
        task::yield_now().await;
    }
}

async fn value_of<T>(handle: task::JoinHandle<T>) -> T {
    handle.await.expect("it does not panic")
}
