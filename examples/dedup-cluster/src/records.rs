//! What travels between processes.

use std::{cmp::Reverse, collections::BinaryHeap, time::UNIX_EPOCH};

use dedup::File;
use serde::{Deserialize, Serialize};

use crate::{Statistics, escape};

/// A file counts as at least this many bytes when the work is shared: to open, read and close one
/// takes time.
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
/// Each task goes to the process that has the least so far, which is best with the largest files
/// first. Tasks with a known digest take no time.
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
        *load = u64::saturating_add(*load, task.size.max(COST_OF_FILE));
    }
}

/// What became of a file.
#[derive(Debug, Clone)]
pub(crate) struct Hashed {
    /// The escaped path of the file.
    pub(crate) name: String,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The digest, or the reason that the file is not readable.
    pub(crate) result: Result<DigestBytes, String>,
}

/// A digest as it travels. Four words are deserialized faster than 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest([u64; DIGEST_WORDS]);

const WORD: usize = size_of::<u64>();
const DIGEST_WORDS: usize = size_of::<DigestBytes>() / WORD;

impl Digest {
    /// Creates the words of a digest.
    fn new(bytes: &DigestBytes) -> Self {
        let (words, _) = bytes.as_chunks();
        Self(std::array::from_fn(|index| {
            u64::from_le_bytes(words[index])
        }))
    }

    /// Returns the digest that the words are of.
    pub(crate) fn bytes(self) -> DigestBytes {
        std::array::from_fn(|index| self.0[index / WORD].to_le_bytes()[index % WORD])
    }

    /// Returns the process that groups this digest: equal ones meet there.
    fn process(self, processes: u64) -> u64 {
        self.0[0] % processes
    }

    /// Returns a number for hash tables. All bits of a digest are random, and the first word has
    /// chosen the process. There is no key: a process that invents digests can make the tables of
    /// others slow.
    pub(crate) fn hash(self) -> u32 {
        self.0[DIGEST_WORDS - 1] as u32
    }
}

/// What became of files, on its way to the process that groups their digests.
///
/// The files with digests are in columns, all of which have the same length, so that a digest that
/// arrives costs no memory of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "UncheckedBatch")]
pub(crate) struct Batch {
    /// The process to which this travels.
    pub(crate) process: u64,
    /// The escaped path of each file.
    pub(crate) names: Names,
    /// The size of each file in bytes.
    pub(crate) sizes: Vec<u64>,
    /// The digest of each file.
    pub(crate) digests: Vec<Digest>,
    /// The escaped paths of other files, each with the reason that the file is not readable.
    pub(crate) unreadable: Vec<(String, String)>,
}

impl Batch {
    /// Divides files by their digests. There is one batch for each process that has any.
    pub(crate) fn divide(
        files: impl IntoIterator<Item = Hashed>,
        processes: u64,
    ) -> impl Iterator<Item = Self> {
        let mut batches: Vec<_> = (0..processes)
            .map(|process| Self {
                process,
                ..Self::default()
            })
            .collect();
        for Hashed { name, size, result } in files {
            match result {
                Ok(digest) => {
                    let digest = Digest::new(&digest);
                    let batch = &mut batches[digest.process(processes) as usize];
                    batch.names.push(&name);
                    batch.sizes.push(size);
                    batch.digests.push(digest);
                }
                Err(reason) => batches[0].unreadable.push((name, reason)),
            }
        }
        let has_any = |batch: &Self| !(batch.digests.is_empty() && batch.unreadable.is_empty());
        batches.into_iter().filter(has_any)
    }
}

/// Names, one after the other in one text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Names {
    text: String,
    /// Where each name ends in the text, and the next one begins.
    ends: Vec<usize>,
}

impl Names {
    /// Adds a name.
    fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// Returns a name by its number.
    pub(crate) fn get(&self, index: usize) -> &str {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[index]]
    }

    fn are_in_text(&self) -> bool {
        let mut begin = 0;
        self.ends.iter().all(|&end| {
            self.text
                .get(std::mem::replace(&mut begin, end)..end)
                .is_some()
        })
    }
}

/// What a peer says is a batch.
#[derive(Deserialize)]
struct UncheckedBatch {
    process: u64,
    names: Names,
    sizes: Vec<u64>,
    digests: Vec<Digest>,
    unreadable: Vec<(String, String)>,
}

impl TryFrom<UncheckedBatch> for Batch {
    type Error = &'static str;

    fn try_from(unchecked: UncheckedBatch) -> Result<Self, Self::Error> {
        let UncheckedBatch {
            process,
            names,
            sizes,
            digests,
            unreadable,
        } = unchecked;
        let count = digests.len();
        if names.ends.len() != count || sizes.len() != count || !names.are_in_text() {
            return Err("a batch of files whose columns do not fit together");
        }
        Ok(Self {
            process,
            names,
            sizes,
            digests,
            unreadable,
        })
    }
}

/// What the first process gathers for the report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Found {
    /// Files that are the same.
    Group {
        /// Their digest.
        digest: DigestBytes,
        /// The size of each in bytes.
        size: u64,
        /// Their escaped paths.
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
    fn files_come_back_from_the_batches_of_all_processes() {
        let digest = |number: u8| std::array::from_fn(|index| number.wrapping_mul(index as u8 + 1));
        let files = (0..100_u8).map(|number| Hashed {
            name: "n".repeat(number.into()),
            size: number.into(),
            result: match number % 10 {
                9 => Err(format!("reason {number}")),
                _ => Ok(digest(number)),
            },
        });
        for processes in [1, 3] {
            let mut seen = Vec::new();
            for batch in Batch::divide(files.clone(), processes) {
                let text = serde_json::to_string(&batch).unwrap();
                let batch: Batch = serde_json::from_str(&text).unwrap();
                for (index, found) in batch.digests.iter().enumerate() {
                    assert_eq!(found.process(processes), batch.process);
                    let number = batch.sizes[index] as u8;
                    assert_eq!(batch.names.get(index).len(), usize::from(number));
                    assert_eq!(found.bytes(), digest(number));
                    seen.push(number);
                }
                for (name, reason) in batch.unreadable {
                    assert_eq!(reason, format!("reason {}", name.len()));
                    seen.push(name.len() as u8);
                }
            }
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..100));
        }
    }

    #[test]
    fn a_batch_whose_columns_do_not_fit_together_is_refused() {
        let hashed = ["é", "b"].map(|name| Hashed {
            name: name.to_owned(),
            size: 1,
            result: Ok([0; 32]),
        });
        let whole: Vec<_> = Batch::divide(hashed, 1).collect();
        let whole = serde_json::to_value(&whole[0]).unwrap();
        let read = |value| serde_json::from_value::<Batch>(value);
        assert!(read(whole.clone()).is_ok());
        for (column, wrong) in [
            ("/sizes", serde_json::json!([1])),
            ("/digests", serde_json::json!([])),
            ("/names/ends", serde_json::json!([2])),
            ("/names/ends", serde_json::json!([2, 4])),
            ("/names/ends", serde_json::json!([3, 2])),
            ("/names/ends", serde_json::json!([1, 3])),
        ] {
            let mut batch = whole.clone();
            *batch.pointer_mut(column).unwrap() = wrong.clone();
            assert!(read(batch).is_err(), "{column}: {wrong}");
        }
    }

    #[test]
    fn a_process_without_digests_gets_no_batch() {
        assert_eq!(Batch::divide([], 3).count(), 0);
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
