//! A process that forks while its pool has rings. In a program of its own.

#![cfg(all(target_os = "linux", target_pointer_width = "64", not(any(loom, miri))))]

#[path = "support/kernel.rs"]
mod kernel;
#[path = "../../pool-std/tests/support/fork.rs"]
#[allow(dead_code, reason = "another crate's tests use the rest")]
mod support;

use std::{
    future::Future,
    io::Write,
    pin::Pin,
    process,
    sync::{Arc, mpsc},
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use pool_io::{Completion, File, IoBackend, OpenOptions, ThreadPoolBuilderExt as _, Transfer};
use pool_std::{ThreadPool, ThreadPoolBuilder};
use support::{End, alone, end_of, fork, in_child};

/// Builds a pool. Returns none if it was to have rings, and the system refuses them.
fn build(workers: usize, backend: IoBackend) -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    (backend != IoBackend::Ring || kernel::has_rings())
        .then(|| builder.io(backend).build().unwrap())
}

/// Reads the manifest of this crate.
fn reads() -> bool {
    let file = pool_io::open("Cargo.toml", &OpenOptions::new().read(true)).wait();
    let Ok(file) = file else { return false };
    let read = pool_io::read_at(&file, vec![0; 9], 0).wait();
    read.is_ok_and(|read| read.data() == b"[package]")
}

/// The child does not have the memory of the parent's rings.
#[test]
fn a_child_cancels_an_operation_of_the_parent() {
    alone(|| {
        for backend in [IoBackend::Ring, IoBackend::HelperThreads] {
            let Some(pool) = build(1, backend) else {
                continue;
            };
            pool.install(|| {
                let (reader, _writer) = std::io::pipe().unwrap();
                let read = pool_io::read(&File::new(reader).unwrap(), vec![0; 16]);
                in_child(|| {
                    read.cancel();
                    true
                });
                read.cancel();
                assert!(read.wait().is_err());
            });
        }
    });
}

/// The threads that would finish it are in the parent. The child gets its buffer back, in each way
/// in which it may wait.
#[test]
fn an_operation_of_the_parent_is_cancelled_in_the_child() {
    fn is_cancelled(result: Transfer) -> bool {
        let error = result.unwrap_err();
        error.error.raw_os_error() == Some(libc::ECANCELED) && error.buffer.len() == 16
    }

    fn poll(mut read: Completion<Transfer>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut read).poll(&mut context) {
            Poll::Ready(result) => is_cancelled(result),
            Poll::Pending => false,
        }
    }

    let ways: [fn(Completion<Transfer>) -> bool; 5] = [
        |read| is_cancelled(read.wait()),
        |read| is_cancelled(read.wait_blocking()),
        |read| read.is_finished() && poll(read),
        |read| {
            read.cancel();
            is_cancelled(read.wait())
        },
        |read| {
            drop(read);
            reads()
        },
    ];
    alone(|| {
        for backend in [IoBackend::Ring, IoBackend::HelperThreads] {
            let Some(pool) = build(1, backend) else {
                continue;
            };
            pool.install(|| {
                for way in ways {
                    let (reader, mut writer) = std::io::pipe().unwrap();
                    let mut read = Some(pool_io::read(&File::new(reader).unwrap(), vec![0; 16]));
                    // A task of the parent waits, too.
                    let mut context = Context::from_waker(Waker::noop());
                    let polled = Pin::new(read.as_mut().unwrap()).poll(&mut context);
                    assert!(polled.is_pending());
                    in_child(|| way(read.take().unwrap()));
                    writer.write_all(b"later").unwrap();
                    assert_eq!(read.unwrap().wait().unwrap().data(), b"later");
                }
            });
        }
    });
}

/// A thread of the backend goes on after the waker, with what it shares with the parent's.
#[test]
fn a_child_that_leaves_a_waker_is_ended() {
    struct Forks(mpsc::Sender<Option<libc::pid_t>>);

    impl Wake for Forks {
        fn wake(self: Arc<Self>) {
            self.0.send(fork()).unwrap();
        }
    }

    alone(|| {
        for backend in [IoBackend::Ring, IoBackend::HelperThreads] {
            let Some(pool) = build(1, backend) else {
                continue;
            };
            pool.install(|| {
                let start = || {
                    let (reader, writer) = std::io::pipe().unwrap();
                    let read = pool_io::read(&File::new(reader).unwrap(), vec![0; 16]);
                    (read, writer)
                };
                let (sender, children) = mpsc::channel();
                let (mut read, mut writer) = start();
                let waker = Arc::new(Forks(sender)).into();
                let polled = Pin::new(&mut read).poll(&mut Context::from_waker(&waker));
                assert!(polled.is_pending());
                writer.write_all(b"abc").unwrap();
                let child = children.recv().unwrap().expect("the parent sends it");
                assert_eq!(end_of(child), End::Signal(libc::SIGABRT));
                assert_eq!(read.wait().unwrap().data(), b"abc");
                let (read, mut writer) = start();
                writer.write_all(b"abc").unwrap();
                assert_eq!(read.wait().unwrap().data(), b"abc");
            });
        }
    });
}

/// What had finished before the fork is a result in the child, too.
#[test]
fn a_result_of_the_parent_is_one_in_the_child() {
    alone(|| {
        assert!(reads());
        let file = pool_io::open("Cargo.toml", &OpenOptions::new().read(true));
        while !file.is_finished() {
            thread::yield_now();
        }
        let mut file = Some(file);
        in_child(|| file.take().unwrap().wait().is_ok());
        assert!(file.unwrap().wait().is_ok());
    });
}

#[test]
fn a_child_has_rings_of_its_own() {
    alone(|| {
        for backend in [IoBackend::Ring, IoBackend::HelperThreads] {
            let Some(pool) = build(2, backend) else {
                continue;
            };
            assert!(pool.install(reads));
            for _ in 0..20 {
                in_child(|| build(2, backend).unwrap().install(reads) && reads());
            }
            assert!(pool.install(reads));
        }
        assert!(reads());
        in_child(reads);
    });
}

/// The threads of the pool are gone, so the child may have its last reference.
#[test]
fn a_child_drops_a_pool_that_has_ended() {
    alone(|| {
        for backend in [IoBackend::Ring, IoBackend::HelperThreads] {
            let Some(pool) = build(2, backend) else {
                continue;
            };
            assert!(pool.install(reads));
            let mut handle = Some(pool.handle());
            pool.shutdown_timeout(Duration::MAX).unwrap();
            drop(pool);
            // A thread of the pool may drop its reference a moment later.
            for _ in 0..20 {
                in_child(|| {
                    drop(handle.take());
                    reads()
                });
            }
        }
    });
}

/// As in a container, where the program has the number 1, and so has each child that gets a new
/// namespace.
#[test]
fn a_child_with_the_number_of_its_parent_drops_a_pool_that_has_ended() {
    /// Gives the next child of this process the number 1. Returns false if the system refuses that.
    fn number_anew(more: libc::c_int) -> bool {
        // SAFETY: The call takes numbers only.
        unsafe { libc::unshare(libc::CLONE_NEWPID | more) == 0 }
    }

    fn parent() -> bool {
        assert_eq!(process::id(), 1);
        let Some(pool) = build(2, IoBackend::Ring) else {
            return true;
        };
        assert!(pool.install(reads));
        let mut handle = Some(pool.handle());
        pool.shutdown_timeout(Duration::MAX).unwrap();
        drop(pool);
        if number_anew(0) {
            in_child(|| {
                drop(handle.take());
                process::id() == 1
            });
        }
        true
    }

    alone(|| {
        // What a process without other threads may do, which this one is not.
        in_child(|| {
            if number_anew(libc::CLONE_NEWUSER) {
                in_child(parent);
            }
            true
        });
    });
}
