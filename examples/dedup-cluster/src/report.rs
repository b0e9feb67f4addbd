//! What a run reports.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::Path,
};

use dedup::{Digest, Duplicates, Group, Unreadable};
use serde::{Deserialize, Serialize};

use crate::{
    ClusterError,
    records::{DigestBytes, Found},
    unescape,
};

/// The duplicates in all trees, and what each process did.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Files that are the same, the groups with the most redundant bytes first.
    pub groups: Vec<ReportedGroup>,
    /// The files that are not readable, each with the reason.
    pub unreadable: BTreeMap<String, String>,
    /// What each process did, in their order.
    pub processes: Vec<Statistics>,
}

/// Files that are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedGroup {
    /// The digest, in hexadecimal digits.
    pub digest: String,
    /// The size of each file in bytes.
    pub size: u64,
    /// The escaped paths, sorted.
    pub paths: Vec<String>,
}

/// What a process did until all files of all processes were hashed. Times are in seconds.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// Its number.
    pub process: usize,
    /// How many files it hashed.
    pub files: u64,
    /// The bytes in them.
    pub bytes: u64,
    /// How many digests it took from lists of earlier runs.
    pub known: u64,
    /// How many digests came to it, from all processes, for grouping.
    pub digests: u64,
    /// The bytes that it sent to other processes, with everything that timely adds.
    pub sent: u64,
    /// The bytes that it received from other processes.
    pub received: u64,
    /// The workers of its pool.
    pub workers: Vec<WorkerUse>,
    /// How long it took until its last file was hashed.
    pub busy: f64,
    /// How long it waited then for the other processes.
    pub waited: f64,
    /// The processor time of the whole process, if the system tells.
    pub processor: Option<f64>,
    /// The processor time while it waited.
    pub processor_waiting: Option<f64>,
    /// How many of the digests came while it waited.
    pub digests_waiting: u64,
    /// How many of the bytes it received while it waited.
    pub received_waiting: u64,
    /// How often one of its threads went to sleep while it waited, if the system tells.
    pub sleeps_waiting: Option<u64>,
}

/// How a worker of a pool spent its time, in seconds.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorkerUse {
    /// Running jobs.
    pub active: f64,
    /// Awake and searching for jobs.
    pub idle: f64,
    /// Asleep.
    pub asleep: f64,
}

impl Report {
    /// Creates the report of what the first process has gathered.
    pub(crate) fn new(found: Vec<Found>) -> Self {
        let mut groups = Vec::new();
        let mut unreadable = BTreeMap::new();
        let mut processes = Vec::new();
        for found in found {
            match found {
                Found::Group {
                    digest,
                    size,
                    names,
                } => groups.push(ReportedGroup::new(digest, size, names)),
                Found::Unreadable { name, reason } => _ = unreadable.insert(name, reason),
                Found::Statistics(statistics) => processes.push(statistics),
            }
        }
        processes.sort_by_key(|statistics| statistics.process);
        groups.sort_by(|a, b| {
            let most_redundant = b.redundant_bytes().cmp(&a.redundant_bytes());
            most_redundant.then_with(|| a.paths.cmp(&b.paths))
        });
        Self {
            groups,
            unreadable,
            processes,
        }
    }

    /// Returns the same in the form that a run in one process has. A path that this system does not
    /// have, because it comes from another one, is the escaped path then.
    ///
    /// # Errors
    /// If a digest is not one.
    pub fn duplicates(&self) -> io::Result<Duplicates> {
        let path = |name: &String| unescape(name).unwrap_or_else(|_| name.into());
        let group = |group: &ReportedGroup| {
            let digest = Digest::from_hex(&group.digest)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            Ok(Group {
                digest,
                size: group.size,
                paths: group.paths.iter().map(path).collect(),
            })
        };
        let unreadable = |(name, reason): (&String, &String)| Unreadable {
            path: path(name),
            reason: reason.clone(),
        };
        let groups = self.groups.iter().map(group);
        let unreadable = self.unreadable.iter().map(unreadable);
        Ok(Duplicates::new(
            groups.collect::<io::Result<_>>()?,
            unreadable.collect(),
        ))
    }

    /// Writes the report to a file, as JSON. The file has its name only when it is whole.
    ///
    /// # Errors
    /// If the file cannot be written. There is no file of this name then, or an older one.
    pub fn write(&self, path: &Path) -> Result<(), ClusterError> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = Path::new(&partial);
        let write = || {
            let mut file = io::BufWriter::new(fs::File::create(partial)?);
            serde_json::to_writer(&mut file, self)?;
            file.write_all(b"\n")?;
            // A machine that loses its power has either file whole.
            file.into_inner()?.sync_all()?;
            fs::rename(partial, path)
        };
        write().map_err(|source| {
            // The error of the write says more than one of the removal.
            let _ = fs::remove_file(partial);
            ClusterError::File {
                path: path.to_owned(),
                source,
            }
        })
    }
}

impl ReportedGroup {
    fn new(digest: DigestBytes, size: u64, mut paths: Vec<String>) -> Self {
        paths.sort_unstable();
        let digest = Digest::from_bytes(digest).to_hex().to_string();
        Self {
            digest,
            size,
            paths,
        }
    }

    fn redundant_bytes(&self) -> u64 {
        let copies = self.paths.len().saturating_sub(1);
        self.size.saturating_mul(copies as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_this_system_does_not_have_stay_in_their_groups() {
        let group = |size, names: [&str; 2]| Found::Group {
            digest: [7; 32],
            size,
            names: names.map(str::to_owned).into(),
        };
        // No system has a path that is escaped like this.
        let found = vec![group(1, ["a", "b"]), group(2, ["c", "%"])];
        let report = Report::new(found);
        let paths: Vec<_> = report.groups.iter().map(|group| &group.paths[..]).collect();
        assert_eq!(
            paths,
            [["%", "c"], ["a", "b"]],
            "the most redundant bytes first"
        );
        let printed = report.duplicates().unwrap();
        assert_eq!(printed.groups[0].paths, [Path::new("%"), Path::new("c")]);
        assert_eq!(printed.redundant_bytes(), 3);
    }

    #[test]
    fn a_report_has_its_name_only_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let report = Report::default();
        report.write(&path).unwrap();
        let read: Report = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(read, report);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);

        // What cannot be renamed leaves nothing behind.
        let taken = directory.path().join("taken");
        fs::create_dir(&taken).unwrap();
        let error = report.write(&taken).unwrap_err();
        assert!(error.to_string().contains("taken: "), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
