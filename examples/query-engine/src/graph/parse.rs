//! Graphs as text: `target: dependency dependency`, as in a Makefile.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    path::Path,
};

use crate::graph::{Change, ChangeError, Graph, GraphError, LineError, MAX_TARGETS, Target};

/// What a line says.
struct Line<'a> {
    target: &'a str,
    dependencies: Vec<&'a str>,
}

impl Graph {
    /// Reads a file with a line `target: dependency dependency` for each target.
    ///
    /// Each dependency must be the target of a line too, perhaps a later one. A `#` begins a
    /// comment; empty lines are skipped.
    ///
    /// # Errors
    /// If the file cannot be read, a line is wrong, or there is none.
    pub fn read(path: &Path) -> Result<Self, GraphError> {
        let text = fs::read(path).map_err(|source| GraphError::Read {
            path: path.to_owned(),
            source,
        })?;
        let graph = Self::parse(&text).map_err(|(line, source)| GraphError::Line {
            path: path.to_owned(),
            line,
            source,
        })?;
        graph.ok_or_else(|| GraphError::Empty {
            path: path.to_owned(),
        })
    }

    /// Returns the graph of a text, or None if it has no targets.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(text: &[u8]) -> Result<Option<Self>, (usize, LineError)> {
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        let mut targets = BTreeMap::new();
        for (line, text) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let text = str::from_utf8(text).map_err(|_| (line, LineError::NotUtf8))?;
            let parsed = parse_line(text).map_err(|error| (line, error))?;
            let Some(parsed) = parsed else { continue };
            let is_full = targets.len() == MAX_TARGETS;
            match targets.entry(parsed.target) {
                Entry::Occupied(first) => {
                    let (first, _) = first.get();
                    let error = LineError::DuplicateTarget {
                        name: parsed.target.to_owned(),
                        first: *first,
                    };
                    return Err((line, error));
                }
                Entry::Vacant(_) if is_full => return Err((line, LineError::TooManyTargets)),
                Entry::Vacant(entry) => _ = entry.insert((line, parsed.dependencies)),
            }
        }
        Self::resolve(targets)
    }

    /// Replaces names by targets. The line numbers are for the error.
    pub(super) fn resolve(
        targets: BTreeMap<&str, (usize, Vec<&str>)>,
    ) -> Result<Option<Self>, (usize, LineError)> {
        if targets.is_empty() {
            return Ok(None);
        }
        let names = targets.keys().map(|&name| name.into()).collect();
        let mut graph = Self {
            names,
            dependencies: Vec::new(),
        };
        let mut unknown = Vec::new();
        for (line, dependencies) in targets.into_values() {
            match graph.find_all(&dependencies) {
                Ok(targets) => graph.dependencies.push(targets),
                Err(error) => unknown.push((line, error)),
            }
        }
        match unknown.into_iter().min_by_key(|(line, _)| *line) {
            Some(first) => Err(first),
            None => Ok(Some(graph)),
        }
    }

    fn find_all(&self, names: &[&str]) -> Result<Vec<Target>, LineError> {
        let find = |&name: &&str| {
            self.target(name)
                .ok_or_else(|| LineError::UnknownDependency(name.to_owned()))
        };
        names.iter().map(find).collect()
    }

    /// Returns the change that a text describes: `target` for an edit of its source, or
    /// `target: dependency dependency` for new dependencies.
    ///
    /// # Errors
    /// If the text is wrong, or names targets that are not in the graph.
    pub fn parse_change(&self, text: &str) -> Result<Change, ChangeError> {
        let find = |name: &str| {
            self.target(name)
                .ok_or_else(|| ChangeError::UnknownTarget(name.to_owned()))
        };
        if !text.contains(':') {
            return find(text.trim()).map(Change::Edit);
        }
        let line = parse_line(text).map_err(ChangeError::Line)?;
        let line = line.ok_or(ChangeError::Line(LineError::NoColon))?;
        let target = find(line.target)?;
        let dependencies = self.find_all(&line.dependencies);
        let dependencies = dependencies.map_err(ChangeError::Line)?;
        Ok(Change::Dependencies(target, dependencies))
    }
}

/// Returns what a line says, or None if there is nothing but a comment.
fn parse_line(line: &str) -> Result<Option<Line<'_>>, LineError> {
    let line = line.split('#').next().unwrap_or_default().trim();
    if line.is_empty() {
        return Ok(None);
    }
    let (target, dependencies) = line.split_once(':').ok_or(LineError::NoColon)?;
    let mut targets = target.split_whitespace();
    let target = targets.next().ok_or(LineError::NoTarget)?;
    if targets.next().is_some() {
        return Err(LineError::SeveralTargets);
    }
    let dependencies: Vec<_> = dependencies.split_whitespace().collect();
    match dependencies.iter().find(|name| name.contains(':')) {
        Some(name) => Err(LineError::ColonInDependency((*name).to_owned())),
        None => Ok(Some(Line {
            target,
            dependencies,
        })),
    }
}

#[cfg(test)]
mod tests;
