//! The suite of pool-std for every sleep protocol, with workers that sleep each in its ring.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(any(loom, miri))))]

#[path = "../../pool-std/tests/conformance/cycles/mod.rs"]
mod cycles;

use cycles::conforms;
use pool_io::{IoBackend, ThreadPoolBuilderExt as _};
use pool_std::{SleepKind, ThreadPoolBuilder};

/// The pools have metrics.
const HAS_METRICS: bool = true;

fn ring(builder: ThreadPoolBuilder) -> ThreadPoolBuilder {
    builder.io(IoBackend::Ring)
}

/// Whether the system has rings. Asks the kernel itself, not the code under test.
fn has_rings() -> bool {
    // SAFETY: the kernel refuses a structure at address zero, or does not know the call.
    unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null_mut::<u8>()) };
    let has_rings = std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT);
    if !has_rings {
        eprintln!("io_uring is refused here: rings are not tested");
    }
    has_rings
}

macro_rules! suite {
    ($($name:ident: $kind:ident;)*) => {
        $(
            #[test]
            fn $name() {
                if has_rings() {
                    conforms(stringify!($name), SleepKind::$kind, ring);
                }
            }
        )*

        #[test]
        fn the_suite_has_every_protocol() {
            let tested = [$(SleepKind::$kind),*];
            assert!(SleepKind::ALL.iter().all(|kind| tested.contains(kind)));
        }
    };
}

suite! {
    jec_ring: Jec;
    sockets_ring: Sockets;
    classic_ring: Classic;
    hints_ring: Hints;
}
