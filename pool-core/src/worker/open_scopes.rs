//! The scopes that a worker's innermost job has opened, while the worker waits in isolation.
//!
//! Jobs that a thread outside the pool spawns in such a scope are in a queue of the scope, and in
//! none of the queues that the worker usually looks at. So a frame that waits for the scope, or for
//! one of its jobs, finds the queue of the scope here.

use core::{cell::Cell, fmt, mem, ptr};

use deque_core::Position;

use crate::job::JobRef;

#[cfg(test)]
mod tests;

/// Takes one of the jobs of a scope that no worker has queued.
pub(crate) type TakeOutside<'a> = &'a (dyn Fn() -> Option<JobRef> + Sync);

/// The open scopes of a worker's innermost job.
pub(super) struct OpenScopes {
    innermost: Cell<*const OpenScope>,
}

/// A scope, in the frame that opens it.
struct OpenScope {
    /// Valid while the scope is in the list.
    take: TakeOutside<'static>,
    /// Its jobs on the worker's deque begin here, or later.
    from: Cell<Position>,
    /// How many jobs of the worker are nested where the scope is opened.
    depth: usize,
    outer: *const Self,
}

/// Restores the list when this is dropped, even by a panic.
pub(super) struct Reset<'w> {
    list: &'w OpenScopes,
    outer: *const OpenScope,
}

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        self.list.innermost.set(self.outer);
    }
}

impl OpenScopes {
    pub(super) const fn new() -> Self {
        Self {
            innermost: Cell::new(ptr::null()),
        }
    }

    /// Hides the scopes that are open, while another job runs.
    pub(super) fn hide(&self) -> Reset<'_> {
        Reset {
            list: self,
            outer: self.innermost.replace(ptr::null()),
        }
    }

    /// Calls a closure while a scope is open that a job at this depth has opened. The scope's jobs
    /// are taken by `take`, and from the worker's deque from the position `from` on.
    pub(super) fn while_open<R>(
        &self,
        take: TakeOutside<'_>,
        from: Position,
        depth: usize,
        closure: impl FnOnce() -> R,
    ) -> R {
        let outer = self.innermost.get();
        let scope = OpenScope {
            // SAFETY: only the lifetime changes. The list has the scope until this call ends.
            take: unsafe { mem::transmute::<TakeOutside<'_>, TakeOutside<'static>>(take) },
            from: Cell::new(from),
            depth,
            outer,
        };
        self.innermost.set(&raw const scope);
        let _reset = Reset { list: self, outer };
        closure()
    }

    /// Returns the position at which the jobs of the innermost scope begin on the worker's deque.
    pub(super) fn begin_of_innermost(&self) -> Option<Position> {
        self.scopes().next().map(|scope| scope.from.get())
    }

    /// Notes that the deque ends at this position, because an older job was popped. Jobs that are
    /// pushed from now on take the positions of popped jobs, and may belong to any of these scopes.
    pub(super) fn lower_begins(&self, end: Position) {
        // All of them: a scope that was created before another one may be completed within it.
        for scope in self.scopes() {
            if !end.is_at_or_after(scope.from.get()) {
                scope.from.set(end);
            }
        }
    }

    /// Returns the scopes, the innermost one first.
    fn scopes(&self) -> impl Iterator<Item = &OpenScope> {
        // SAFETY: a scope is in the list while the call that has put it there runs. This thread is
        // within that call, or has borrowed the worker from the thread that is; and no caller keeps
        // the reference.
        let scope_at = |scope: *const OpenScope| unsafe { scope.as_ref() };
        core::iter::successors(scope_at(self.innermost.get()), move |scope| {
            scope_at(scope.outer)
        })
    }

    /// Takes a job of one of the `num_scopes` innermost scopes, but only of scopes that the job at
    /// this depth has opened.
    pub(super) fn find_job(&self, num_scopes: usize, depth: usize) -> Option<JobRef> {
        let is_own = |scope: &&OpenScope| scope.depth >= depth;
        let mut scopes = self.scopes().take(num_scopes).take_while(is_own);
        scopes.find_map(|scope| (scope.take)())
    }
}

impl fmt::Debug for OpenScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenScopes").finish_non_exhaustive()
    }
}
