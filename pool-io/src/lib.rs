//! Input and output for [`pool_std`]: a job waits for an operation while its worker runs other
//! jobs.
//!
//! A function of this crate starts an operation on the current pool and returns a [`Completion`]. A
//! job that [waits](Completion::wait) for it runs other jobs of its pool meanwhile, and its worker
//! sleeps when there are none; a thread outside every pool blocks. A completion is also a
//! [`Future`], for any executor.
//!
//! Use it if jobs both read and compute, or if many operations wait at the same time, such as reads
//! of pipes and sockets. For a single long wait without a file descriptor, use
//! [`block_in_place`](pool_std::block_in_place()).
//!
//! # Examples
//! ```
//! use pool_io::OpenOptions;
//!
//! let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
//! let text = pool.install(|| {
//!     let file = pool_io::open("README.md", &OpenOptions::new().read(true)).wait()?;
//!     let transferred = pool_io::read_at(&file, vec![0; 9], 0).wait()?;
//!     Ok::<_, std::io::Error>(transferred.buffer)
//! })?;
//! assert_eq!(text, b"# pool-io");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where operations run
//! [`ThreadPoolBuilderExt::io`] selects the backend; [`backend()`] returns it.
//! - [`IoBackend::Ring`]: the kernel, through one `io_uring` per worker.
//! - [`IoBackend::HelperThreads`]: a few threads that make blocking system calls, and more if all
//!   of them block. This is the default; the threads are started by the first operation.
//!
//! # Ownership
//! An operation owns its buffer and shares its [`File`]. So safe code can neither free a buffer nor
//! close a descriptor that the kernel still uses, even by dropping the completion or by
//! [cancelling](Completion::cancel) it. The buffer is returned with the result.
//!
//! # When no thread is left
//! The kernel performs some operations on its own threads: `fsync`, many calls to `open`, and some
//! reads of files. If it may not start any (`RLIMIT_NPROC`), such an operation of a ring fails with
//! the error `EAGAIN`.
//!
//! # When a pool ends
//! Operations that are in flight when a pool ends are cancelled: their completions return the error
//! `ECANCELED`. A job that waits keeps its pool from ending, so this concerns only handles that
//! outlive the jobs.
//!
//! Source of the design: EMPER's io_uring scheduler (see `src/README.md`).

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

// Under loom, the crate is this lock alone, for its model.
#[cfg_attr(loom, allow(dead_code))]
mod reap_lock;

#[cfg(not(loom))]
mod api;
#[cfg(not(loom))]
mod backend;
#[cfg(not(loom))]
mod builder;
#[cfg(not(loom))]
mod call;
#[cfg(not(loom))]
mod completion;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod file;
#[cfg(not(loom))]
mod helpers;
#[cfg(not(loom))]
mod operation;
#[cfg(not(loom))]
mod request;
#[cfg(not(loom))]
mod ring;
#[cfg(not(loom))]
mod system;

/// Processes that fork, for tests.
#[cfg(all(test, target_pointer_width = "64", not(any(loom, miri))))]
#[path = "../../pool-std/tests/support/fork.rs"]
#[allow(dead_code, reason = "another crate's tests use the rest")]
mod forking;

/// What the kernel has, for tests.
#[cfg(all(test, not(loom)))]
#[path = "../tests/support/kernel.rs"]
mod kernel;

#[cfg(not(loom))]
pub use {
    api::{backend, open, read, read_at, sync, write, write_at},
    backend::IoBackend,
    builder::ThreadPoolBuilderExt,
    completion::{Completion, Output},
    error::{Transfer, TransferError, Transferred},
    file::{File, OpenOptions},
};

/// The examples of the page of the crate, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// The examples of the book's page about input and output, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/io.md")]
mod book_page {}
