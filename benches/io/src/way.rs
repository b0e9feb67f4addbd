//! The ways to read that are compared.

use pool_io::{IoBackend, ThreadPoolBuilderExt as _};
use pool_std::{BuildError, ThreadPool, ThreadPoolBuilder};

/// A way to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Ring,
    Helpers,
    Blocking,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Ring, Self::Helpers, Self::Blocking];

    /// As in the results. The first one is ours, with which the others are compared.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ours",
            Self::Helpers => "helper-threads",
            Self::Blocking => "blocking",
        }
    }

    pub(crate) fn pool(self, threads: usize) -> Result<ThreadPool, BuildError> {
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        match self {
            Self::Ring => builder.io(IoBackend::Ring),
            Self::Helpers => builder.io(IoBackend::HelperThreads),
            Self::Blocking => builder,
        }
        .build()
    }
}
