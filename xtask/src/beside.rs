//! Files that a command writes beside the one that the user names.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

/// Returns the path of a file beside another one, with an extension of its own.
///
/// # Errors
/// If the one would replace the other.
pub(crate) fn beside(file: &Path, extension: &str) -> Result<PathBuf> {
    let beside = file.with_extension(extension);
    ensure!(
        beside != file,
        "{}: another file of this name is written, too; choose another extension than `{extension}`",
        file.display()
    );
    Ok(beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproduces a bug: the picture of a trace replaced the trace, and the figures of the demo
    /// their chart.
    #[test]
    fn no_file_replaces_the_one_that_the_user_names() {
        let picture = beside(Path::new("a/trace.json"), "svg").unwrap();
        assert_eq!(picture, Path::new("a/trace.svg"));
        let error = beside(Path::new("a/trace.svg"), "svg").unwrap_err();
        assert!(error.to_string().starts_with("a/trace.svg: "), "{error}");
    }
}
