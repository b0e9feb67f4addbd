//! The setting that determines what threads outside the pool may do in it.

use super::ThreadPoolBuilder;
use crate::{
    sleep::SleepKind,
    thread_pool::{call::Guests, environment, parts::PoolParts},
};

impl<S> ThreadPoolBuilder<S> {
    /// Sets whether a thread outside every pool may run closures itself, in place of a sleeping
    /// worker: in [`ThreadPool::call`](crate::ThreadPool::call), and if this is the global pool,
    /// also in [`join`](crate::join()), [`join_context`](crate::join_context()),
    /// [`join_n`](crate::join_n), [`join!`](crate::join!), [`try_join`](crate::try_join),
    /// [`scope`](crate::scope()), [`scope_fifo`](crate::scope_fifo),
    /// [`try_scope`](crate::try_scope), [`isolate`](crate::isolate),
    /// [`with_isolation`](crate::with_isolation) and [`with_worker`](crate::with_worker). The
    /// default is true.
    ///
    /// This setting also applies to crates that provide these functions under their own names,
    /// whose default may [differ](crate::CurrentPool).
    ///
    /// With `false`, such closures run on the pool's own threads, as in
    /// [`install`](crate::ThreadPool::install). Use it if they rely on properties of those threads,
    /// such as the size of their stacks, or thread-locals that a [start
    /// handler](Self::start_handler) sets.
    ///
    /// Regardless of this setting, a pool has no guests if its [sleep protocol](Self::sleep) is
    /// `Classic`, `Hints` or `Seeded`, if it has a [deadlock handler](Self::deadlock_handler),
    /// acquire and release handlers ([`acquire_thread_handler`](Self::acquire_thread_handler)), or
    /// a [driver](Self::driver), or if it is [breadth-first](Self::breadth_first). A thread does
    /// not become a guest while it is [panicking](std::thread::panicking), nor if too little of its
    /// stack is left: seven eighths of the workers' [`stack_size`](Self::stack_size), or else of
    /// the standard library's variable `RUST_MIN_STACK`; if neither is set, 1 MiB, which is half of
    /// a worker's stack. What is left of a stack is known on Linux, Android, Windows, macOS and
    /// iOS.
    ///
    /// A worker that waits in such a call, guest or not, runs only descendants of the jobs that it
    /// waits for, as in [`isolate`](crate::isolate). So the caller may hold locks that other jobs
    /// need, unless every worker is blocked on them when the call begins.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .guests(false)
    ///     .build()?;
    /// let caller = std::thread::current().id();
    /// assert_ne!(pool.call(|| std::thread::current().id()), caller);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn guests(mut self, guests: bool) -> Self {
        self.settings.guests = Some(guests);
        self
    }

    /// Returns what was chosen, for a pool that sleeps so.
    pub(super) fn chosen_guests(&self, parts: &PoolParts, kind: SleepKind) -> Guests {
        let are_possible = matches!(kind, SleepKind::Jec | SleepKind::Sockets)
            && self.settings.deadlock_handler.is_none()
            && parts.handlers.runnable.are_none()
            && parts.drivers.first().is_none()
            // Such a deque cannot leave older jobs alone, as the waits of a guest must.
            && !self.settings.is_breadth_first;
        let stack_size = self.settings.stack_size.or_else(environment::stack_size);
        Guests::new(are_possible, self.settings.guests, stack_size)
    }
}
