//! Operations that are dropped, cancelled or outlived.

use std::{
    fs,
    io::{Read as _, Write as _},
    os::fd::AsRawFd as _,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Waker},
    thread::{self},
};

use pool_io::{self as io, IoBackend, OpenOptions};

use crate::{
    child::{in_child, open_files},
    suite::{TempFile, builder, pipe_to_read, pipe_to_write, pool, raw_error, start_read},
    support::{wait_for, wait_for_asleep},
};

pub(crate) fn a_dropped_handle_keeps_file_and_buffer(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    for is_polled in [false, true] {
        let (reader, mut writer) = pipe_to_read();
        let mut read = start_read(&pool, &reader);
        drop(reader);
        if is_polled {
            let context = &mut Context::from_waker(Waker::noop());
            assert!(pin!(&mut read).poll(context).is_pending());
        }
        drop(read);
        // The operation has the last reader, so this does not fail. It ends the operation.
        writer.write_all(b"abc").unwrap();
        // Then the reader is closed.
        while writer.write_all(b"abc").is_ok() {}
    }
}

/// A job may write, drop its file, and read the stream to its end before it asks for the result.
pub(crate) fn a_handle_keeps_no_file_of_a_finished_operation(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    // One that finishes at once, and one that waits.
    let (reader, writer) = pipe_to_write();
    let written = pool.install(|| io::write(&writer, b"abc".to_vec()));
    let (silent, later) = pipe_to_read();
    let read = start_read(&pool, &silent);
    drop((writer, silent));
    wait_for(|| written.is_finished());
    // SAFETY: The call takes numbers only.
    let result = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    assert_eq!(result, 0);
    let mut bytes = [0; 3];
    (&reader).read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"abc");
    wait_for(|| matches!((&reader).read(&mut [0]), Ok(0)));
    (&later).write_all(b"def").unwrap();
    wait_for(|| read.is_finished());
    wait_for(|| (&later).write_all(b"ghi").is_err());
    // The buffers stay.
    assert_eq!(written.wait().unwrap().buffer, b"abc");
    assert_eq!(read.wait().unwrap().data(), b"def");
}

pub(crate) fn a_silent_pipe_can_be_cancelled(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 1);
    let (reader, mut writer) = pipe_to_read();
    let read = start_read(&pool, &reader);
    read.cancel();
    let error = read.wait().unwrap_err();
    assert_eq!(error.error.raw_os_error(), Some(libc::ECANCELED));
    assert_eq!(error.buffer.len(), 16);

    // Waited for by a worker that sleeps.
    let read = Arc::new(Mutex::new(None));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            pool.install(|| {
                let first = io::read(&reader, vec![0; 16]);
                *read.lock().unwrap() = Some(io::read(&reader, vec![0; 16]));
                first.wait()
            })
        });
        wait_for(|| read.lock().unwrap().is_some());
        wait_for_asleep(&pool, 1);
        let second = read.lock().unwrap().take().unwrap();
        second.cancel();
        assert_eq!(raw_error(second.wait()), libc::ECANCELED);
        // The other one was not meant.
        writer.write_all(b"abc").unwrap();
        assert_eq!(waiter.join().unwrap().unwrap().data(), b"abc");
    });
}

pub(crate) fn a_cancel_after_the_end_changes_nothing(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"text").open();
    let pool = pool(backend, 1);
    let read = pool.install(|| io::read_at(&file, vec![0; 4], 0));
    wait_for(|| read.is_finished());
    read.cancel();
    assert_eq!(read.wait().unwrap().data(), b"text");
}

pub(crate) fn shutdown_cancels_what_is_in_flight(backend: IoBackend, name: &str) {
    let file = TempFile::with(name, b"text").open();
    let pool = pool(backend, 2);
    let (reader, mut writer) = pipe_to_read();
    let reads: Vec<_> = (0..10).map(|_| start_read(&pool, &reader)).collect();
    let dropped = start_read(&pool, &reader);
    drop((dropped, reader));
    let at_once = pool.install(|| io::read_at(&file, vec![0; 4], 0));
    pool.shutdown().unwrap();
    for read in reads {
        let error = read.wait().unwrap_err();
        assert_eq!(error.error.raw_os_error(), Some(libc::ECANCELED));
        assert_eq!(error.buffer.len(), 16);
    }
    // Nothing has kept the reader, but a process that another test starts at the moment.
    while writer.write_all(b"abc").is_ok() {}
    // It may have ended before.
    if let Err(error) = at_once.wait() {
        assert_eq!(error.error.raw_os_error(), Some(libc::ECANCELED));
    }
}

pub(crate) fn threads_outside_may_end_before_their_operations(backend: IoBackend, name: &str) {
    let path = TempFile::new(name);
    // This thread is the only worker, and ends before its operations do.
    let (reader, mut writer) = pipe_to_read();
    let (started, adopted) = thread::spawn(move || {
        let pool = builder(backend, 1).use_current_thread().build().unwrap();
        let read = start_read(&pool, &reader);
        let open = pool.install(|| {
            let options = OpenOptions::new().write(true).create(true);
            io::open(&path.0, &options)
        });
        ((read, open, path), pool)
    })
    .join()
    .unwrap();
    let (read, open, _path) = started;
    writer.write_all(b"abc").unwrap();
    assert_eq!(read.wait().unwrap().data(), b"abc");
    assert!(open.wait().is_ok());
    drop(adopted);
}

/// The `open` of a file waits until another descriptor gives its lease up. A ring waits by a thread
/// of the kernel, which can be interrupted.
pub(crate) fn an_open_that_waits_can_be_cancelled(backend: IoBackend, name: &str) {
    if backend == IoBackend::HelperThreads {
        // Nothing ends the call of a thread.
        return;
    }
    in_child(name, || {
        let path = TempFile::with(name, b"text");
        let leased = fs::OpenOptions::new().write(true).open(&path.0).unwrap();
        // SAFETY: The calls take numbers only. The holder of a lease gets a signal, which is
        // ignored.
        unsafe {
            assert_ne!(libc::signal(libc::SIGIO, libc::SIG_IGN), libc::SIG_ERR);
            let leased = leased.as_raw_fd();
            if libc::fcntl(leased, libc::F_SETLEASE, libc::F_WRLCK) != 0 {
                eprintln!("this file system has no leases");
                return;
            }
        }
        let pool = pool(backend, 1);
        let read = OpenOptions::new().read(true);
        let open = pool.install(|| io::open(&path.0, &read));
        // Whether it waits already or not.
        (0..100).for_each(|_| thread::yield_now());
        open.cancel();
        assert_eq!(raw_error(open.wait()), libc::ECANCELED);
        drop(leased);
        assert!(pool.install(|| io::open(&path.0, &read).wait()).is_ok());
    });
}

pub(crate) fn a_handle_keeps_no_descriptor_of_its_pool(backend: IoBackend, name: &str) {
    in_child(name, || {
        let (reader, mut writer) = pipe_to_read();
        let before = open_files();
        let pool = pool(backend, 2);
        let read = start_read(&pool, &reader);
        assert!(open_files() > before);
        writer.write_all(b"abc").unwrap();
        wait_for(|| read.is_finished());
        pool.shutdown().unwrap();
        // A thread of the pool may drop the last reference a moment later.
        wait_for(|| open_files() == before);
        read.cancel();
        assert_eq!(read.wait().unwrap().data(), b"abc");
    });
}
