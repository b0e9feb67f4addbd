//! Digests that a run has computed, on disk, so that another run computes only what is missing.
//!
//! Each process appends to a list of its own, `PROCESS.digests`, a line per file: escaped path,
//! size, time of the last change, digest. Lines are only ever added. A process that is killed while
//! it writes leaves a torn last line, which counts for nothing and is cut off before the next line
//! is added.

use std::{
    collections::HashMap,
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use dedup::Digest;

use crate::{
    ClusterError,
    records::{DigestBytes, Task},
};

const EXTENSION: &str = "digests";

/// A list to which this process appends.
#[derive(Debug)]
pub(crate) struct DigestList {
    file: fs::File,
    path: PathBuf,
    lines: String,
}

impl DigestList {
    /// Opens the list of a process in a directory. Creates both if they do not exist.
    ///
    /// # Errors
    /// If the list cannot be read and written.
    pub(crate) fn open(directory: &Path, process: usize) -> Result<Self, ClusterError> {
        let path = directory.join(format!("{process}.{EXTENSION}"));
        let open = || {
            fs::create_dir_all(directory)?;
            let mut file = fs::File::options()
                .read(true)
                .append(true)
                .create(true)
                .open(&path)?;
            cut_torn_line(&mut file)?;
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(Self {
                file,
                path,
                lines: String::new(),
            }),
            Err(source) => Err(ClusterError::File { path, source }),
        }
    }

    /// Adds the digest of a file. It is on its way to the disk when [`write`](Self::write) has
    /// returned.
    pub(crate) fn add(&mut self, task: &Task, digest: &[u8; 32]) {
        // Without a time, another run could not tell whether the file has changed.
        if let Some(modified) = task.modified {
            let line = [
                &task.name,
                &task.size.to_string(),
                &modified.to_string(),
                Digest::from_bytes(*digest).to_hex().as_str(),
            ]
            .join("\t");
            self.lines.push_str(&line);
            self.lines.push('\n');
        }
    }

    /// Writes the lines that were added, at once.
    ///
    /// # Errors
    /// If the system cannot write them. The list is good all the same, up to its last whole line.
    pub(crate) fn write(&mut self) -> Result<(), ClusterError> {
        let lines = std::mem::take(&mut self.lines);
        let written = self.file.write_all(lines.as_bytes());
        written.map_err(|source| ClusterError::File {
            path: self.path.clone(),
            source,
        })
    }
}

/// Cuts off what follows the last line end.
fn cut_torn_line(file: &mut fs::File) -> io::Result<()> {
    const BLOCK: u64 = 4096;
    let length = file.metadata()?.len();
    let mut end = length;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        Read::by_ref(file)
            .take(end - start)
            .read_to_end(&mut block)?;
        if let Some(position) = block.iter().rposition(|byte| *byte == b'\n') {
            end = start + position as u64 + 1;
            break;
        }
        end = start;
    }
    if end < length {
        file.set_len(end)?;
    }
    Ok(())
}

/// The digests of all lists in a directory.
#[derive(Debug, Default)]
pub(crate) struct Known {
    digests: HashMap<(String, u64, u64), DigestBytes>,
    /// The number of lines that are no entries. Their files are hashed again.
    pub(crate) bad_lines: usize,
}

impl Known {
    /// Reads all lists in a directory, of however many processes. A missing directory has none.
    ///
    /// # Errors
    /// If the directory, or a list in it, cannot be read.
    pub(crate) fn read(directory: &Path) -> Result<Self, ClusterError> {
        let mut known = Self::default();
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| ClusterError::File { path, source }
        };
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(known),
            entries => entries.map_err(failed(directory))?,
        };
        for entry in entries {
            let path = entry.map_err(failed(directory))?.path();
            if path.extension().is_some_and(|found| found == EXTENSION) {
                known.add_list(&fs::read(&path).map_err(failed(&path))?);
            }
        }
        Ok(known)
    }

    fn add_list(&mut self, list: &[u8]) {
        for line in list.split_inclusive(|byte| *byte == b'\n') {
            // Without its end, a line is torn: its process was killed while it wrote the line.
            let Some(line) = line.strip_suffix(b"\n") else {
                continue;
            };
            match parse(line) {
                Some((key, digest)) => _ = self.digests.insert(key, digest),
                None => self.bad_lines += 1,
            }
        }
    }

    /// Fills in the digest of a file that has the size and the time of the list. A changed file has
    /// not.
    pub(crate) fn fill_in(&self, task: &mut Task) {
        let Some(modified) = task.modified else {
            return;
        };
        let key = (std::mem::take(&mut task.name), task.size, modified);
        task.known = self.digests.get(&key).copied();
        task.name = key.0;
    }
}

fn parse(line: &[u8]) -> Option<((String, u64, u64), DigestBytes)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = line.split('\t');
    let name = fields.next()?.to_owned();
    let size = fields.next()?.parse().ok()?;
    let modified = fields.next()?.parse().ok()?;
    let digest = Digest::from_hex(fields.next()?).ok()?;
    let is_whole = fields.next().is_none();
    is_whole.then_some(((name, size, modified), *digest.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, size: u64, modified: u64) -> Task {
        Task {
            process: 0,
            name: name.to_owned(),
            size,
            modified: Some(modified),
            known: None,
        }
    }

    fn known(directory: &Path, mut task: Task) -> Option<DigestBytes> {
        Known::read(directory).unwrap().fill_in(&mut task);
        task.known
    }

    fn append(directory: &Path, process: usize, name: &str, digest: u8) {
        let mut list = DigestList::open(directory, process).unwrap();
        list.add(&task(name, 5, 7), &[digest; 32]);
        list.write().unwrap();
    }

    #[test]
    fn lists_of_all_processes_are_read_and_changed_files_are_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let lists = directory.path().join("new");
        assert_eq!(known(&lists, task("a", 5, 7)), None);
        append(&lists, 0, "a", 1);
        append(&lists, 3, "b", 2);
        append(&lists, 0, "c", 3);
        for (name, digest) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(known(&lists, task(name, 5, 7)), Some([digest; 32]));
            assert_eq!(known(&lists, task(name, 6, 7)), None);
            assert_eq!(known(&lists, task(name, 5, 8)), None);
        }
        let mut timeless = task("a", 5, 7);
        timeless.modified = None;
        assert_eq!(known(&lists, timeless), None);
    }

    // However much of its last line a process has written before it is killed.
    #[test]
    fn a_torn_line_counts_for_nothing_and_spoils_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let lists = directory.path();
        append(lists, 0, "first", 1);
        append(lists, 0, "second", 2);
        let path = lists.join("0.digests");
        let whole = fs::read(&path).unwrap();
        let first_line = 1 + whole.iter().position(|byte| *byte == b'\n').unwrap();
        for length in first_line - 1..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(known(lists, task("second", 5, 7)), None, "{length}");
            append(lists, 0, "third", 3);
            let read = Known::read(lists).unwrap();
            assert_eq!(read.bad_lines, 0, "{length}");
            assert_eq!(known(lists, task("third", 5, 7)), Some([3; 32]));
            let has_first = known(lists, task("first", 5, 7)).is_some();
            assert_eq!(has_first, length >= first_line, "{length}");
        }
    }

    #[test]
    fn a_torn_line_longer_than_a_block_is_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        append(directory.path(), 0, "first", 1);
        let path = directory.path().join("0.digests");
        let mut list = fs::read(&path).unwrap();
        let whole = list.len();
        list.extend(std::iter::repeat_n(b'x', 10_000));
        fs::write(&path, list).unwrap();
        drop(DigestList::open(directory.path(), 0).unwrap());
        assert_eq!(fs::read(&path).unwrap().len(), whole);
    }

    #[test]
    fn lines_that_are_no_entries_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        append(directory.path(), 0, "a", 1);
        let good = fs::read(directory.path().join("0.digests")).unwrap();
        let mut list = b"\n\0\0\0\nname\t1\t2\n\xff\t1\t2\t3\nname\tx\t2\t3\n".to_vec();
        list.extend(&good[..good.len() - 1]);
        list.extend(b"\tmore\n");
        list.extend(&good);
        fs::write(directory.path().join("0.digests"), list).unwrap();
        let known = Known::read(directory.path()).unwrap();
        assert_eq!((known.bad_lines, known.digests.len()), (6, 1));
    }

    #[test]
    fn a_list_that_cannot_be_opened_is_named() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("0.digests")).unwrap();
        let opened = DigestList::open(directory.path(), 0).unwrap_err();
        let read = Known::read(directory.path()).unwrap_err();
        for error in [opened, read] {
            assert!(error.to_string().contains("0.digests: "), "{error}");
        }
    }
}
