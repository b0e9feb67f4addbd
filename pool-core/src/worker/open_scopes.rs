//! The scopes that a worker's innermost job has opened, while the worker waits in isolation.
//!
//! What a thread that is not a worker spawns in such a scope is in a queue of the scope, and in
//! none of those that the worker looks at. So a frame that waits for the scope, or for one of its
//! jobs, finds the queue here.

use core::{cell::Cell, fmt, mem, ptr};

use deque_core::Position;

use crate::job::JobRef;

#[cfg(test)]
mod tests;

/// Takes a job of a scope that no worker has queued.
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
    /// How many jobs of the worker are one inside the other where it is opened.
    depth: usize,
    outer: *const Self,
}

/// Puts the list back as it was when it is dropped, by a panic too.
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

    /// Calls a closure while a scope is open, whose jobs are taken by `take`, and from the worker's
    /// deque from a position on, in a job at this depth.
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

    /// Returns the position from which on the jobs of the innermost scope are on the worker's
    /// deque.
    pub(super) fn begin_of_innermost(&self) -> Option<Position> {
        self.scopes().next().map(|scope| scope.from.get())
    }

    /// Says that the deque ends at this position, because an older job was popped. What is pushed
    /// from now on takes the positions of popped jobs, and may be of any of these scopes.
    pub(super) fn lower_begins(&self, end: Position) {
        // An outer scope does not begin later than an inner one.
        for scope in self.scopes() {
            if end.is_at_or_after(scope.from.get()) {
                break;
            }
            scope.from.set(end);
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

    /// Takes a job of one of the innermost scopes, of this many at most, and of those alone that
    /// the job at this depth has opened.
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
