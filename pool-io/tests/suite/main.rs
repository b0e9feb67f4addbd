//! Input and output: one suite for every backend.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(any(loom, miri))))]

mod child;
mod end;
#[path = "../support/kernel.rs"]
mod kernel;
mod suite;
#[path = "../../../pool-std/tests/support/mod.rs"]
mod support;

use pool_io::IoBackend;

suite::suite!(helper_threads, IoBackend::HelperThreads);
suite::suite!(ring, IoBackend::Ring);

// A kernel without rings, a filter that forbids them, and filters that forbid a registration.
mod refusals {
    use std::io::Write as _;

    use pool_io::{self as io, IoBackend, OpenOptions, ThreadPoolBuilderExt as _};
    use pool_std::{BuildError, ThreadPoolBuilder};

    use crate::{
        child::{
            Forbidden, files_and_threads, files_and_threads_after, forbid_system_calls,
            forbid_system_calls_here, in_child,
        },
        suite::{is_available, pipe_to_read, pool, raw_error},
        support::wait_for,
    };

    /// Expects that a pool is refused with the error, leaves nothing behind, and that a program can
    /// choose the other backend then.
    fn expect_error(name: &str, calls: Forbidden) {
        if !is_available(IoBackend::Ring) {
            return;
        }
        in_child(name, || {
            forbid_system_calls(calls);
            let before = files_and_threads_after(|| {
                ThreadPoolBuilder::new()
                    .build()
                    .unwrap()
                    .shutdown()
                    .unwrap();
            });
            for _ in 0..3 {
                let refused = ThreadPoolBuilder::new()
                    .num_threads(2)
                    .io(IoBackend::Ring)
                    .build();
                match refused {
                    Err(BuildError::Driver { source }) => {
                        assert_eq!(source.raw_os_error(), Some(calls.error));
                    }
                    other => panic!("{other:?}"),
                }
                // Threads of the pool, if it had any, may end a moment later.
                wait_for(|| files_and_threads() == before);
            }
            // What a program does then.
            let helpers = ThreadPoolBuilder::new().io(IoBackend::HelperThreads);
            let pool = helpers.build().unwrap();
            let options = OpenOptions::new().read(true);
            assert!(
                pool.install(|| io::open("/dev/null", &options).wait())
                    .is_ok()
            );
            assert_eq!(pool.install(io::backend), IoBackend::HelperThreads);
        });
    }

    /// Reproduces a bug: what the kernel refused to the thread that cancelled closed the ring for
    /// its worker.
    #[test]
    fn a_filter_of_the_thread_that_cancels() {
        let name = "refusals::a_filter_of_the_thread_that_cancels";
        if !is_available(IoBackend::Ring) {
            return;
        }
        in_child(name, || {
            let pool = pool(IoBackend::Ring, 1);
            let ((silent, _writer), (ready, mut other_end)) = (pipe_to_read(), pipe_to_read());
            let read = pool.install(|| io::read(&silent, vec![0; 8]));
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    forbid_system_calls_here(Forbidden {
                        call: libc::SYS_io_uring_enter,
                        second_argument: None,
                        error: libc::EPERM,
                    });
                    read.cancel();
                });
            });
            assert_eq!(raw_error(read.wait()), libc::ECANCELED);
            other_end.write_all(b"abc").unwrap();
            let read = pool.install(|| io::read(&ready, vec![0; 8]).wait());
            assert_eq!(read.unwrap().data(), b"abc");
            pool.shutdown().unwrap();
        });
    }

    #[test]
    fn a_kernel_without_rings() {
        expect_error(
            "refusals::a_kernel_without_rings",
            Forbidden {
                call: libc::SYS_io_uring_setup,
                second_argument: None,
                error: libc::ENOSYS,
            },
        );
    }

    #[test]
    fn a_filter_that_forbids_rings() {
        expect_error(
            "refusals::a_filter_that_forbids_rings",
            Forbidden {
                call: libc::SYS_io_uring_setup,
                second_argument: None,
                error: libc::EPERM,
            },
        );
    }

    #[test]
    fn a_filter_that_forbids_the_use_of_rings() {
        expect_error(
            "refusals::a_filter_that_forbids_the_use_of_rings",
            Forbidden {
                call: libc::SYS_io_uring_enter,
                second_argument: None,
                error: libc::EPERM,
            },
        );
    }

    fn expect_error_of_registration(name: &str, registration: Option<u32>) {
        expect_error(
            name,
            Forbidden {
                call: libc::SYS_io_uring_register,
                second_argument: registration,
                error: libc::EACCES,
            },
        );
    }

    #[test]
    fn a_ring_that_refuses_each_registration() {
        expect_error_of_registration("refusals::a_ring_that_refuses_each_registration", None);
    }

    /// The counter that the completer waits for: without it, completions would be lost.
    #[test]
    fn a_ring_that_refuses_the_event_counter() {
        const REGISTER_EVENTFD: u32 = 4;
        expect_error_of_registration(
            "refusals::a_ring_that_refuses_the_event_counter",
            Some(REGISTER_EVENTFD),
        );
    }

    /// All rings exist by then. Without the answer, operations that the kernel does not know would
    /// fail later.
    #[test]
    fn a_ring_that_refuses_to_say_what_it_can_do() {
        const REGISTER_PROBE: u32 = 8;
        expect_error_of_registration(
            "refusals::a_ring_that_refuses_to_say_what_it_can_do",
            Some(REGISTER_PROBE),
        );
    }
}
