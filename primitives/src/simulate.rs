//! The hook of the simulator, only under `--cfg simulate`.
//!
//! Each access that another thread could observe, and each fence, is announced to the calling
//! thread's hook before it takes place. A hook that switches between coroutines can so decide the
//! order of all accesses, and can price each of them. A thread without a hook makes the access and
//! nothing else.

use core::{cell::Cell, panic::Location};

extern crate std;

/// What a thread is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads.
    Load,
    /// Writes, and reads nothing.
    Store,
    /// Reads and writes in one step, or tries to.
    Exchange,
    /// Executes a sequentially consistent fence. It has no address.
    Fence,
    /// Tells the processor that it spins. It has no address.
    Spin,
}

/// Receives what the calling thread is about to do, at which address, and by which line of the
/// source.
pub type Hook = fn(Access, usize, &'static Location<'static>);

std::thread_local! {
    static HOOK: Cell<Option<Hook>> = const { Cell::new(None) };
}

/// Sets the hook of the calling thread. Returns the one that it had.
pub fn set_hook(hook: Option<Hook>) -> Option<Hook> {
    HOOK.replace(hook)
}

/// Announces an access to the hook of the calling thread, if it has one.
#[inline]
#[track_caller]
pub fn announce(access: Access, address: usize) {
    if let Some(hook) = HOOK.get() {
        hook(access, address, Location::caller());
    }
}
