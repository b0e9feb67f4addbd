//! The lane of models, which loom plays.

use anyhow::Result;

use super::{CORE_CRATES, LOOM, LOOM_FEATURE};
use crate::{command::Step, target};

/// Of what models depend on, only these need be fast. To optimize the others takes longer than the
/// models take less, and so do tables of lines and a last pass over all parts of a program
/// together.
const FAST_DEPENDENCIES: [&str; 6] = [
    r#"profile.release.lto="off""#,
    "profile.release.debug=false",
    r#"profile.release.package."*".opt-level=0"#,
    "profile.release.package.loom.opt-level=3",
    "profile.release.package.generator.opt-level=3",
    "profile.release.build-override.opt-level=0",
];

/// Makes a step that tests run models.
pub(crate) fn models(test: Step) -> Step {
    test.args(["--release"])
        .args(LOOM_FEATURE)
        .args(
            FAST_DEPENDENCIES
                .map(|setting| ["--config", setting])
                .concat(),
        )
        .env("RUSTFLAGS", LOOM)
        // Each model checks the debug assertions as well.
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_TARGET_DIR", target::directory("loom"))
}

pub(super) fn run(_quick: bool) -> Result<u64> {
    let of_crate = |name| models(Step::cargo(&["test", "--lib", "-p", name]));
    // The last model of a crate leaves a processor to the next crate. Crates have other features
    // alone than all together, so to build all at once first would build most of them twice.
    let crates = CORE_CRATES.into_iter().chain(["pool-io"]);
    Step::run_tests_at_once(crates.map(of_crate).collect())
}
