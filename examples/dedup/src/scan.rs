//! The files of a directory tree.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes when the tree was read.
    pub size: u64,
}

/// A file or directory that could not be read.
#[derive(Debug)]
pub struct Unreadable {
    /// Where it is.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

/// What is in a directory tree.
#[derive(Debug, Default)]
pub struct Tree {
    /// The regular files, largest first, so that the last ones to be hashed are short.
    pub files: Vec<File>,
    /// Directories and files that could not be looked at.
    pub unreadable: Vec<Unreadable>,
}

impl Tree {
    /// Reads the tree below `root`. Symbolic links are not followed.
    ///
    /// # Errors
    /// If there is nothing at `root`, or it cannot be looked at.
    pub fn read(root: &Path) -> io::Result<Self> {
        root.metadata()?;
        let mut tree = Self::default();
        for entry in WalkDir::new(root) {
            let (path, size) = match entry.and_then(|entry| Ok((entry.metadata()?, entry))) {
                Ok((metadata, entry)) if metadata.is_file() => (entry.into_path(), metadata.len()),
                Ok(_) => continue,
                Err(error) => {
                    tree.unreadable.push(Unreadable {
                        path: error.path().unwrap_or(root).to_owned(),
                        reason: error.to_string(),
                    });
                    continue;
                }
            };
            tree.files.push(File { path, size });
        }
        tree.files
            .sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.path.cmp(&b.path)));
        Ok(tree)
    }

    /// Returns the size of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}
