//! The graph of a cargo workspace.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::Path,
};

use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::graph::{Graph, MAX_TARGETS};

/// Which packages and dependencies of a workspace a graph has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packages {
    /// Only the members of the workspace, not the packages of registries.
    pub only_members: bool,
    /// The dependencies of tests, examples and benchmarks too. Cargo allows cycles through them.
    pub dev_dependencies: bool,
}

/// The error of a workspace whose graph cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// Cargo cannot read it.
    Cargo(cargo_metadata::Error),
    /// It has no packages.
    Empty,
    /// It has more than [`MAX_TARGETS`] packages.
    TooManyPackages(usize),
}

impl Graph {
    /// Reads the graph of packages that `cargo metadata` prints, for the workspace with a manifest
    /// or else of the current directory.
    ///
    /// All features of the members are on. A package is called by its name, with `@` and its
    /// version if there are several with that name.
    ///
    /// # Errors
    /// If cargo fails, or there are no packages, or too many.
    pub fn of_workspace(
        manifest: Option<&Path>,
        packages: Packages,
    ) -> Result<Self, WorkspaceError> {
        let mut command = MetadataCommand::new();
        if let Some(manifest) = manifest {
            command.manifest_path(manifest);
        }
        if packages.only_members {
            // Needs neither a lock file nor the registry.
            command.no_deps();
        } else {
            // Optional dependencies too, which cargo lists for members in any case.
            command.features(CargoOpt::AllFeatures);
        }
        let metadata = command.exec().map_err(WorkspaceError::Cargo)?;
        Self::of_metadata(&metadata, packages)
    }

    /// Returns the graph of what `cargo metadata` printed.
    ///
    /// # Errors
    /// If there are no packages, or too many.
    pub fn of_metadata(metadata: &Metadata, packages: Packages) -> Result<Self, WorkspaceError> {
        if metadata.packages.len() > MAX_TARGETS {
            return Err(WorkspaceError::TooManyPackages(metadata.packages.len()));
        }
        let names = names(&metadata.packages);
        let edges = match &metadata.resolve {
            Some(resolve) if !packages.only_members => {
                let nodes = resolve.nodes.iter().map(|node| {
                    let dependencies = node.deps.iter().filter(|dependency| {
                        let mut kinds = dependency.dep_kinds.iter();
                        kinds.any(|info| packages.includes(info.kind))
                    });
                    let ids = dependencies.map(|dependency| &dependency.pkg);
                    (&node.id, ids.collect())
                });
                nodes.collect()
            }
            _ => paths_between_members(metadata, packages),
        };
        let targets: BTreeMap<&str, (usize, Vec<&str>)> = edges
            .into_iter()
            .filter_map(|(id, dependencies): (_, Vec<_>)| {
                let named = dependencies.iter().filter_map(|id| names.get(id));
                let mut named: Vec<&str> = named.map(|name| &**name).collect();
                named.sort_unstable();
                named.dedup();
                Some((&**names.get(id)?, (0, named)))
            })
            .collect();
        let graph = Self::resolve(targets).expect("dependencies that are no packages are left out");
        graph.ok_or(WorkspaceError::Empty)
    }
}

impl Packages {
    fn includes(self, kind: DependencyKind) -> bool {
        self.dev_dependencies || kind != DependencyKind::Development
    }
}

/// Returns a name for each package that no other one has.
fn names(packages: &[Package]) -> HashMap<&PackageId, String> {
    let unique = |name: &dyn Fn(&Package) -> String| {
        let mut by_name: HashMap<String, Vec<&PackageId>> = HashMap::new();
        for package in packages {
            by_name.entry(name(package)).or_default().push(&package.id);
        }
        by_name.retain(|_, ids| ids.len() == 1);
        by_name.into_iter().map(|(name, ids)| (ids[0], name))
    };
    // The first that is unique counts; an id is.
    let mut names: HashMap<_, _> = unique(&|package| package.id.repr.clone()).collect();
    names.extend(unique(&|package| {
        format!("{}@{}", package.name, package.version)
    }));
    names.extend(unique(&|package| package.name.to_string()));
    names
}

/// Returns the members, each with those that it depends on by a path.
fn paths_between_members(
    metadata: &Metadata,
    packages: Packages,
) -> Vec<(&PackageId, Vec<&PackageId>)> {
    let members = metadata.workspace_packages();
    let by_directory: HashMap<_, _> = members
        .iter()
        .filter_map(|member| Some((member.manifest_path.parent()?, &member.id)))
        .collect();
    let dependencies_of = |member: &&'_ Package| {
        let dependencies = member.dependencies.iter();
        dependencies
            .filter(|dependency| packages.includes(dependency.kind))
            .filter_map(|dependency| by_directory.get(&**dependency.path.as_ref()?).copied())
            .collect()
    };
    members
        .iter()
        .map(|member| (&member.id, dependencies_of(member)))
        .collect()
}

impl fmt::Display for WorkspaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cargo(error) => write!(f, "{}", error.to_string().trim_end()),
            Self::Empty => f.write_str("the workspace has no packages"),
            Self::TooManyPackages(packages) => {
                write!(f, "{packages} packages, of at most {MAX_TARGETS}")
            }
        }
    }
}

// The message contains the source.
impl std::error::Error for WorkspaceError {}
