//! Reads and writes of files and pipes, and their errors.

use std::{
    fs,
    io::{ErrorKind, Write as _, pipe},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener, UnixStream},
    },
};

use pool_io::{self as io, File, IoBackend, OpenOptions};

use crate::{
    child::{Forbidden, forbid_system_calls, in_child},
    suite::{TempFile, pipe_to_read, pipe_to_write, pool, raw_error, start_read},
};

pub(crate) fn round_trip(backend: IoBackend, name: &str) {
    let path = TempFile::new(name);
    let text: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    pool(backend, 2).install(|| {
        let options = OpenOptions::new().read(true).write(true).create_new(true);
        let file = io::open(&path.0, &options).wait().unwrap();
        assert!(!file.is_stream());
        let mut rest = text.clone();
        let mut offset = 0;
        while !rest.is_empty() {
            let written = io::write_at(&file, rest, offset).wait().unwrap();
            assert!(written.bytes > 0);
            offset += written.bytes as u64;
            rest = written.buffer[written.bytes..].to_vec();
        }
        io::sync(&file).wait().unwrap();
        let exists = io::open(&path.0, &options).wait();
        assert_eq!(exists.unwrap_err().kind(), ErrorKind::AlreadyExists);

        let blocks: Vec<_> = (0..text.len() as u64)
            .step_by(4096)
            .map(|offset| io::read_at(&file, vec![0; 4096], offset))
            .collect();
        let read: Vec<u8> = blocks
            .into_iter()
            .flat_map(|block| block.wait().unwrap().data().to_vec())
            .collect();
        assert!(read == text);
        // From the current position.
        let first = io::read(&file, vec![0; 4]).wait().unwrap();
        let second = io::read(&file, vec![0; 4]).wait().unwrap();
        assert_eq!(first.data(), 0_u32.to_le_bytes());
        assert_eq!(second.data(), 1_u32.to_le_bytes());
    });
}

pub(crate) fn short_reads_and_the_end(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"0123456789");
    let (reader, mut writer) = pipe_to_read();
    let pool = pool(backend, 1);
    pool.install(|| {
        let file = file.open();
        for (offset, bytes) in [(0, 10), (4, 6), (10, 0), (1 << 40, 0)] {
            let read = io::read_at(&file, vec![7; 100], offset).wait().unwrap();
            assert_eq!((read.bytes, read.buffer.len()), (bytes, 100), "{offset}");
            assert_eq!(read.data(), &b"0123456789"[10 - bytes..]);
            assert_eq!(read.buffer[bytes..], vec![7; 100 - bytes]);
        }
        assert_eq!(io::read_at(&file, Vec::new(), 0).wait().unwrap().bytes, 0);
    });
    let read = start_read(&pool, &reader);
    writer.write_all(b"abc").unwrap();
    assert_eq!(read.wait().unwrap().data(), b"abc");
    drop(writer);
    assert_eq!(start_read(&pool, &reader).wait().unwrap().bytes, 0);
}

/// Linux 5.9 and 5.10 may answer a read that must not wait with no bytes before the end of a file.
pub(crate) fn no_bytes_at_once_are_not_the_end(backend: IoBackend, name: &str) {
    in_child(name, || {
        let file = TempFile::with(name, b"hello").open();
        let pool = pool(backend, 1);
        // The call succeeds, and returns 0.
        forbid_system_calls(Forbidden {
            call: libc::SYS_preadv2,
            second_argument: None,
            error: 0,
        });
        let read_at = |offset| pool.install(|| io::read_at(&file, vec![0; 16], offset).wait());
        assert_eq!(read_at(0).unwrap().data(), b"hello");
        assert_eq!(read_at(4).unwrap().data(), b"o");
        assert_eq!(read_at(5).unwrap().data(), b"");
    });
}

/// Whatever carries it out: the system has nothing to wait for.
pub(crate) fn an_empty_buffer_does_not_wait(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    let (silent, _writer) = pipe_to_read();
    let read = pool.install(|| io::read(&silent, Vec::new()).wait());
    assert_eq!(read.unwrap().bytes, 0);

    let (_reader, full) = pipe_to_write();
    pool.install(|| {
        let written = io::write(&full, vec![0; 1 << 20]).wait().unwrap();
        assert!(written.bytes < 1 << 20);
        assert_eq!(io::write(&full, Vec::new()).wait().unwrap().bytes, 0);
    });
}

/// If two rings took the same position, the later record would replace the earlier one.
pub(crate) fn transfers_at_the_current_position_take_turns(backend: IoBackend, name: &str) {
    const RECORDS: usize = 2000;
    const RECORD: [u8; 100] = [7; 100];
    let path = TempFile::with(name, b"");
    let options = OpenOptions::new().read(true).write(true);
    let pool = pool(backend, 2);
    let file = pool.install(|| io::open(&path.0, &options).wait().unwrap());
    let write = || {
        for _ in 0..RECORDS {
            assert_eq!(
                io::write(&file, RECORD.to_vec()).wait().unwrap().bytes,
                RECORD.len()
            );
        }
    };
    pool.install(|| pool_std::join(write, write));
    let written = fs::read(&path.0).unwrap();
    assert_eq!(written.len(), 2 * RECORDS * RECORD.len());
    assert!(written.iter().all(|&byte| byte == RECORD[0]), "a hole");
    // A new description begins at the start. The two reads are in flight together.
    let numbers: Vec<u8> = (0..=255).collect();
    fs::write(&path.0, &numbers).unwrap();
    let file = path.open();
    let reads = pool.install(|| [(); 2].map(|()| io::read(&file, vec![0; 128])));
    let mut read = reads.map(|read| read.wait().unwrap().data().to_vec());
    read.sort();
    assert_eq!(read.concat(), numbers);
}

/// Reproduces a bug: a ring does not write the position back after a read that bypasses the cache.
pub(crate) fn direct_reads_move_the_current_position_on(backend: IoBackend, name: &str) {
    const BLOCK: usize = 4096;
    let text: Vec<u8> = (0..2 * BLOCK).map(|index| (index / BLOCK) as u8).collect();
    let path = TempFile::with(name, &text);
    let pool = pool(backend, 1);
    let options = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT);
    let Ok(file) = pool.install(|| io::open(&path.0, &options).wait()) else {
        eprintln!("this file system has no direct reads");
        return;
    };
    for expected in 0..2 {
        let read = match pool.install(|| io::read(&file, aligned(BLOCK)).wait()) {
            Ok(read) => read,
            Err(error) if error.error.raw_os_error() == Some(libc::EINVAL) => {
                eprintln!("direct reads need other addresses here");
                return;
            }
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(read.data(), vec![expected; BLOCK], "block {expected}");
    }
}

/// Returns a buffer at an address that direct reads accept, if the allocator has one.
fn aligned(length: usize) -> Vec<u8> {
    let buffers: Vec<_> = (0..1000).map(|_| vec![9; length]).collect();
    let is_aligned = |buffer: &Vec<u8>| buffer.as_ptr().addr().is_multiple_of(4096);
    let found = buffers.into_iter().find(is_aligned);
    found.unwrap_or_else(|| vec![9; length])
}

/// Reproduces a bug: the error of a filter that allows only what it knows was taken for that of the
/// stream.
pub(crate) fn streams_do_without_a_call_that_a_filter_forbids(backend: IoBackend, name: &str) {
    in_child(name, || {
        let pool = pool(backend, 1);
        for call in [libc::SYS_preadv2, libc::SYS_pwritev2] {
            forbid_system_calls(Forbidden {
                call,
                second_argument: None,
                error: libc::EPERM,
            });
        }
        let (reader, writer) = pipe().unwrap();
        let (reader, writer) = (File::new(reader).unwrap(), File::new(writer).unwrap());
        let read = pool.install(|| io::read(&reader, vec![0; 16]));
        let written = pool.install(|| io::write(&writer, b"hello".to_vec()).wait());
        assert_eq!(written.unwrap().bytes, 5);
        assert_eq!(read.wait().unwrap().data(), b"hello");
        // The file's own error.
        let error = pool.install(|| io::read(&writer, vec![0; 16]).wait());
        assert_eq!(raw_error(error), libc::EBADF);
    });
}

pub(crate) fn full_device(backend: IoBackend, _name: &str) {
    pool(backend, 1).install(|| {
        let options = OpenOptions::new().write(true);
        let full = io::open("/dev/full", &options).wait().unwrap();
        let error = io::write(&full, b"text".to_vec()).wait().unwrap_err();
        assert_eq!(error.buffer, b"text");
        assert_eq!(error.error.kind(), ErrorKind::StorageFull);
    });
}

pub(crate) fn closed_pipe(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    let (reader, writer) = pipe_to_write();
    drop(reader);
    let error = pool.install(|| io::write(&writer, b"text".to_vec()).wait());
    let error = error.unwrap_err();
    assert_eq!(error.buffer, b"text");
    assert_eq!(error.error.kind(), ErrorKind::BrokenPipe);

    // A write that waits for room meets the end of the reader.
    let (reader, writer) = pipe_to_write();
    let (written, waits) = pool.install(|| {
        let written = io::write(&writer, vec![0; 1 << 20]).wait().unwrap();
        (written.bytes, io::write(&writer, vec![0; 1 << 20]))
    });
    assert!(written > 0 && written < 1 << 20);
    drop(reader);
    assert_eq!(raw_error(waits.wait()), libc::EPIPE);
}

/// What `poll` never reports, because there is nothing to wait for.
pub(crate) fn streams_that_fail_do_not_wait(backend: IoBackend, name: &str) {
    let pool = pool(backend, 1);
    let (reader, writer) = pipe().unwrap();
    let (reader, writer) = (File::new(reader).unwrap(), File::new(writer).unwrap());
    let read = pool.install(|| io::read(&writer, vec![0; 4]).wait());
    assert_eq!(raw_error(read), libc::EBADF);
    let written = pool.install(|| io::write(&reader, vec![0; 4]).wait());
    assert_eq!(raw_error(written), libc::EBADF);

    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap());
    let listener = File::new(listener.unwrap()).unwrap();
    let read = pool.install(|| io::read(&listener, vec![0; 4]).wait());
    assert_eq!(raw_error(read), libc::EINVAL);

    // There is room, though less than what `poll` asks for.
    let (here, _there) = UnixStream::pair().unwrap();
    let here = File::new(here).unwrap();
    for _ in 0..3 {
        let written = pool.install(|| io::write(&here, vec![0; 40_000]).wait());
        assert_eq!(written.unwrap().bytes, 40_000);
    }
}

pub(crate) fn bad_input(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"text");
    let (reader, _writer) = pipe_to_read();
    pool(backend, 1).install(|| {
        let options = OpenOptions::new().read(true);
        let file = file.open();
        assert_eq!(raw_error(io::open("a\0b", &options).wait()), libc::EINVAL);
        let nothing = OpenOptions::new();
        assert_eq!(raw_error(io::open("/", &nothing).wait()), libc::EINVAL);
        let missing = io::open("/no/such/file", &options).wait();
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);

        // The greatest offset means the current position to a ring.
        for offset in [u64::MAX, 1 << 63] {
            let error = io::read_at(&file, vec![1; 4], offset).wait().unwrap_err();
            assert_eq!(error.error.raw_os_error(), Some(libc::EINVAL));
            assert_eq!(error.buffer, [1; 4]);
        }
        assert_eq!(
            raw_error(io::write_at(&file, vec![1], 0).wait()),
            libc::EBADF
        );
        assert!(reader.is_stream());
        let error = io::read_at(&reader, vec![1; 4], 0).wait().unwrap_err();
        assert_eq!(error.error.raw_os_error(), Some(libc::ESPIPE));
        assert_eq!(error.buffer, [1; 4]);
    });
}

pub(crate) fn options_open_as_those_of_std_do(backend: IoBackend, name: &str) {
    const OPTIONS: u32 = 6;
    let pool = pool(backend, 1);
    let path = TempFile::new(name);
    for (bits, exists) in (0..1 << OPTIONS).flat_map(|bits| [(bits, false), (bits, true)]) {
        let bit = |number: u32| (bits >> number) & 1 == 1;
        let mut theirs = fs::OpenOptions::new();
        theirs.read(bit(0)).write(bit(1)).append(bit(2));
        theirs.truncate(bit(3)).create(bit(4)).create_new(bit(5));
        let ours = OpenOptions::new().read(bit(0)).write(bit(1)).append(bit(2));
        let ours = ours.truncate(bit(3)).create(bit(4)).create_new(bit(5));
        let set_up = || match exists {
            true => fs::write(&path.0, b"text").unwrap(),
            false => _ = fs::remove_file(&path.0),
        };
        let outcome = |opened: std::io::Result<()>| {
            let length = fs::metadata(&path.0).ok().map(|file| file.len());
            // The standard library has errors without a number.
            (opened.map_err(|error| error.kind()), length)
        };
        set_up();
        let expected = outcome(theirs.open(&path.0).map(drop));
        set_up();
        let opened = outcome(pool.install(|| io::open(&path.0, &ours).wait()).map(drop));
        assert_eq!(opened, expected, "{ours:?}, exists: {exists}");
    }
}
