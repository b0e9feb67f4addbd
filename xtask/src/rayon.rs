//! Programs of rayon on our pool.

mod suite;
mod surface;
mod try_out;
mod user;

use std::path::Path;

use anyhow::{Result, bail};

use crate::{command::Step, root, speaker::say};

pub(crate) use suite::lane;
pub(crate) use try_out::{Arguments, run};

/// The version of rayon-core whose public names ours has.
const ORIGINAL: &str = "=1.13.0";

/// What helps if a lock file names an older version, as the README says.
const REMEDY: [&str; 2] = ["update", "rayon-core"];

/// Returns cargo's arguments that put our `rayon-core` in place of the published one.
fn patch() -> [String; 2] {
    let path = root().join("compat/rayon-core");
    // A TOML string that needs no escapes also with the separators of Windows.
    let patch = format!("patch.crates-io.rayon-core.path='{}'", path.display());
    ["--config".to_owned(), patch]
}

/// Finds, in what cargo says, its warning that our `rayon-core` is not in the graph. It is no error
/// for cargo.
fn unused_patch(says: &str) -> Option<&str> {
    let is_warning =
        |line: &&str| line.contains("atch `rayon-core v") && line.contains("was not used");
    says.lines().find(is_warning)
}

/// Checks that a package, built with the [`patch`], contains our `rayon-core`: cargo only warns
/// of a patch that it does not use.
fn assert_ours(manifest: &Path) -> Result<()> {
    let tree = Step::cargo(&["tree", "--prefix", "none", "--invert", "rayon-core"])
        .args(["--manifest-path".as_ref(), manifest.as_os_str()])
        .args(patch())
        .read()?;
    let ours = root().join("compat/rayon-core");
    match whose(&tree, &ours.to_string_lossy()) {
        Some(true) => {
            say!(
                "our rayon-core is in use: {}",
                tree.lines().next().unwrap_or_default()
            );
            Ok(())
        }
        Some(false) => {
            bail!("the patch was not used; cargo took the published rayon-core:\n{tree}")
        }
        None => bail!("rayon-core is not in the graph of {}", manifest.display()),
    }
}

/// Whether what `cargo tree` shows begins with our package. None if with none of that name.
fn whose(tree: &str, our_directory: &str) -> Option<bool> {
    let rest = tree.lines().next()?.strip_prefix("rayon-core v")?;
    Some(rest.contains(&format!("({our_directory})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_of_an_unused_patch_is_found() {
        let warning = "warning: patch `rayon-core v1.13.0 (/here/compat/rayon-core)` was not used in \
                       the crate graph";
        let says = format!("    Updating crates.io index\n{warning}\nhelp: Check that the patched");
        assert_eq!(unused_patch(&says), Some(warning));
        // As older versions of cargo have it.
        let warning =
            "warning: Patch `rayon-core v1.13.0 (/here)` was not used in the crate graph.";
        assert_eq!(unused_patch(warning), Some(warning));
        let another = "warning: patch `libc v0.2.9 (/here)` was not used in the crate graph";
        assert_eq!(unused_patch(another), None);
        let used = "      Adding rayon-core v1.13.0 (/here/compat/rayon-core)";
        assert_eq!(unused_patch(used), None);
    }

    #[test]
    fn a_patch_that_is_not_used_is_noticed() {
        let ours = "/here/compat/rayon-core";
        let patched = "rayon-core v1.13.0 (/here/compat/rayon-core)\nrayon v1.12.0 (/there)\n";
        assert_eq!(whose(patched, ours), Some(true));
        let published = "rayon-core v1.13.0\nrayon v1.12.0 (/here/compat/rayon-core)\n";
        assert_eq!(whose(published, ours), Some(false));
        assert_eq!(whose("", ours), None);
    }
}
