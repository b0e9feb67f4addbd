//! Hashing files: one by one, or as many at a time as there are workers.

use std::{fs, io, path::Path};

use crate::scan::File;

/// The BLAKE3 hash of a file.
pub type Digest = blake3::Hash;

/// The result of one file.
pub type Hashed = io::Result<Digest>;

/// Hashes all files on the current pool, large ones in parts, and returns the hashes in the files'
/// order.
///
/// Calls `on_file` on a worker whenever a file is done.
pub fn hash_all(files: &[File], on_file: &(impl Fn(&File) + Sync)) -> Vec<Hashed> {
    hash_all_by(files, crate::hash_in_parts, on_file)
}

/// Hashes all files as [`hash_all`] does, each by `hash_file`.
pub fn hash_all_by(
    files: &[File],
    hash_file: fn(&Path) -> Hashed,
    on_file: &(impl Fn(&File) + Sync),
) -> Vec<Hashed> {
    match files {
        [] => Vec::new(),
        [file] => {
            let hashed = hash_file(&file.path);
            on_file(file);
            vec![hashed]
        }
        _ => {
            let (left, right) = files.split_at(files.len() / 2);
            let (mut left, right) = pool_std::join(
                || hash_all_by(left, hash_file, on_file),
                || hash_all_by(right, hash_file, on_file),
            );
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
    let hashed = hash_contents(&file.path);
    on_file(file);
    hashed
}

/// Hashes one file with calls that block the worker.
pub fn hash_contents(path: &Path) -> Hashed {
    hash_rest(&fs::File::open(path)?)
}

/// Hashes what follows in a file.
pub(crate) fn hash_rest(file: &fs::File) -> Hashed {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize())
}
