//! The settings of a pool that both drop-ins have.

use std::{any::Any, fmt};

use pool_std::max_num_threads;

/// A closure that is called on a worker's thread with the worker's number.
pub type WorkerHandler = dyn Fn(usize) + Send + Sync;

/// A closure that gets the panics for which no caller waits.
pub type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;

/// The settings of a pool that both drop-ins have, as their builders store them.
#[derive(Default)]
pub struct Settings {
    /// The number of workers, or 0 for the default.
    pub num_threads: usize,
    /// Returns the name of a worker's thread.
    pub get_thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    /// Gets the panics for which no caller waits.
    pub panic_handler: Option<Box<PanicHandler>>,
    /// The size of each worker's stack in bytes.
    pub stack_size: Option<usize>,
    /// Called by each worker's thread before its first job.
    pub start_handler: Option<Box<WorkerHandler>>,
    /// Called by each worker's thread after its last job.
    pub exit_handler: Option<Box<WorkerHandler>>,
    /// Whether workers take their own jobs oldest first.
    pub breadth_first: bool,
}

impl Settings {
    /// Returns a builder of pool-std with these settings. More threads than a pool can have mean
    /// the maximum.
    pub fn into_builder(self) -> pool_std::ThreadPoolBuilder {
        let num_threads = self.num_threads.min(max_num_threads());
        let mut builder = pool_std::ThreadPoolBuilder::new().num_threads(num_threads);
        if let Some(name) = self.get_thread_name {
            builder = builder.thread_name(name);
        }
        if let Some(handler) = self.panic_handler {
            builder = builder.panic_handler(handler);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        if let Some(handler) = self.start_handler {
            builder = builder.start_handler(handler);
        }
        if let Some(handler) = self.exit_handler {
            builder = builder.exit_handler(handler);
        }
        if self.breadth_first {
            builder = builder.breadth_first();
        }
        builder
    }

    /// Whether the workers' threads have names, or what a start handler gives them.
    pub fn prepares_threads(&self) -> bool {
        self.get_thread_name.is_some() || self.start_handler.is_some()
    }

    /// Formats a builder with these settings, and with the fields that `more` adds after the first.
    ///
    /// # Errors
    /// As the formatter.
    pub fn fmt_builder(
        &self,
        f: &mut fmt::Formatter<'_>,
        more: impl FnOnce(&mut fmt::DebugStruct<'_, '_>),
    ) -> fmt::Result {
        let mut output = f.debug_struct("ThreadPoolBuilder");
        output.field("num_threads", &self.num_threads);
        more(&mut output);
        output
            .field("get_thread_name", &closure(&self.get_thread_name))
            .field("panic_handler", &closure(&self.panic_handler))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &closure(&self.start_handler))
            .field("exit_handler", &closure(&self.exit_handler))
            .field("breadth_first", &self.breadth_first)
            .finish()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_builder(f, |_| ())
    }
}

/// Returns what debug output shows of a closure: whether it is set.
pub fn closure<F>(closure: &Option<F>) -> Option<fmt::Arguments<'static>> {
    closure.as_ref().map(|_| format_args!("<closure>"))
}

/// Defines the methods of a `ThreadPoolBuilder` that store what both drop-ins have in its
/// [`settings`](crate::settings::Settings), in a crate that has `max_num_threads` at its root.
#[macro_export]
macro_rules! setters {
    () => {
        impl<S> ThreadPoolBuilder<S> {
            /// Names the threads: calls a closure with the number of each worker.
            pub fn thread_name<F>(mut self, closure: F) -> Self
            where
                F: FnMut(usize) -> String + 'static,
            {
                self.settings.get_thread_name = Some(Box::new(closure));
                self
            }

            /// Sets the number of workers. With 0, the default, the environment variable
            /// `RAYON_NUM_THREADS` counts, or else there is one worker per processor. A larger
            /// number than [`max_num_threads`](crate::max_num_threads) means that maximum.
            pub fn num_threads(mut self, num_threads: usize) -> Self {
                self.settings.num_threads = num_threads;
                self
            }

            /// Sets a closure that gets the panics for which no caller waits. Without it, such a
            /// panic aborts the process.
            pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
            where
                H: Fn(Box<dyn std::any::Any + Send>) + Send + Sync + 'static,
            {
                self.settings.panic_handler = Some(Box::new(panic_handler));
                self
            }

            /// Sets the size of each worker's stack in bytes.
            pub fn stack_size(mut self, stack_size: usize) -> Self {
                self.settings.stack_size = Some(stack_size);
                self
            }

            /// Makes workers take their own jobs oldest first instead of newest first.
            #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
            pub fn breadth_first(mut self) -> Self {
                self.settings.breadth_first = true;
                self
            }

            /// Sets a closure that each worker's thread calls before its first job, with its
            /// number.
            pub fn start_handler<H>(mut self, start_handler: H) -> Self
            where
                H: Fn(usize) + Send + Sync + 'static,
            {
                self.settings.start_handler = Some(Box::new(start_handler));
                self
            }

            /// Sets a closure that each worker's thread calls after its last job, with its number.
            pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
            where
                H: Fn(usize) + Send + Sync + 'static,
            {
                self.settings.exit_handler = Some(Box::new(exit_handler));
                self
            }
        }
    };
}
