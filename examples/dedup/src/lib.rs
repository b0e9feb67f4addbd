//! Finds duplicate files in a directory tree: an example program of `pool-std`.
//!
//! Every file is hashed, in parallel by recursive [`pool_std::join()`]; files with the same hash are
//! duplicates.

mod duplicates;
mod hash;
mod scan;

pub use duplicates::{Duplicates, Group};
pub use hash::{Digest, Hashed, hash_all, hash_all_sequentially};
pub use scan::{File, Tree, Unreadable};
