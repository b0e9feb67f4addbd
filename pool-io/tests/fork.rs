//! A process that forks while its pool has rings. In a program of its own.

#![cfg(all(target_os = "linux", target_pointer_width = "64", not(any(loom, miri))))]

#[path = "../../pool-std/tests/support/fork.rs"]
#[allow(dead_code, reason = "another crate's tests use the rest")]
mod support;

use std::time::Duration;

use pool_io::{File, IoBackend, OpenOptions, ThreadPoolBuilderExt as _};
use pool_std::ThreadPoolBuilder;
use support::{alone, in_child};

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
            let builder = ThreadPoolBuilder::new().num_threads(1).io(backend);
            let Ok(pool) = builder.build() else { continue };
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

#[test]
fn a_child_has_rings_of_its_own() {
    alone(|| {
        for backend in [IoBackend::Ring, IoBackend::HelperThreads] {
            let build = || ThreadPoolBuilder::new().num_threads(2).io(backend);
            // Without rings the others are left to be tested.
            let Ok(pool) = build().build() else { continue };
            assert!(pool.install(reads));
            for _ in 0..20 {
                in_child(|| build().build().unwrap().install(reads) && reads());
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
            let build = || ThreadPoolBuilder::new().num_threads(2).io(backend);
            let Ok(pool) = build().build() else { continue };
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
