//! Finds duplicate files in a directory tree: an example program of `pool-std`.
//!
//! Every file is hashed, in parallel by recursive [`pool_std::join()`]; files with the same hash
//! are duplicates.

mod duplicates;
mod hash;
#[cfg(unix)]
mod parts;
mod report;
mod scan;
#[cfg(all(feature = "io", target_os = "linux", target_pointer_width = "64"))]
pub mod through_io;

pub use duplicates::{Duplicates, Group};
#[cfg(not(unix))]
pub use hash::hash_contents as hash_in_parts;
pub use hash::{Digest, Hashed, hash_all, hash_all_by, hash_all_sequentially, hash_contents};
#[cfg(unix)]
pub use parts::hash_in_parts;
pub use report::{print, print_duplicates, print_table};
pub use scan::{File, Tree, Unreadable, default_path};
