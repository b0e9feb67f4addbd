//! Short names of jobs.

use pool_core::JobName;

/// Crates whose types enclose the closure of a job.
const AROUND: [&str; 9] = [
    "pool_core",
    "pool_std",
    "rayon_core",
    "rayon_names",
    "rayon",
    "core",
    "alloc",
    "std",
    "spin",
];

/// Returns the part of a job's name that says whose closure it is: the first path that is not from
/// these crates, or else the first path.
pub(crate) fn short(name: JobName) -> &'static str {
    name.get().map_or("job", short_path)
}

pub(super) fn short_path(name: &str) -> &str {
    // A part that begins with colons continues a path after the arguments of a type.
    let is_path = |path: &&str| path.contains("::") && !path.starts_with(':');
    let mut paths = name.split(is_between_paths).filter(is_path);
    let first = paths.clone().next().unwrap_or(name);
    let is_program = |path: &&str| {
        let first = path.split("::").next();
        first.is_some_and(|first| !AROUND.contains(&first))
    };
    paths.find(is_program).unwrap_or(first)
}

/// Whether a character separates paths in the name of a type. Braces do not: they are part of a
/// closure's name.
fn is_between_paths(character: char) -> bool {
    matches!(
        character,
        '<' | '>' | ',' | ' ' | '(' | ')' | '[' | ']' | '&' | ';' | '*'
    )
}
