//! The files of a directory tree.

use std::{
    collections::HashSet,
    fmt,
    fs::Metadata,
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use walkdir::WalkDir;

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes when the tree was read.
    pub size: u64,
    /// When it was last changed, if the system tells.
    pub modified: Option<SystemTime>,
}

/// A file or directory that could not be read.
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// Where it is.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

impl Unreadable {
    fn new(error: &walkdir::Error, root: &Path) -> Self {
        Self {
            path: error.path().unwrap_or(root).to_owned(),
            // The whole error names the path, too.
            reason: error
                .io_error()
                .map_or_else(|| error.to_string(), ToString::to_string),
        }
    }
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
    /// Reads the tree below `root`. Symbolic links are not followed. A file with several names,
    /// which are hard links, is taken under the first of them: its contents are stored once.
    ///
    /// # Errors
    /// If there is nothing at `root`, or it cannot be looked at.
    pub fn read(root: &Path) -> io::Result<Self> {
        root.metadata()?;
        let mut tree = Self::default();
        let mut linked = HashSet::new();
        for entry in WalkDir::new(root).sort_by_file_name() {
            let file = match entry.and_then(|entry| Ok((entry.metadata()?, entry))) {
                Ok((metadata, entry)) if metadata.is_file() => {
                    if identity(&metadata).is_some_and(|it| !linked.insert(it)) {
                        continue;
                    }
                    File {
                        path: entry.into_path(),
                        size: metadata.len(),
                        modified: metadata.modified().ok(),
                    }
                }
                Ok(_) => continue,
                Err(error) => {
                    tree.unreadable.push(Unreadable::new(&error, root));
                    continue;
                }
            };
            tree.files.push(file);
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

/// Returns the device and the number of a file that has several names, where the system tells.
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;

        (metadata.nlink() > 1).then(|| (metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        None
    }
}

/// Returns the sources in the cargo registry: many files, in several versions, and every user of
/// this program has some. Without them, returns the current directory.
#[must_use]
pub fn default_path() -> PathBuf {
    home::cargo_home()
        .map(|home| home.join("registry").join("src"))
        .ok()
        .filter(|sources| sources.is_dir())
        .unwrap_or_else(|| PathBuf::from("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_path_is_named_once() {
        let path = Path::new("/no/such/directory");
        let error = WalkDir::new(path).into_iter().next().unwrap().unwrap_err();
        let text = Unreadable::new(&error, Path::new("/no")).to_string();
        assert!(
            text.starts_with("/no/such/directory: No such file"),
            "{text}"
        );
        assert_eq!(text.matches("/no/such/directory").count(), 1, "{text}");
    }
}
