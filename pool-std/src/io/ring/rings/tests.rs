//! What the kernel refuses is repeated by the completer while the worker whose ring it is runs a job.

use std::{
    io::{PipeWriter, Write as _, pipe},
    time::{Duration, Instant},
};

use super::*;
use crate::{
    BuildError, ThreadPoolBuilder,
    io::{
        Completion, Transfer,
        backend::{Backend, IoBackend},
        file::File,
    },
};

/// How many submissions the kernel refuses: the worker's, and some of the completer's.
const REFUSALS: usize = 5;

/// Runs a test on the only worker of a pool, with its ring. The worker does not sleep in it. Does nothing where the
/// kernel has no rings.
fn on_a_worker(test: impl FnOnce(&Ring) + Send) {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let pool = match builder.io(IoBackend::Ring).build() {
        Ok(pool) => pool,
        Err(BuildError::Io { source }) => return eprintln!("io_uring is refused here: {source}"),
        Err(error) => panic!("{error}"),
    };
    pool.install(|| match pool.registry().data().io.existing() {
        Some(Backend::Ring(rings)) => test(&rings.rings[0]),
        _ => unreachable!("the builder has made rings"),
    });
}

fn silent_read() -> (Completion<Transfer>, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    (
        crate::io::read(&File::new(reader).unwrap(), vec![0; 8]),
        writer,
    )
}

/// Waits without running jobs and without a look at the ring.
#[track_caller]
fn wait_for_completer(read: &Completion<Transfer>) {
    let begin = Instant::now();
    while !read.is_finished() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "no thread repeats what was refused"
        );
        std::thread::yield_now();
    }
}

#[test]
fn the_completer_repeats_a_submission_that_was_refused() {
    on_a_worker(|ring| {
        ring.refusals.store(REFUSALS, Ordering::Relaxed);
        let (read, mut writer) = silent_read();
        writer.write_all(b"abc").unwrap();
        wait_for_completer(&read);
        assert_eq!(read.wait().unwrap().data(), b"abc");
    });
}

#[test]
fn the_completer_repeats_a_cancel_that_was_refused() {
    on_a_worker(|ring| {
        let (read, _writer) = silent_read();
        ring.refusals.store(REFUSALS, Ordering::Relaxed);
        read.cancel();
        wait_for_completer(&read);
        let error = read.wait().unwrap_err().error;
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
    });
}
