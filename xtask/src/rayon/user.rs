//! What a user's project gets with the line that the README names.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use super::{RAYON, REMEDY};
use crate::{command::Step, published, root, target};

/// All packages of a new project that uses rayon on our pool. The packages that only our tests need
/// (loom, proptest) are not among them.
const PACKAGES: [&str; 16] = [
    "crossbeam-utils",
    "deque-core",
    "either",
    "libc",
    "lock_api",
    "pool-core",
    "pool-std",
    "portable-atomic",
    "progress-core",
    "rayon",
    "rayon-core",
    "rayon-names",
    "scopeguard",
    "scratch",
    "sleep-core",
    "sleep-primitives",
];

/// Returns how many packages other than the project itself are in its lock file.
pub(super) const fn packages() -> usize {
    PACKAGES.len() - 1
}

/// What lock files of two years before the drop-in name.
const OLD: [(&str, &str); 6] = [
    ("rayon", "1.8.0"),
    ("rayon-core", "1.12.0"),
    ("crossbeam-deque", "0.8.3"),
    ("crossbeam-epoch", "0.9.15"),
    ("crossbeam-utils", "0.8.16"),
    ("libc", "0.2.149"),
];

/// Checks the lock files of projects that take our `rayon-core`, and builds with the oldest
/// dependencies that we promise to work with. Returns the number of checks.
pub(super) fn check() -> Result<u64> {
    nothing_more_than_needed()?;
    an_old_lock_file()?;
    the_lowest_versions()?;
    Ok(3)
}

fn nothing_more_than_needed() -> Result<()> {
    let project = Project::new("new", "rayon = \"1\"\n")?;
    project.add_patch()?;
    ensure!(
        RAYON
            .unused_patch(&project.cargo(&["generate-lockfile"])?)
            .is_none(),
        "a new project does not use the patch"
    );
    let locked: Vec<_> = project.locked()?.into_keys().collect();
    ensure!(
        locked == PACKAGES,
        "a user's lock file names {locked:?}, not {PACKAGES:?}"
    );
    Ok(())
}

/// Checks a lock file that is older than our version: the patch needs the one command that the
/// README names, and nothing else moves.
fn an_old_lock_file() -> Result<()> {
    let project = Project::new("old", "rayon = \"1\"\nlibc = \"0.2\"\n")?;
    project.cargo(&["generate-lockfile"])?;
    for (name, version) in OLD {
        project.cargo(&["update", name, "--precise", version])?;
    }
    project.add_patch()?;
    // Otherwise nothing would show that we still understand cargo's warning.
    ensure!(
        RAYON.unused_patch(&project.cargo(&["fetch"])?).is_some(),
        "cargo does not warn that a lock file keeps the patch out"
    );
    if let Some(warning) = RAYON.unused_patch(&project.cargo(&REMEDY)?) {
        let remedy = REMEDY.join(" ");
        bail!("`cargo {remedy}` does not help an old lock file: {warning}");
    }
    RAYON.assert_ours(&project.manifest())?;
    let locked = project.locked()?;
    for (name, version) in OLD {
        match locked.get(name) {
            Some(now) if name != "rayon-core" => {
                ensure!(now == version, "`{name}` had to become {now}");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Builds with the lowest versions that our requirements allow.
fn the_lowest_versions() -> Result<()> {
    let project = Project::new("lowest", "rayon-core = \"1\"\n")?;
    project.add_patch()?;
    project.cargo(&["generate-lockfile"])?;
    for (name, version) in lowest(&project.metadata()?)? {
        project.cargo(&["update", &name, "--precise", &version])?;
    }
    Step::cargo(&["build", "--manifest-path"])
        .args([project.manifest()])
        .env("CARGO_TARGET_DIR", target::directory("rayon/lowest"))
        .run()
}

/// Returns the registry's packages that ours need, each in the lowest version that satisfies all of
/// ours.
fn lowest(metadata: &Metadata) -> Result<BTreeMap<String, String>> {
    let mut lowest = BTreeMap::new();
    let ours = metadata.packages.iter().filter(|it| it.source.is_none());
    for dependency in ours.flat_map(|package| &package.dependencies) {
        let is_needed = dependency.kind == DependencyKind::Normal
            && !dependency.optional
            && dependency.path.is_none();
        if !is_needed {
            continue;
        }
        let [requirement] = &*dependency.req.comparators else {
            bail!("`{}` has more than one bound", dependency.name);
        };
        let version = (
            requirement.major,
            requirement.minor.unwrap_or(0),
            requirement.patch.unwrap_or(0),
        );
        let known = lowest.entry(dependency.name.clone()).or_insert(version);
        *known = version.max(*known);
    }
    // Their own name is what cargo would look for in the patch.
    lowest.remove("rayon-core");
    let text = |(major, minor, patch)| format!("{major}.{minor}.{patch}");
    Ok(lowest
        .into_iter()
        .map(|(name, version)| (name, text(version)))
        .collect())
}

/// A project of a user.
struct Project {
    directory: PathBuf,
}

impl Project {
    /// Creates a project without a lock file.
    fn new(name: &str, dependencies: &str) -> Result<Self> {
        let directory = target::directory("rayon/user").join(name);
        published::write_package(&directory, &format!("[dependencies]\n{dependencies}"))?;
        let lock = directory.join("Cargo.lock");
        if lock.exists() {
            fs::remove_file(lock)?;
        }
        Ok(Self { directory })
    }

    fn manifest(&self) -> PathBuf {
        self.directory.join("Cargo.toml")
    }

    /// Adds the line of the README.
    fn add_patch(&self) -> Result<()> {
        let manifest = self.manifest();
        let text = fs::read_to_string(&manifest)?;
        let ours = root().join("compat/rayon-core");
        let patch = format!(
            "\n[patch.crates-io]\nrayon-core = {{ path = '{}' }}\n",
            ours.display()
        );
        fs::write(manifest, text + &patch)?;
        Ok(())
    }

    /// Runs cargo here. Returns what it says.
    fn cargo(&self, arguments: &[&str]) -> Result<String> {
        Step::cargo(arguments)
            .directory(&self.directory)
            .read_errors()
    }

    fn metadata(&self) -> Result<Metadata> {
        let metadata = Step::cargo(&["metadata", "--format-version", "1"])
            .directory(&self.directory)
            .read()?;
        Ok(MetadataCommand::parse(metadata)?)
    }

    fn locked(&self) -> Result<BTreeMap<String, String>> {
        locked(&self.directory.join("Cargo.lock"))
    }
}

/// Returns the packages in a lock file, with their versions.
fn locked(lock: &Path) -> Result<BTreeMap<String, String>> {
    let lock: toml::Table = fs::read_to_string(lock)?.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    packages
        .context("a lock file without packages")?
        .iter()
        .map(|package| {
            let field = |name| Some(package.get(name)?.as_str()?.to_owned());
            field("name")
                .zip(field("version"))
                .context("a package without name and version")
        })
        .collect()
}
