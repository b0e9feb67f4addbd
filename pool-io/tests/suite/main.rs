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
    use pool_io::{self as io, IoBackend, OpenOptions, ThreadPoolBuilderExt as _};
    use pool_std::{BuildError, ThreadPoolBuilder};

    use crate::{
        child::{
            Forbidden, files_and_threads, files_and_threads_after, forbid_system_calls, in_child,
        },
        suite::is_available,
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
