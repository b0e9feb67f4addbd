//! Input and output: one suite for every backend.
#![cfg(all(
    feature = "io-uring",
    target_os = "linux",
    target_pointer_width = "64",
    not(miri)
))]

mod child;
mod suite;

use pool_std::io::IoBackend;

suite::suite!(helper_threads, IoBackend::HelperThreads);
suite::suite!(ring, IoBackend::Ring);

// A kernel without rings, a filter that forbids them, and one that forbids a registration.
mod refusals {
    use pool_std::{
        BuildError, ThreadPoolBuilder,
        io::{self, IoBackend, OpenOptions},
    };

    use crate::{
        io::child::{forbid_system_call, in_child},
        io::suite::is_available,
    };

    fn expect_error(name: &str, call: libc::c_long, error: i32) {
        if !is_available(IoBackend::Ring) {
            return;
        }
        in_child(name, || {
            forbid_system_call(call, error);
            match ThreadPoolBuilder::new().io(IoBackend::Ring).build() {
                Err(BuildError::Io { source }) => assert_eq!(source.raw_os_error(), Some(error)),
                other => panic!("{other:?}"),
            }
            // What a program does then.
            let helpers = ThreadPoolBuilder::new().io(IoBackend::HelperThreads);
            let options = OpenOptions::new().read(true);
            let open = || io::open("/dev/null", &options).wait();
            assert!(helpers.build().unwrap().install(open).is_ok());
        });
    }

    #[test]
    fn a_kernel_without_rings() {
        expect_error(
            "io::refusals::a_kernel_without_rings",
            libc::SYS_io_uring_setup,
            libc::ENOSYS,
        );
    }

    #[test]
    fn a_filter_that_forbids_rings() {
        expect_error(
            "io::refusals::a_filter_that_forbids_rings",
            libc::SYS_io_uring_setup,
            libc::EPERM,
        );
    }

    #[test]
    fn a_ring_that_refuses_a_registration() {
        expect_error(
            "io::refusals::a_ring_that_refuses_a_registration",
            libc::SYS_io_uring_register,
            libc::EACCES,
        );
    }
}
