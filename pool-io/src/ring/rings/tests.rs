//! What the completer does, what it must not do, and what goes on without it.

use std::{
    cell::Cell,
    io::{PipeWriter, Write as _, pipe},
    sync::mpsc,
    time::{Duration, Instant},
};

use pool_std::{IdlePolicy, ThreadPool, ThreadPoolBuilder, driver};

use super::*;
use crate::{
    Completion, ThreadPoolBuilderExt as _, Transfer,
    backend::{Backend, IoBackend, PoolIo},
    file::File,
    kernel,
    request::Request,
};

/// A multiple of what the slowest machine needs. Only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(60);

thread_local! {
    /// Whether a pool that this thread builds has no completer.
    pub(super) static WITHOUT_COMPLETER: Cell<bool> = const { Cell::new(false) };
}

/// How many submissions the kernel refuses: the worker's, and some of the completer's.
const REFUSALS: usize = 5;

/// A pool with rings, or none where the kernel has none.
fn pool(workers: usize) -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new()
        .num_threads(workers)
        .idle_policy(IdlePolicy::IMMEDIATE);
    kernel::has_rings().then(|| builder.io(IoBackend::Ring).build().unwrap())
}

/// Runs a test on the only worker of a pool, with its rings. The worker does not sleep in its own.
fn on_a_worker(test: impl FnOnce(&Rings) + Send) {
    let Some(pool) = pool(1) else { return };
    pool.install(|| {
        driver::with(PoolIo::default, |_, io| match io.existing() {
            Some(Backend::Ring(rings)) => test(&rings),
            _ => unreachable!("the builder has made rings"),
        });
    });
}

fn silent_read() -> (Completion<Transfer>, PipeWriter) {
    let (reader, writer) = pipe().unwrap();
    (crate::read(&File::new(reader).unwrap(), vec![0; 8]), writer)
}

/// Waits without running jobs and without a look at the ring.
#[track_caller]
fn wait_for_completer(read: &Completion<Transfer>) {
    let begin = Instant::now();
    while !read.is_finished() {
        assert!(
            begin.elapsed() < LIMIT,
            "no thread repeats what was refused"
        );
        std::thread::yield_now();
    }
}

#[test]
fn the_completer_repeats_a_submission_that_was_refused() {
    on_a_worker(|rings| {
        let ring = &rings.rings[0];
        ring.refusals.store(REFUSALS, Ordering::Relaxed);
        let (read, mut writer) = silent_read();
        writer.write_all(b"abc").unwrap();
        wait_for_completer(&read);
        assert_eq!(read.wait().unwrap().data(), b"abc");
    });
}

#[test]
fn the_completer_repeats_a_cancel_that_was_refused() {
    on_a_worker(|rings| {
        let ring = &rings.rings[0];
        let (read, _writer) = silent_read();
        ring.refusals.store(REFUSALS, Ordering::Relaxed);
        read.cancel();
        wait_for_completer(&read);
        let error = read.wait().unwrap_err().error;
        assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
    });
}

/// The kernel may be restarting an operation when it is cancelled.
#[test]
fn the_completer_repeats_a_cancel_that_was_in_vain() {
    on_a_worker(|rings| {
        let ring = &rings.rings[0];
        let (first, _writer) = silent_read();
        let (second, _writer) = silent_read();
        ring.vain_cancels.store(3, Ordering::Relaxed);
        first.cancel();
        second.cancel();
        for read in [first, second] {
            wait_for_completer(&read);
            let error = read.wait().unwrap_err().error;
            assert_eq!(error.raw_os_error(), Some(libc::ECANCELED));
        }
    });
}

/// The completion would be lost for the worker, which may be about to wait for it.
#[test]
fn the_completer_never_reaps_for_a_worker_that_sleeps() {
    on_a_worker(|rings| {
        for _ in 0..100 {
            let (reader, mut writer) = pipe().unwrap();
            writer.write_all(b"abc").unwrap();
            let request = Request::read(&File::new(reader).unwrap(), vec![0; 8], None);
            let read = Operation::new(None, request);
            // The worker has prepared everything, and waits next.
            let completed = rings.sleep(0, || {
                let ring = &rings.rings[0];
                // The kernel completes this at once.
                assert!(ring.submit(read.clone()).is_none());
                rings.event.increase();
                let begin = Instant::now();
                // Until the completer has tried. It does nothing else with this ring.
                while !format!("{:?}", ring.reaping).contains("again") {
                    assert!(!read.is_finished(), "the completer has reaped");
                    assert!(begin.elapsed() < LIMIT, "the completer has not tried");
                    std::thread::yield_now();
                }
                assert!(!read.is_finished(), "the completer has reaped");
                true
            });
            assert_eq!(completed.len(), 1);
            rings.conclude(0, completed);
            assert_eq!(read.take().expect("finished").1, Ok(3));
        }
    });
}

/// Workers that sleep take their own completions, and those of the time before they slept.
#[test]
fn operations_of_workers_finish_without_the_completer() {
    const READS: usize = 500;
    WITHOUT_COMPLETER.set(true);
    let pool = pool(2);
    WITHOUT_COMPLETER.set(false);
    let Some(pool) = pool else { return };
    let (sender, results) = mpsc::channel();
    for round in 0..READS {
        let (reader, mut writer) = pipe().unwrap();
        let sender = sender.clone();
        pool.spawn(move || {
            let reader = File::new(reader).unwrap();
            let read = crate::read(&reader, vec![0; 8]);
            // A job for the other worker, or for this one in its wait.
            pool_std::spawn(|| ());
            sender.send(read.wait().unwrap().bytes).unwrap();
        });
        // While no worker has begun, while some run, or while all sleep.
        for _ in 0..round % 3 * 50 {
            std::thread::yield_now();
        }
        writer.write_all(b"abc").unwrap();
        // The pool does not end by itself if this fails, and its drop does not wait for that.
        let bytes = results.recv_timeout(LIMIT);
        assert_eq!(
            bytes,
            Ok(3),
            "an operation is lost, or its worker sleeps on"
        );
    }
}
