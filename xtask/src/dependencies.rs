//! What our crates depend on: licenses, sources, and the oldest versions that are allowed.

use std::fs;

use anyhow::Result;

use crate::{command::Step, published, root, rustup, target, tools::Tool};

/// Reads `deny.toml`.
const CARGO_DENY: Tool = Tool {
    package: "cargo-deny",
    program: "cargo-deny",
    version: "0.20.2",
    features: "",
};

/// The libraries that ship, with all features that bring dependencies.
const LIBRARIES: [(&str, &[&str]); 4] = [
    (
        "pool-std",
        &["live", "metrics-facade", "pinning", "signal", "tracing"],
    ),
    ("pool-io", &[]),
    ("pool-spin", &["deadlock", "host", "trace"]),
    ("sleep-core", &["deadlock", "testing"]),
];

/// Checks both. Returns the number of checks.
pub(crate) fn lane(_quick: bool) -> Result<u64> {
    CARGO_DENY
        .step(&["check", "bans", "licenses", "sources"])?
        .run()?;
    the_oldest_versions()?;
    Ok(2)
}

/// Builds our libraries with the oldest versions that their manifests allow, and those that these
/// allow in turn.
fn the_oldest_versions() -> Result<()> {
    rustup::need_nightly(&["cargo"])?;
    let directory = target::directory("oldest").join("project");
    let dependencies = LIBRARIES.map(|(name, features)| {
        let path = root().join(name);
        format!(
            "{name} = {{ path = '{}', features = {features:?} }}\n",
            path.display()
        )
    });
    let lines = format!("[dependencies]\n{}", dependencies.concat());
    published::write_package(&directory, &lines)?;
    let lock = directory.join("Cargo.lock");
    if lock.exists() {
        fs::remove_file(lock)?;
    }
    Step::cargo(&["+nightly", "generate-lockfile", "-Z", "minimal-versions"])
        .directory(&directory)
        .run()?;
    Step::cargo(&["check"])
        .directory(&directory)
        .env("CARGO_TARGET_DIR", target::directory("oldest"))
        .run()
}
