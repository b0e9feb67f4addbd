//! Programs of rayon on our pool.

mod suite;
mod surface;
mod try_out;

use std::path::Path;

use anyhow::{Result, bail};

use crate::{command::Step, root};

pub(crate) use suite::lane;
pub(crate) use try_out::{Arguments, run};

/// The version of rayon-core whose public names ours has.
const ORIGINAL: &str = "=1.13.0";

/// Cargo's arguments that put our `rayon-core` in place of the published one.
fn patch() -> [String; 2] {
    let path = root().join("compat/rayon-core");
    // A TOML string that needs no escapes also with the separators of Windows.
    let patch = format!("patch.crates-io.rayon-core.path='{}'", path.display());
    ["--config".to_owned(), patch]
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
            println!(
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
    fn a_patch_that_is_not_used_is_noticed() {
        let ours = "/here/compat/rayon-core";
        let patched = "rayon-core v1.13.0 (/here/compat/rayon-core)\nrayon v1.12.0 (/there)\n";
        assert_eq!(whose(patched, ours), Some(true));
        let published = "rayon-core v1.13.0\nrayon v1.12.0 (/here/compat/rayon-core)\n";
        assert_eq!(whose(published, ours), Some(false));
        assert_eq!(whose("", ours), None);
    }
}
