//! The older way to set up a pool, which both systems still have, under the same names.

/// Defines `Configuration` and `initialize` in a crate that has `ThreadPoolBuilder` and
/// `ThreadPool` where this is called.
#[macro_export]
macro_rules! configuration {
    () => {
        /// What [`ThreadPoolBuilder`] was before.
        #[deprecated(note = "Use `ThreadPoolBuilder`")]
        #[derive(Default)]
        pub struct Configuration {
            builder: ThreadPoolBuilder,
        }

        /// Builds the global pool.
        ///
        /// # Errors
        /// As [`ThreadPoolBuilder::build_global`].
        #[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
        pub fn initialize(config: Configuration) -> Result<(), Box<dyn std::error::Error>> {
            Ok(config.into_builder().build_global()?)
        }

        impl Configuration {
            /// Creates a builder: [`ThreadPoolBuilder::new`].
            pub fn new() -> Configuration {
                Self::default()
            }

            /// Builds a pool: [`ThreadPoolBuilder::build`].
            ///
            /// # Errors
            /// As there.
            pub fn build(self) -> Result<ThreadPool, Box<dyn std::error::Error + 'static>> {
                Ok(self.builder.build()?)
            }

            /// Names the threads: [`ThreadPoolBuilder::thread_name`].
            pub fn thread_name<F>(self, closure: F) -> Self
            where
                F: FnMut(usize) -> String + 'static,
            {
                self.map(|builder| builder.thread_name(closure))
            }

            /// Sets the number of workers: [`ThreadPoolBuilder::num_threads`].
            pub fn num_threads(self, num_threads: usize) -> Configuration {
                self.map(|builder| builder.num_threads(num_threads))
            }

            /// Sets the handler of panics: [`ThreadPoolBuilder::panic_handler`].
            pub fn panic_handler<H>(self, panic_handler: H) -> Configuration
            where
                H: Fn(Box<dyn std::any::Any + Send>) + Send + Sync + 'static,
            {
                self.map(|builder| builder.panic_handler(panic_handler))
            }

            /// Sets the size of each worker's stack: [`ThreadPoolBuilder::stack_size`].
            pub fn stack_size(self, stack_size: usize) -> Self {
                self.map(|builder| builder.stack_size(stack_size))
            }

            /// Makes workers take their own jobs oldest first:
            /// [`ThreadPoolBuilder::breadth_first`].
            pub fn breadth_first(self) -> Self {
                self.map(ThreadPoolBuilder::breadth_first)
            }

            /// Sets what each thread calls before its first job:
            /// [`ThreadPoolBuilder::start_handler`].
            pub fn start_handler<H>(self, start_handler: H) -> Configuration
            where
                H: Fn(usize) + Send + Sync + 'static,
            {
                self.map(|builder| builder.start_handler(start_handler))
            }

            /// Sets what each thread calls after its last job:
            /// [`ThreadPoolBuilder::exit_handler`].
            pub fn exit_handler<H>(self, exit_handler: H) -> Configuration
            where
                H: Fn(usize) + Send + Sync + 'static,
            {
                self.map(|builder| builder.exit_handler(exit_handler))
            }

            /// Returns the builder of this configuration.
            pub(crate) fn into_builder(self) -> ThreadPoolBuilder {
                self.builder
            }

            fn map(self, change: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder) -> Self {
                Self {
                    builder: change(self.builder),
                }
            }
        }

        impl std::fmt::Debug for Configuration {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.builder, f)
            }
        }
    };
}
