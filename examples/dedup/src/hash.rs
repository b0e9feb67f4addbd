//! Hashing files: one by one, or as many at a time as there are workers.

use std::{fs, io, io::Read};

use crate::scan::File;

/// The BLAKE3 hash of a file.
pub type Digest = blake3::Hash;

/// What came of one file.
pub type Hashed = io::Result<Digest>;

const CHUNK: usize = 128 * 1024;

/// Hashes all files on the current pool, and returns the hashes in the files' order.
///
/// `on_file` is called for each file that is done, from any worker.
pub fn hash_all(files: &[File], on_file: &(impl Fn(&File) + Sync)) -> Vec<Hashed> {
    match files {
        [] => Vec::new(),
        [file] => vec![hash(file, on_file)],
        _ => {
            let (left, right) = files.split_at(files.len() / 2);
            let (mut left, right) =
                pool_std::join(|| hash_all(left, on_file), || hash_all(right, on_file));
            left.extend(right);
            left
        }
    }
}

/// The same on one thread, without a pool.
pub fn hash_all_sequentially(files: &[File], on_file: &impl Fn(&File)) -> Vec<Hashed> {
    files.iter().map(|file| hash(file, on_file)).collect()
}

fn hash(file: &File, on_file: &impl Fn(&File)) -> Hashed {
    let hashed = hash_contents(file);
    on_file(file);
    hashed
}

fn hash_contents(file: &File) -> Hashed {
    let mut reader = fs::File::open(&file.path)?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; CHUNK.min(usize::try_from(file.size).unwrap_or(CHUNK).max(1))];
    loop {
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(count) => _ = hasher.update(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
