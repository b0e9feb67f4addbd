//! Which files are the same.

use std::{collections::HashMap, io, path::PathBuf};

use crate::{
    hash::Digest,
    scan::{File, Unreadable},
};

/// Files with the same contents, at least two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The hash of the contents.
    pub digest: Digest,
    /// The size of each file in bytes.
    pub size: u64,
    /// Where they are, sorted.
    pub paths: Vec<PathBuf>,
}

impl Group {
    /// Returns the bytes that would be saved if only one of the files were kept.
    #[must_use]
    pub fn redundant_bytes(&self) -> u64 {
        self.size.saturating_mul(self.redundant_files() as u64)
    }

    fn redundant_files(&self) -> usize {
        self.paths.len().saturating_sub(1)
    }
}

/// All duplicates of a tree.
#[derive(Debug, Default)]
pub struct Duplicates {
    /// The groups, those with the most redundant bytes first.
    pub groups: Vec<Group>,
    /// Files whose contents could not be read.
    pub unreadable: Vec<Unreadable>,
}

impl Duplicates {
    /// Groups files by their hashes, which are in the same order.
    #[must_use]
    pub fn find(files: &[File], hashed: Vec<io::Result<Digest>>) -> Self {
        assert_eq!(files.len(), hashed.len(), "one hash for each file");
        let mut by_digest: HashMap<Digest, Vec<&File>> = HashMap::new();
        let mut unreadable = Vec::new();
        for (file, hashed) in files.iter().zip(hashed) {
            match hashed {
                Ok(digest) => by_digest.entry(digest).or_default().push(file),
                Err(error) => unreadable.push(Unreadable {
                    path: file.path.clone(),
                    reason: error.to_string(),
                }),
            }
        }
        let groups = by_digest
            .into_iter()
            .filter(|(_, files)| files.len() > 1)
            .map(|(digest, files)| Group {
                digest,
                size: files[0].size,
                paths: files.iter().map(|file| file.path.clone()).collect(),
            });
        Self::new(groups.collect(), unreadable)
    }

    /// Sorts groups of duplicates that are known already, and the paths in each.
    #[must_use]
    pub fn new(mut groups: Vec<Group>, unreadable: Vec<Unreadable>) -> Self {
        for group in &mut groups {
            group.paths.sort_unstable();
        }
        groups.sort_by(|a, b| {
            b.redundant_bytes()
                .cmp(&a.redundant_bytes())
                .then_with(|| a.paths.cmp(&b.paths))
        });
        Self { groups, unreadable }
    }

    /// Returns the number of files that are copies of another one.
    #[must_use]
    pub fn redundant_files(&self) -> usize {
        self.groups.iter().map(Group::redundant_files).sum()
    }

    /// Returns the bytes in files that are copies of another one.
    #[must_use]
    pub fn redundant_bytes(&self) -> u64 {
        self.groups.iter().map(Group::redundant_bytes).sum()
    }
}
