//! Many operations, signals, and the limits of the process.

use std::{
    ffi::CString,
    fs,
    io::{Write as _, pipe},
    os::fd::{AsFd as _, AsRawFd as _},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread::{self},
};

use pool_io::{self as io, Completion, File, IoBackend, OpenOptions, Transfer};
use pool_std::{BuildError, ThreadPool};

use crate::{
    child::{
        allow_files, allow_no_more_files, allow_no_more_threads, files_and_threads,
        files_and_threads_after, in_child, interrupt_all_threads_until, set_open_files,
    },
    suite::{TempFile, builder, pipe_to_read, pool, start_read},
    support::{wait_for, wait_for_asleep},
};

pub(crate) fn many_operations(backend: IoBackend, name: &str) {
    const BLOCK: usize = 512;
    const BLOCKS: usize = 2000;
    let text: Vec<u8> = (0..BLOCK * BLOCKS)
        .map(|index| (index / BLOCK) as u8)
        .collect();
    let file = TempFile::with(name, &text).open();
    let is_right = |block: usize, transfer: Transfer| {
        let read = transfer.unwrap();
        assert_eq!(read.data(), &text[block * BLOCK..][..BLOCK], "{block}");
    };
    let start = |block| io::read_at(&file, vec![0; BLOCK], (block * BLOCK) as u64);
    let pool = pool(backend, 3);
    // All at once.
    pool.install(|| {
        let reads: Vec<_> = (0..BLOCKS).map(start).collect();
        for (block, read) in reads.into_iter().enumerate() {
            is_right(block, read.wait());
        }
    });
    // One per job.
    pool.scope(|scope| {
        for block in 0..BLOCKS {
            scope.spawn(move |_| is_right(block, start(block).wait()));
        }
    });
    // Writes do not pass by the kernel's queues.
    let path = TempFile::new(&format!("{name}-written"));
    let written = File::new(fs::File::create(&path.0).unwrap()).unwrap();
    pool.install(|| {
        let blocks = text.chunks(BLOCK).enumerate();
        let writes: Vec<_> = blocks
            .map(|(block, text)| io::write_at(&written, text.to_vec(), (block * BLOCK) as u64))
            .collect();
        for write in writes {
            assert_eq!(write.wait().unwrap().bytes, BLOCK);
        }
    });
    assert!(fs::read(&path.0).unwrap() == text);
}

pub(crate) fn more_streams_than_threads(backend: IoBackend, _name: &str) {
    const PIPES: usize = 64;
    let pool = pool(backend, 2);
    let (readers, mut writers): (Vec<_>, Vec<_>) = (0..PIPES).map(|_| pipe_to_read()).unzip();
    let reads: Vec<_> = readers
        .iter()
        .map(|reader| start_read(&pool, reader))
        .collect();
    // None of them keeps another one from its end, nor a job from running.
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    for (index, (writer, read)) in writers.iter_mut().zip(reads).enumerate().rev() {
        writer.write_all(&[index as u8]).unwrap();
        assert_eq!(read.wait().unwrap().data(), [index as u8]);
    }
}

pub(crate) fn descriptors_that_do_not_block_are_waited_for(backend: IoBackend, _name: &str) {
    let (reader, mut writer) = pipe().unwrap();
    // SAFETY: The call takes numbers only.
    let result = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(result, 0);
    let reader = File::new(reader).unwrap();
    let pool = pool(backend, 1);
    for _ in 0..10 {
        thread::scope(|scope| {
            let read = scope.spawn(|| pool.install(|| io::read(&reader, vec![0; 16]).wait()));
            wait_for_asleep(&pool, 1);
            writer.write_all(b"abc").unwrap();
            assert_eq!(read.join().unwrap().unwrap().data(), b"abc");
        });
    }
}

pub(crate) fn signals_are_no_errors(backend: IoBackend, name: &str) {
    in_child(name, || {
        let path = fifo(name);
        let pool = pool(backend, 2);
        let (reader, mut writer) = pipe_to_read();
        let (rounds, finished) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let read = start_read(&pool, &reader);
            // Opening a FIFO waits for the other end.
            let open = pool.install(|| io::open(&path.0, &OpenOptions::new().read(true)));
            scope.spawn(|| {
                interrupt_all_threads_until(|| {
                    rounds.fetch_add(1, SeqCst);
                    finished.load(SeqCst)
                });
            });
            let file = scope.spawn(|| {
                wait_for(|| rounds.load(SeqCst) > 200);
                fs::File::create(&path.0)
            });
            // A ring need not wait for the writer, so the reader must stay.
            let _reader = open.wait().unwrap();
            writer.write_all(b"abc").unwrap();
            assert_eq!(read.wait().unwrap().data(), b"abc");
            assert!(file.join().unwrap().is_ok());
            finished.store(true, SeqCst);
        });
    });
}

pub(crate) fn too_many_open_files_are_an_error_of_the_build(backend: IoBackend, name: &str) {
    in_child(name, || {
        allow_no_more_files();
        match builder(backend, 2).build() {
            Err(BuildError::Driver { source }) => {
                assert_eq!(source.raw_os_error(), Some(libc::EMFILE));
            }
            other => panic!("{other:?}"),
        }
    });
}

/// Refuses each descriptor of a pool in turn. What was made before is given back.
pub(crate) fn each_descriptor_that_is_refused_is_an_error_of_the_build(
    backend: IoBackend,
    name: &str,
) {
    in_child(name, || {
        let before = files_and_threads_after(|| {
            let first = builder(IoBackend::HelperThreads, 2).build().unwrap();
            first.shutdown().unwrap();
        });
        let mut limit = 0;
        loop {
            set_open_files(limit);
            let built = builder(backend, 2).build();
            set_open_files(1024);
            match built {
                Ok(pool) => {
                    let (reader, writer) = pipe_to_read();
                    drop(writer);
                    assert_eq!(start_read(&pool, &reader).wait().unwrap().bytes, 0);
                    break;
                }
                Err(BuildError::Driver { source }) => {
                    assert_eq!(source.raw_os_error(), Some(libc::EMFILE));
                }
                Err(error) => panic!("{error:?}"),
            }
            // Threads of the pool may end a moment later.
            wait_for(|| files_and_threads() == before);
            limit += 1;
        }
        assert!(limit > 3, "some were refused");
    });
}

/// The helper threads poll streams, of which the system takes no more at once than the process may
/// open.
pub(crate) fn more_streams_than_the_process_may_open(backend: IoBackend, name: &str) {
    const PIPES: usize = 20;
    in_child(name, || {
        let pool = pool(backend, 2);
        let (readers, writers): (Vec<_>, Vec<_>) = (0..PIPES).map(|_| pipe_to_read()).unzip();
        for limit in [8, 0] {
            allow_files(limit);
            let reads: Vec<_> = readers
                .iter()
                .map(|reader| start_read(&pool, reader))
                .collect();
            for mut writer in &writers {
                writer.write_all(b"abc").unwrap();
            }
            for read in reads {
                assert_eq!(read.wait().unwrap().data(), b"abc");
            }
        }
    });
}

/// The kernel has threads of its own for what it cannot do without a wait, and they count as the
/// process's. It answers `ECANCELED` where it may start none, as it does when the thread ends that
/// has submitted the operation.
pub(crate) fn an_operation_for_which_no_thread_is_left_fails(backend: IoBackend, name: &str) {
    in_child(name, || {
        // The name goes away before this process becomes a user who may not remove it.
        let file = TempFile::with(name, b"text").open();
        let pool = pool(backend, 2);
        allow_no_more_threads();
        for _ in 0..3 {
            let sync = pool.install(|| io::sync(&file));
            wait_for(|| sync.is_finished());
            // The helper threads were there before, and so may be a thread of the kernel.
            if let Err(error) = sync.wait() {
                assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
            }
        }
        // What needs no thread goes on.
        let read = pool.install(|| io::read_at(&file, vec![0; 4], 0).wait());
        assert_eq!(read.unwrap().data(), b"text");
        pool.shutdown().unwrap();
    });
}

/// A helper thread waits in each for a writer. A ring returns the reader at once.
pub(crate) fn fifos_that_are_opened_stall_no_other_operation(backend: IoBackend, name: &str) {
    const FIFOS: usize = 20;
    let pool = pool(backend, 1);
    let paths: Vec<_> = (0..FIFOS)
        .map(|number| fifo(&format!("{name}-{number}")))
        .collect();
    let options = OpenOptions::new().read(true);
    pool.install(|| {
        let opens: Vec<_> = paths
            .iter()
            .map(|path| io::open(&path.0, &options))
            .collect();
        let file = TempFile::with(name, b"text");
        let opened = io::open(&file.0, &options).wait().unwrap();
        io::sync(&opened).wait().unwrap();
        for (path, open) in paths.iter().zip(opens) {
            let writer = fs::OpenOptions::new().write(true).open(&path.0);
            assert!(open.wait().is_ok());
            drop(writer);
        }
    });
}

/// How many helpers a pool has at most.
const MOST_HELPERS: usize = 64;

/// Begins to open a pipe without a writer, which blocks a helper for each.
fn blocked_opens(
    pool: &ThreadPool,
    path: &TempFile,
    count: usize,
) -> Vec<Completion<std::io::Result<File>>> {
    let options = OpenOptions::new().read(true);
    let open = |_| pool.install(|| io::open(&path.0, &options));
    (0..count).map(open).collect()
}

/// Opens a pipe, which ends what opens it, whenever that begins.
fn both_ends(path: &TempFile) -> fs::File {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).open(&path.0).unwrap()
}

/// No more helpers are added then, and none of them looks.
pub(crate) fn what_waits_for_a_helper_can_be_cancelled(backend: IoBackend, name: &str) {
    if backend == IoBackend::Ring {
        return;
    }
    let pool = pool(backend, 1);
    let path = fifo(name);
    let opens = blocked_opens(&pool, &path, MOST_HELPERS + 1);
    let last = opens.last().unwrap();
    last.cancel();
    wait_for(|| last.is_finished());
    let _both = both_ends(&path);
    let ended = opens.into_iter().map(|open| open.wait().is_ok());
    assert_eq!(ended.filter(|&is_open| is_open).count(), MOST_HELPERS);
}

/// No helper is left that would look at the end.
pub(crate) fn what_waits_for_a_helper_ends_with_its_pool(backend: IoBackend, name: &str) {
    if backend == IoBackend::Ring {
        return;
    }
    let pool = pool(backend, 1);
    let path = fifo(name);
    let opens = blocked_opens(&pool, &path, MOST_HELPERS + 2);
    let end = thread::spawn(move || pool.shutdown());
    let [.., cancelled, last] = &opens[..] else {
        unreachable!("there are many")
    };
    wait_for(|| last.is_finished());
    cancelled.cancel();
    wait_for(|| cancelled.is_finished());
    let _both = both_ends(&path);
    for open in opens {
        if let Err(error) = open.wait() {
            assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        }
    }
    end.join().unwrap().unwrap();
}

/// Whether the kernel knows the path, or does such an `open` always on a thread of its own.
pub(crate) fn a_ring_waits_for_no_fifo(backend: IoBackend, name: &str) {
    const FIFOS: usize = 20;
    if backend == IoBackend::HelperThreads {
        // They wait, see above.
        return;
    }
    let pool = pool(backend, 1);
    let write = OpenOptions::new().write(true);
    for number in 0..FIFOS {
        let path = fifo(&format!("{name}-{number}"));
        for options in [write, write.create(true), write.truncate(true)] {
            let open = pool.install(|| io::open(&path.0, &options).wait());
            assert_eq!(open.unwrap_err().raw_os_error(), Some(libc::ENXIO));
        }
        let read = OpenOptions::new().read(true);
        for (options, is_set) in [(read, false), (read.custom_flags(libc::O_NONBLOCK), true)] {
            let reader = pool.install(|| io::open(&path.0, &options).wait()).unwrap();
            // SAFETY: The call takes numbers only.
            let flags = unsafe { libc::fcntl(reader.as_fd().as_raw_fd(), libc::F_GETFL) };
            assert_eq!(flags & libc::O_NONBLOCK != 0, is_set);
        }
    }
    pool.shutdown().unwrap();
}

fn fifo(name: &str) -> TempFile {
    let path = TempFile::new(name);
    let c_path = CString::new(path.0.to_str().unwrap()).unwrap();
    // SAFETY: the path lives during the call.
    assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
    path
}
