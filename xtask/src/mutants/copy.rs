//! A copy of the workspace, in which one place is changed at a time.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use super::site::Site;
use crate::{command::Step, target};

pub(super) struct Copy {
    path: PathBuf,
}

impl Copy {
    /// Copies the files that git knows, or would know.
    pub(super) fn new(root: &Path) -> Result<Self> {
        let path = target::directory("mutants").join("source");
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        let arguments = ["ls-files", "--cached", "--others", "--exclude-standard"];
        let files = Step::new("git", &arguments).read()?;
        for file in files.lines() {
            let (from, to) = (root.join(file), path.join(file));
            // A file may be deleted, and git not know yet; and a link stays one.
            let Ok(metadata) = fs::symlink_metadata(&from) else {
                continue;
            };
            fs::create_dir_all(to.parent().context("a file is in a directory")?)?;
            if metadata.is_file() {
                fs::copy(&from, &to).with_context(|| file.to_owned())?;
            } else {
                #[cfg(unix)]
                std::os::unix::fs::symlink(fs::read_link(&from)?, &to)?;
            }
        }
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the tests of a rung are built.
    pub(super) fn target(&self, rung: &str) -> PathBuf {
        target::directory("mutants").join(rung)
    }

    /// Changes one place while a closure runs.
    pub(super) fn with<R>(&self, site: &Site, body: impl FnOnce() -> Result<R>) -> Result<R> {
        let file = self.path.join(&site.file);
        let original = fs::read_to_string(&file)?;
        fs::write(&file, site.apply(&original))?;
        let result = body();
        fs::write(&file, original)?;
        result
    }
}
