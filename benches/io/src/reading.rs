//! 1 GiB in blocks of 64 KiB, hashed by jobs.

use std::{
    cell::RefCell,
    fs,
    io::Write,
    os::{fd::AsRawFd, unix::fs::FileExt},
    rc::Rc,
};

use pool_io::File;
use pool_std::ThreadPool;
use protocol::{Case, Unit, time};

use crate::way::Way;

const BLOCK: usize = 64 * 1024;
/// How much one job hashes.
const CHUNK: u64 = 4 << 20;
const SIZE: u64 = 1 << 30;

pub(crate) fn cases(threads: usize) -> Vec<Case> {
    let input = Rc::new(RefCell::new(None));
    let mut cases = Vec::new();
    for way in Way::ALL {
        for (name, is_cold) in [("read-hash-warm", false), ("read-hash-cold", true)] {
            let input = input.clone();
            let mut pool = None;
            let run = move || {
                let mut input = input.borrow_mut();
                let input = input.get_or_insert_with(Input::new);
                let pool = pool.get_or_insert_with(|| way.pool(threads).expect("allowed"));
                input.prepare(is_cold);
                let time = time(|| pool_hash(pool, input, way));
                Unit::Milliseconds.of(time)
            };
            let case = Case::new("io", name, threads, way.name(), Unit::Milliseconds, run);
            cases.push(case.repetitions(5));
        }
    }
    cases
}

/// The file, twice.
struct Input {
    std: fs::File,
    file: File,
}

impl Input {
    /// Writes a file that goes away with the process.
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("pool-std-bench-{}", std::process::id()));
        let mut std = fs::File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .expect("a temporary file");
        fs::remove_file(path).expect("our own");
        let block: Vec<u8> = (0..CHUNK).map(|byte| ((byte * 31) >> 3) as u8).collect();
        for _ in 0..SIZE / CHUNK {
            std.write_all(&block).expect("1 GiB is free");
        }
        std.sync_all().expect("written");
        let file = File::new(std.try_clone().expect("a descriptor")).expect("a file");
        Self { std, file }
    }

    /// Brings the file into the page cache, or drops it from there.
    fn prepare(&self, is_cold: bool) {
        if is_cold {
            // SAFETY: The call takes numbers only.
            let result = unsafe {
                libc::posix_fadvise(self.std.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED)
            };
            assert_eq!(result, 0);
        } else {
            let mut block = vec![0; CHUNK as usize];
            for offset in (0..SIZE).step_by(CHUNK as usize) {
                self.std
                    .read_exact_at(&mut block, offset)
                    .expect("written before");
            }
        }
    }
}

fn pool_hash(pool: &ThreadPool, input: &Input, way: Way) {
    let hash = pool.install(|| hash(input, way, 0..SIZE));
    std::hint::black_box(hash);
}

fn hash(input: &Input, way: Way, range: std::ops::Range<u64>) -> u64 {
    let length = range.end - range.start;
    if length <= CHUNK {
        let hash = match way {
            Way::Blocking => blocking(&input.std, range),
            Way::Ring | Way::Helpers => through_io(&input.file, range),
        };
        return u64::from(hash.as_bytes()[0]);
    }
    let middle = range.start + length / 2;
    let (left, right) = pool_std::join(
        || hash(input, way, range.start..middle),
        || hash(input, way, middle..range.end),
    );
    left + right
}

fn blocking(file: &fs::File, range: std::ops::Range<u64>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut block = vec![0; BLOCK];
    for offset in range.step_by(BLOCK) {
        file.read_exact_at(&mut block, offset)
            .expect("written before");
        hasher.update(&block);
    }
    hasher.finalize()
}

/// Reads the next block while one is hashed. A wait begins no other chunk, as one of a blocking
/// call does not: each worker reads one chunk at a time.
fn through_io(file: &File, range: std::ops::Range<u64>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut spare = vec![0; BLOCK];
    let mut next = Some(pool_io::read_at(file, vec![0; BLOCK], range.start));
    for offset in range.clone().step_by(BLOCK) {
        let read = next.take().expect("begun").wait_blocking();
        let read = read.expect("written before");
        assert_eq!(read.bytes, BLOCK, "files give whole blocks");
        let following = offset + BLOCK as u64;
        if following < range.end {
            next = Some(pool_io::read_at(file, spare, following));
        }
        hasher.update(&read.buffer);
        spare = read.buffer;
    }
    hasher.finalize()
}
