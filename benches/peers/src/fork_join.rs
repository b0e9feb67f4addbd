//! Fork and join, by each system.

use std::{hint::black_box, time::Duration};

use crate::{
    computation::spin,
    pools::{Pool, Sequential},
};

/// A pool that can fork and join.
pub(crate) trait ForkJoin: Pool {
    /// What a program hands down from join to join.
    type Context<'c>;

    /// Runs a program on the pool.
    fn run<R: Send>(&self, program: impl FnOnce(&mut Self::Context<'_>) -> R + Send) -> R;

    /// Runs a program in the pool as a thread outside does that wants the result soon: on that
    /// thread itself, if the system can.
    fn call<R: Send>(&self, program: impl FnOnce(&mut Self::Context<'_>) -> R + Send) -> R {
        self.run(program)
    }

    /// Runs `first`, and meanwhile queues `second` for a thread that has nothing to do.
    fn join<A: Send, B: Send>(
        context: &mut Self::Context<'_>,
        first: impl FnOnce(&mut Self::Context<'_>) -> A + Send,
        second: impl FnOnce(&mut Self::Context<'_>) -> B + Send,
    ) -> (A, B);
}

/// Runs a parallel region: so many jobs that take so long each, split in halves.
pub(crate) fn region<P: ForkJoin>(context: &mut P::Context<'_>, jobs: usize, job: Duration) {
    if jobs == 1 {
        spin(job);
    } else {
        let half = jobs / 2;
        P::join(
            context,
            |context| region::<P>(context, half, job),
            |context| region::<P>(context, jobs - half, job),
        );
    }
}

impl ForkJoin for pool_std::ThreadPool {
    type Context<'c> = ();

    fn run<R: Send>(&self, program: impl FnOnce(&mut ()) -> R + Send) -> R {
        self.install(|| program(&mut ()))
    }

    fn call<R: Send>(&self, program: impl FnOnce(&mut ()) -> R + Send) -> R {
        self.call(|| program(&mut ()))
    }

    #[inline]
    fn join<A: Send, B: Send>(
        _: &mut (),
        first: impl FnOnce(&mut ()) -> A + Send,
        second: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        pool_std::join(|| first(&mut ()), || second(&mut ()))
    }
}

impl ForkJoin for rayon_core::ThreadPool {
    type Context<'c> = ();

    fn run<R: Send>(&self, program: impl FnOnce(&mut ()) -> R + Send) -> R {
        self.install(|| program(&mut ()))
    }

    #[inline]
    fn join<A: Send, B: Send>(
        _: &mut (),
        first: impl FnOnce(&mut ()) -> A + Send,
        second: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        rayon_core::join(|| first(&mut ()), || second(&mut ()))
    }
}

impl ForkJoin for chili::ThreadPool {
    type Context<'c> = chili::Scope<'c>;

    fn run<R: Send>(&self, program: impl FnOnce(&mut chili::Scope<'_>) -> R + Send) -> R {
        program(&mut self.scope())
    }

    #[inline]
    fn join<A: Send, B: Send>(
        scope: &mut chili::Scope<'_>,
        first: impl FnOnce(&mut chili::Scope<'_>) -> A + Send,
        second: impl FnOnce(&mut chili::Scope<'_>) -> B + Send,
    ) -> (A, B) {
        // Of the two, it is the former that chili queues.
        let (second, first) = scope.join(second, first);
        (first, second)
    }
}

impl ForkJoin for Sequential {
    type Context<'c> = ();

    fn run<R: Send>(&self, program: impl FnOnce(&mut ()) -> R + Send) -> R {
        program(&mut ())
    }

    #[inline]
    fn join<A: Send, B: Send>(
        _: &mut (),
        first: impl FnOnce(&mut ()) -> A + Send,
        second: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        let first = first(&mut ());
        // The compiler would make a loop of it, but it is calls that joins are compared with.
        let second = black_box(second)(&mut ());
        (first, second)
    }
}
