//! Hashing one large file with several workers.
//!
//! BLAKE3 is a tree of hashes, so parts of a file can be hashed in any order. Source: section 2.1
//! of the BLAKE3 paper, and the module `hazmat` of its crate.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use blake3::{
    Hasher,
    hazmat::{
        ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root,
        merge_subtrees_root,
    },
};

use crate::hash::{Digest, Hashed, hash_rest};

/// Parts are at most this long: many for a file that is worth the trouble, and each long to a
/// worker. A power of two, as the tree wants.
const PART: u64 = 1 << 20;

/// How much of a part is read at once, as the hasher itself does with a file.
const BLOCK: u64 = 1 << 16;

/// Hashes one file: a large one in parts, by all workers of the current pool that have nothing else
/// to do.
///
/// # Errors
/// If the file cannot be read.
pub fn hash_in_parts(path: &Path) -> Hashed {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if length <= PART {
        return hash_rest(&file);
    }
    match root(&file, length) {
        // It has become shorter meanwhile.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => hash_rest(&file),
        hashed => hashed,
    }
}

fn root(file: &File, length: u64) -> io::Result<Digest> {
    let (left, right) = halves(file, 0, length)?;
    Ok(merge_subtrees_root(&left, &right, Mode::Hash))
}

fn subtree(file: &File, start: u64, length: u64) -> io::Result<ChainingValue> {
    if length <= PART {
        return part(file, start, length);
    }
    let (left, right) = halves(file, start, length)?;
    Ok(merge_subtrees_non_root(&left, &right, Mode::Hash))
}

fn halves(file: &File, start: u64, length: u64) -> io::Result<(ChainingValue, ChainingValue)> {
    let left = left_subtree_len(length);
    let (first, second) = pool_std::join(
        || subtree(file, start, left),
        || subtree(file, start + left, length - left),
    );
    Ok((first?, second?))
}

fn part(file: &File, start: u64, length: u64) -> io::Result<ChainingValue> {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(start);
    let mut buffer = vec![0; BLOCK.min(length) as usize];
    let mut done = 0;
    while done < length {
        let block = &mut buffer[..BLOCK.min(length - done) as usize];
        file.read_exact_at(block, start + done)?;
        hasher.update(block);
        done += block.len() as u64;
    }
    Ok(hasher.finalize_non_root())
}
