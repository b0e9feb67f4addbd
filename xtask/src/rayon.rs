//! Programs of rayon on our pool.

mod python;
mod suite;
mod surface;
mod try_out;
mod user;
mod wasm;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::{command::Step, root, speaker::say};

pub(crate) use suite::lane;
pub(crate) use try_out::{Arguments, install_traced, run};
pub(crate) use wasm::{browser, node as wasm};

/// One of our drop-ins.
struct DropIn {
    /// The name of its package.
    package: &'static str,
    /// The version of the original whose public names it has.
    original: &'static str,
    /// The crate of parallel iterators on top of it, and the versions whose tests it passes.
    iterators: (&'static str, &'static str),
    /// How many tests of theirs and of the original's pass at least, without doc tests.
    least_tests: u64,
}

const RAYON: DropIn = DropIn {
    package: "rayon-core",
    original: "=1.13.0",
    iterators: ("rayon", "~1.12"),
    least_tests: 330,
};

/// For the fork under rustc.
const RUSTC: DropIn = DropIn {
    package: "rustc-rayon-core",
    original: "=0.5.1",
    iterators: ("rustc-rayon", "=0.5.1"),
    least_tests: 310,
};

/// What helps if a lock file names an older version, as the README says.
const REMEDY: [&str; 2] = ["update", "rayon-core"];

impl DropIn {
    fn directory(&self) -> PathBuf {
        root().join("compat").join(self.package)
    }

    /// Returns the lines of a manifest that depends on the original.
    fn dependency_on_original(&self) -> String {
        format!("[dependencies]\n{} = \"{}\"\n", self.package, self.original)
    }

    /// Returns cargo's arguments that put ours in place of the published one.
    fn patch(&self) -> [String; 2] {
        // A TOML string that needs no escapes also with the separators of Windows.
        let path = self.directory();
        let patch = format!("patch.crates-io.{}.path='{}'", self.package, path.display());
        ["--config".to_owned(), patch]
    }

    /// Finds, in what cargo says, its warning that ours is not in the graph. It is no error for
    /// cargo.
    fn unused_patch<'s>(&self, says: &'s str) -> Option<&'s str> {
        let patch = format!("atch `{} v", self.package);
        let is_warning = |line: &&str| line.contains(&patch) && line.contains("was not used");
        says.lines().find(is_warning)
    }

    /// Checks that a package, built with the [`patch`](Self::patch), contains ours: cargo only
    /// warns of a patch that it does not use.
    fn assert_ours(&self, manifest: &Path) -> Result<()> {
        let package = self.package;
        let tree = Step::cargo(&["tree", "--prefix", "none", "--invert", package])
            .args(["--manifest-path".as_ref(), manifest.as_os_str()])
            .args(self.patch())
            .read()?;
        match self.is_ours(&tree, &self.directory().to_string_lossy()) {
            Some(true) => {
                say!(
                    "our {package} is in use: {}",
                    tree.lines().next().unwrap_or_default()
                );
                Ok(())
            }
            Some(false) => {
                bail!("the patch was not used; cargo took the published {package}:\n{tree}")
            }
            None => bail!("{package} is not in the graph of {}", manifest.display()),
        }
    }

    /// Whether what `cargo tree` shows begins with our package. None if with none of that name.
    fn is_ours(&self, tree: &str, our_directory: &str) -> Option<bool> {
        let line = tree.lines().next()?.strip_prefix(self.package)?;
        let rest = line.strip_prefix(" v")?;
        Some(rest.contains(&format!("({our_directory})")))
    }
}

/// Returns how many packages the lock file of a new project names with rayon on our pool. The lane
/// checks it.
pub(crate) const fn packages() -> usize {
    user::packages()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_of_an_unused_patch_is_found() {
        let warning = "warning: patch `rayon-core v1.13.0 (/here/compat/rayon-core)` was not used in \
                       the crate graph";
        let says = format!("    Updating crates.io index\n{warning}\nhelp: Check that the patched");
        assert_eq!(RAYON.unused_patch(&says), Some(warning));
        // As older versions of cargo have it.
        let warning =
            "warning: Patch `rayon-core v1.13.0 (/here)` was not used in the crate graph.";
        assert_eq!(RAYON.unused_patch(warning), Some(warning));
        let another = "warning: patch `libc v0.2.9 (/here)` was not used in the crate graph";
        assert_eq!(RAYON.unused_patch(another), None);
        let used = "      Adding rayon-core v1.13.0 (/here/compat/rayon-core)";
        assert_eq!(RAYON.unused_patch(used), None);
    }

    #[test]
    fn a_patch_that_is_not_used_is_noticed() {
        let ours = "/here/compat/rayon-core";
        let patched = "rayon-core v1.13.0 (/here/compat/rayon-core)\nrayon v1.12.0 (/there)\n";
        assert_eq!(RAYON.is_ours(patched, ours), Some(true));
        let published = "rayon-core v1.13.0\nrayon v1.12.0 (/here/compat/rayon-core)\n";
        assert_eq!(RAYON.is_ours(published, ours), Some(false));
        assert_eq!(RAYON.is_ours("", ours), None);

        let ours = "/here/compat/rustc-rayon-core";
        let patched = "rustc-rayon-core v0.5.1 (/here/compat/rustc-rayon-core)\n";
        assert_eq!(RUSTC.is_ours(patched, ours), Some(true));
        assert_eq!(
            RUSTC.is_ours("rustc-rayon-core v0.5.1\n", ours),
            Some(false)
        );
        assert_eq!(RAYON.is_ours(patched, ours), None);
    }
}
