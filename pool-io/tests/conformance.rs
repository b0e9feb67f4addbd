//! The suite of pool-std for every sleep protocol, with workers that sleep each in its ring.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(any(loom, miri))))]

#[path = "../../pool-std/tests/conformance/cycles/mod.rs"]
mod cycles;
#[path = "support/kernel.rs"]
mod kernel;

use cycles::conforms;
use pool_io::{IoBackend, ThreadPoolBuilderExt as _};
use pool_std::{SleepKind, ThreadPoolBuilder};

/// The pools have metrics.
const HAS_METRICS: bool = true;

fn ring(builder: ThreadPoolBuilder) -> ThreadPoolBuilder {
    builder.io(IoBackend::Ring)
}

macro_rules! suite {
    ($($name:ident: $kind:ident;)*) => {
        $(
            #[test]
            fn $name() {
                if kernel::has_rings() {
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
