//! The pools that are compared, each built when it is first needed.

use std::{cell::OnceCell, num::NonZero, rc::Rc};

/// A pool of threads.
pub(crate) trait Pool: 'static {
    /// Whose it is.
    const SYSTEM: &str;

    /// A pool on which so many jobs run at a time.
    fn new(threads: usize) -> Self;
}

/// A pool of each system. They all sleep unless they are used.
pub(crate) struct Pools {
    pub(crate) ours: Rc<Lazy<pool_std::ThreadPool>>,
    pub(crate) rayon: Rc<Lazy<rayon_core::ThreadPool>>,
    pub(crate) chili: Rc<Lazy<chili::ThreadPool>>,
    pub(crate) sequential: Rc<Lazy<Sequential>>,
}

impl Pools {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            ours: Lazy::new(threads),
            rayon: Lazy::new(threads),
            chili: Lazy::new(threads),
            sequential: Lazy::new(threads),
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.ours.threads
    }
}

/// A pool that is built when it is first asked for.
pub(crate) struct Lazy<P> {
    threads: usize,
    build: fn(usize) -> P,
    pool: OnceCell<P>,
}

impl<P: Pool> Lazy<P> {
    pub(crate) fn new(threads: usize) -> Rc<Self> {
        Self::built_by(threads, P::new)
    }

    /// A pool that is built in another way than its kind usually is.
    pub(crate) fn built_by(threads: usize, build: fn(usize) -> P) -> Rc<Self> {
        Rc::new(Self {
            threads,
            build,
            pool: OnceCell::new(),
        })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn get(&self) -> &P {
        self.pool.get_or_init(|| (self.build)(self.threads))
    }
}

/// No pool at all: what the same program costs without one. It says the number of threads of the
/// pools that it is compared with.
pub(crate) struct Sequential;

impl Pool for Sequential {
    const SYSTEM: &str = "sequential";

    fn new(_threads: usize) -> Self {
        Self
    }
}

impl Pool for pool_std::ThreadPool {
    const SYSTEM: &str = "ours";

    fn new(threads: usize) -> Self {
        let builder = pool_std::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().expect("a small pool")
    }
}

impl Pool for rayon_core::ThreadPool {
    const SYSTEM: &str = "rayon-core";

    fn new(threads: usize) -> Self {
        let builder = rayon_core::ThreadPoolBuilder::new().num_threads(threads);
        builder.build().expect("a small pool")
    }
}

impl Pool for chili::ThreadPool {
    const SYSTEM: &str = "chili";

    /// The thread that uses the pool is one of them.
    fn new(threads: usize) -> Self {
        Self::with_config(chili::Config {
            thread_count: NonZero::new(threads),
            ..chili::Config::default()
        })
    }
}
