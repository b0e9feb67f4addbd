//! Hashing a file through `pool_io`: the next block is read while this one is hashed.

use std::path::Path;

use pool_io::{IoBackend, OpenOptions, ThreadPoolBuilderExt as _};
use pool_std::{BuildError, ThreadPoolBuilder};

use crate::hash::Hashed;

/// How much is read at once.
const BLOCK: usize = 64 * 1024;

/// Hashes one file. The worker runs other jobs while it waits.
pub fn hash_contents(path: &Path) -> Hashed {
    let file = pool_io::open(path, &OpenOptions::new().read(true)).wait()?;
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    let mut next = pool_io::read_at(&file, vec![0; BLOCK], offset);
    let mut spare = vec![0; BLOCK];
    loop {
        let read = next.wait()?;
        // A short read is not the end; only an empty one is.
        if read.bytes == 0 {
            return Ok(hasher.finalize());
        }
        offset += read.bytes as u64;
        next = pool_io::read_at(&file, spare, offset);
        hasher.update(read.data());
        spare = read.buffer;
    }
}

/// Sets a pool up to use rings, or helper threads if the system refuses rings. Returns what it
/// uses, and the reason of a refusal.
///
/// # Errors
/// If a pool with rings cannot be built for another reason.
pub fn choose_backend() -> Result<(IoBackend, Option<BuildError>), BuildError> {
    match ThreadPoolBuilder::new()
        .num_threads(1)
        .io(IoBackend::Ring)
        .build()
    {
        Ok(_) => Ok((IoBackend::Ring, None)),
        Err(refused @ BuildError::Driver { .. }) => Ok((IoBackend::HelperThreads, Some(refused))),
        Err(error) => Err(error),
    }
}
