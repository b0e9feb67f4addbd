//! What travels between processes.

use std::{cmp::Reverse, collections::BinaryHeap, time::UNIX_EPOCH};

use dedup::File;
use serde::{Deserialize, Serialize};

use crate::{Statistics, escape};

/// A file counts as at least this many bytes when the work is shared: to open, read and close one takes time.
const COST_OF_FILE: u64 = 32 * 1024;

/// The bytes of a digest.
pub(crate) type DigestBytes = [u8; 32];

/// A file to hash, and the process that is to hash it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// The process.
    pub(crate) process: u64,
    /// The escaped path of the file.
    pub(crate) name: String,
    /// The size in bytes when the tree was read.
    pub(crate) size: u64,
    /// The time of the last change, in nanoseconds since 1970, if the system tells.
    pub(crate) modified: Option<u64>,
    /// The digest, if an earlier run has computed it.
    pub(crate) known: Option<DigestBytes>,
}

impl Task {
    /// Creates the task to hash a file in a process.
    pub(crate) fn new(file: &File, process: u64) -> Self {
        let since = |time: std::time::SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = file.modified.and_then(since);
        Self {
            process,
            name: escape(&file.path),
            size: file.size,
            modified: modified.and_then(|time| u64::try_from(time.as_nanos()).ok()),
            known: None,
        }
    }
}

/// Shares tasks among processes, so that each has about the same number of bytes to hash.
///
/// Each task goes to the process that has the least so far, which is best with the largest files first. Tasks
/// with a known digest take no time.
pub(crate) fn share(tasks: &mut [Task], processes: u64) {
    let mut loads: BinaryHeap<_> = (0..processes)
        .map(|process| Reverse((0, process)))
        .collect();
    for task in tasks.iter_mut().filter(|task| task.known.is_none()) {
        let Some(mut least) = loads.peek_mut() else {
            return;
        };
        let Reverse((load, process)) = &mut *least;
        task.process = *process;
        *load += task.size.max(COST_OF_FILE);
    }
}

/// What became of a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hashed {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// The digest, or the reason that the file is not readable.
    #[serde(with = "by_words")]
    pub(crate) result: Result<DigestBytes, String>,
}

/// Digests travel as four numbers: of an array of bytes, each byte would be read and written by itself.
mod by_words {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::DigestBytes;

    const WORD: usize = size_of::<u64>();
    type Words = [u64; size_of::<DigestBytes>() / WORD];

    pub(super) fn serialize<S: Serializer>(
        result: &Result<DigestBytes, String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let to_words = |digest: &DigestBytes| -> Words {
            let (words, _) = digest.as_chunks();
            std::array::from_fn(|index| u64::from_le_bytes(words[index]))
        };
        result.as_ref().map(to_words).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Result<DigestBytes, String>, D::Error> {
        let to_bytes = |words: Words| -> DigestBytes {
            std::array::from_fn(|index| words[index / WORD].to_le_bytes()[index % WORD])
        };
        Result::<Words, String>::deserialize(deserializer).map(|result| result.map(to_bytes))
    }
}

impl Hashed {
    /// Returns the number by which equal digests meet in one process.
    pub(crate) fn key(&self) -> u64 {
        let Ok(digest) = &self.result else {
            return 0;
        };
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        u64::from_le_bytes(first)
    }
}

/// What the first process gathers for the report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Found {
    /// Files that are the same.
    Group {
        digest: DigestBytes,
        size: u64,
        names: Vec<String>,
    },
    /// A file that is not readable.
    Unreadable { name: String, reason: String },
    /// What a process did.
    Statistics(Statistics),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(size: u64, known: bool) -> Task {
        Task {
            process: 9,
            name: String::new(),
            size,
            modified: None,
            known: known.then_some([0; 32]),
        }
    }

    #[test]
    fn digests_and_reasons_come_back_from_words() {
        let digest = std::array::from_fn(|index| index as u8 * 7);
        for result in [Ok(digest), Err("reason".to_owned())] {
            let hashed = Hashed {
                name: "name".to_owned(),
                size: 5,
                result: result.clone(),
            };
            let text = serde_json::to_string(&hashed).unwrap();
            let back: Hashed = serde_json::from_str(&text).unwrap();
            assert_eq!(back.result, result);
        }
    }

    #[test]
    fn shares_by_size_and_not_by_number() {
        let mut tasks = vec![task(100 << 20, false)];
        tasks.extend((0..100).map(|_| task(1 << 20, false)));
        share(&mut tasks, 2);
        assert_eq!(tasks[0].process, 0);
        assert!(tasks[1..].iter().all(|task| task.process == 1));
    }

    #[test]
    fn empty_files_are_shared_too() {
        let mut tasks = vec![task(0, false); 9];
        share(&mut tasks, 3);
        for process in 0..3 {
            let share = tasks.iter().filter(|task| task.process == process);
            assert_eq!(share.count(), 3);
        }
    }

    #[test]
    fn known_files_stay_and_count_nothing() {
        let mut tasks = vec![task(100 << 20, true), task(1, false), task(1, false)];
        share(&mut tasks, 2);
        let processes: Vec<_> = tasks.iter().map(|task| task.process).collect();
        assert_eq!(processes, [9, 0, 1]);
    }
}
