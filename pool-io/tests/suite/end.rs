//! Waiting until a pool has nothing to do, and until it has ended, while operations are in flight.

use std::{
    io::Write as _,
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_io::{self as io, IoBackend};
use pool_std::ThreadPool;

use crate::suite::{builder, is_available, pipe_to_read, raw_error, start_read};

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);

/// Looks often enough that a wait which ends too early has ended.
const LOOKS: usize = 2_000;

fn pools() -> impl Iterator<Item = ThreadPool> {
    [IoBackend::HelperThreads, IoBackend::Ring]
        .into_iter()
        .filter(|&backend| is_available(backend))
        .map(|backend| builder(backend, 1).build().unwrap())
}

#[test]
fn wait_idle_waits_for_a_job_that_waits_for_an_operation() {
    for pool in &pools().collect::<Vec<_>>() {
        let (reader, mut writer) = pipe_to_read();
        let (begin, has_begun) = mpsc::channel();
        pool.spawn(move || {
            let read = io::read(&reader, vec![0; 16]);
            begin.send(()).unwrap();
            assert_eq!(read.wait().unwrap().bytes, 3);
        });
        has_begun.recv_timeout(LIMIT).unwrap();
        let is_written = AtomicBool::new(false);
        let seen = &is_written;
        thread::scope(|threads| {
            let waiting = threads.spawn(move || {
                pool.wait_idle().unwrap();
                assert!(seen.load(SeqCst), "the job has not ended");
            });
            for _ in 0..LOOKS {
                if waiting.is_finished() {
                    break;
                }
                thread::yield_now();
            }
            is_written.store(!waiting.is_finished(), SeqCst);
            writer.write_all(b"abc").unwrap();
            waiting.join().unwrap();
        });
    }
}

#[test]
fn operations_for_which_no_job_waits_delay_nothing() {
    for pool in pools() {
        let (reader, _writer) = pipe_to_read();
        let read = start_read(&pool, &reader);
        pool.wait_idle().unwrap();
        pool.shutdown_timeout(LIMIT).unwrap();
        assert_eq!(raw_error(read.wait()), libc::ECANCELED);
    }
}
