//! Short names of jobs.

use pool_core::JobName;

/// Crates whose types are around the closure of a job.
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

/// Returns the part of a job's name that says whose closure it is: the first path in it that is not
/// of these crates or the standard library. If there is none, the first one.
pub(crate) fn short(name: JobName) -> &'static str {
    name.get().map_or("job", short_path)
}

pub(super) fn short_path(name: &str) -> &str {
    // What begins with colons goes on after the arguments of a type.
    let is_path = |path: &&str| path.contains("::") && !path.starts_with(':');
    let mut paths = name.split(is_between_paths).filter(is_path);
    let first = paths.clone().next().unwrap_or(name);
    let is_program = |path: &&str| {
        let first = path.split("::").next();
        first.is_some_and(|first| !AROUND.contains(&first))
    };
    paths.find(is_program).unwrap_or(first)
}

/// Whether a character stands between the paths in the name of a type. Braces are part of a
/// closure's name.
fn is_between_paths(character: char) -> bool {
    matches!(
        character,
        '<' | '>' | ',' | ' ' | '(' | ')' | '[' | ']' | '&' | ';' | '*'
    )
}
