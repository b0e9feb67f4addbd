//! Hashing files: one by one, or as many at a time as there are workers.

use std::{fs, io};

use crate::scan::File;

/// The BLAKE3 hash of a file.
pub type Digest = blake3::Hash;

/// The result of one file.
pub type Hashed = io::Result<Digest>;

/// Hashes all files on the current pool, and returns the hashes in the files' order.
///
/// Calls `on_file` on a worker whenever a file is done.
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

/// Hashes all files on the current thread, without a pool.
pub fn hash_all_sequentially(files: &[File], on_file: &impl Fn(&File)) -> Vec<Hashed> {
    files.iter().map(|file| hash(file, on_file)).collect()
}

fn hash(file: &File, on_file: &impl Fn(&File)) -> Hashed {
    let hashed = hash_contents(file);
    on_file(file);
    hashed
}

fn hash_contents(file: &File) -> Hashed {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(fs::File::open(&file.path)?)?;
    Ok(hasher.finalize())
}
