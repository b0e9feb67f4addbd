//! The threads that carry operations out, beside the workers.

use std::{cell::Cell, io, ptr, sync::Arc, thread};

use crate::{io::operation::Next, platform::Registry};

thread_local! {
    /// The pool whose operations this thread carries out, or null.
    static SERVED: Cell<*const Registry> = const { Cell::new(ptr::null()) };
}

/// Whether this thread carries out the operations of a pool, so that the pool's end waits for it.
pub(crate) fn serves(registry: &Registry) -> bool {
    ptr::eq(SERVED.get(), registry)
}

/// Starts a thread that counts as one of the pool, so that those that wait for the pool wait for it.
///
/// # Errors
/// If the system refuses the thread.
pub(super) fn start(
    registry: &Arc<Registry>,
    name: &str,
    body: impl FnOnce(&Arc<Registry>) + Send + 'static,
) -> io::Result<()> {
    struct Running(Arc<Registry>);

    impl Drop for Running {
        fn drop(&mut self) {
            self.0.data().thread_has_stopped();
        }
    }

    let data = registry.data();
    let _starting = data.count_starting();
    data.thread_will_run();
    // Dropped with the closure if the thread does not start.
    let running = Running(registry.clone());
    let builder = thread::Builder::new().name(name.to_owned());
    data.keep_thread(builder.spawn(move || {
        // All of it is captured, and so is dropped here.
        let running = running;
        SERVED.set(Arc::as_ptr(&running.0));
        body(&running.0);
    })?);
    Ok(())
}

/// Does what an operation that was concluded asks for, on a thread that is not a worker. Returns whether it is
/// to be submitted again.
pub(super) fn follow(registry: &Registry, next: Next) -> bool {
    match next {
        Next::Finished => false,
        Next::Again => true,
        Next::Wake(waker) => {
            registry
                .data()
                .run_and_handle_panic("a waker", || waker.wake());
            false
        }
    }
}
