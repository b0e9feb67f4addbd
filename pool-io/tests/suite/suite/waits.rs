//! Workers that wait.

use std::{
    io::Write as _,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread::{self},
};

use pool_io::{self as io, IoBackend};
use pool_std::SleepKind;

use crate::{
    suite::{builder, pipe_to_read, pool},
    support::wait_for_asleep,
};

pub(crate) fn a_wait_runs_other_jobs(backend: IoBackend, _name: &str) {
    let (reader, mut writer) = pipe_to_read();
    pool(backend, 1).install(|| {
        let read = io::read(&reader, vec![0; 16]);
        // Only this worker can run it.
        pool_std::spawn(move || writer.write_all(b"from a job").unwrap());
        assert_eq!(read.wait().unwrap().data(), b"from a job");
    });
}

pub(crate) fn a_blocking_wait_runs_none(backend: IoBackend, _name: &str) {
    const YIELDS: usize = 100;
    let pool = pool(backend, 1);
    let has_run = AtomicBool::new(false);
    for _ in 0..5 {
        let (reader, mut writer) = pipe_to_read();
        thread::scope(|threads| {
            let (begin, begins) = mpsc::channel();
            let has_run = &has_run;
            threads.spawn(move || {
                begins.recv().unwrap();
                // Gives the worker time to run the job, which it must not.
                for _ in 0..YIELDS {
                    thread::yield_now();
                }
                writer.write_all(b"late").unwrap();
            });
            pool.scope(|scope| {
                let read = io::read(&reader, vec![0; 16]);
                // Only this worker can run it.
                scope.spawn(|_| has_run.store(true, SeqCst));
                begin.send(()).unwrap();
                assert_eq!(read.wait_blocking().unwrap().data(), b"late");
                assert!(!has_run.load(SeqCst));
            });
        });
        assert!(has_run.swap(false, SeqCst));
    }
}

pub(crate) fn a_wait_sleeps_without_jobs(backend: IoBackend, _name: &str) {
    let pool = pool(backend, 2);
    for _ in 0..100 {
        let (reader, mut writer) = pipe_to_read();
        thread::scope(|scope| {
            let read = scope.spawn(|| pool.install(|| io::read(&reader, vec![0; 16]).wait()));
            wait_for_asleep(&pool, 2);
            writer.write_all(b"wake up").unwrap();
            assert_eq!(read.join().unwrap().unwrap().data(), b"wake up");
        });
    }
}

pub(crate) fn waits_do_not_nest_without_limit(backend: IoBackend, _name: &str) {
    const JOBS: usize = 5_000;
    const YIELDS: usize = 2_000;
    let pool = builder(backend, 1).stack_size(1 << 20).build().unwrap();
    let (reader, mut writer) = pipe_to_read();
    let (begun, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|threads| {
        let (pool, reader, begun, read) = (&pool, &reader, &begun, &read);
        threads.spawn(move || {
            pool.scope(|scope| {
                for _ in 0..JOBS {
                    scope.spawn(|_| {
                        begun.fetch_add(1, SeqCst);
                        let frame = std::hint::black_box([0_u8; 4096]);
                        let bytes = io::read(reader, vec![0; 1]).wait().unwrap().bytes;
                        read.fetch_add(bytes + usize::from(frame[0]), SeqCst);
                    });
                }
            });
        });
        // Gives the worker time to begin as many as it may before any of them can end.
        let mut before = 0;
        while begun.load(SeqCst) != before || before == 0 {
            before = begun.load(SeqCst);
            (0..YIELDS).for_each(|_| thread::yield_now());
        }
        for _ in 0..JOBS {
            writer.write_all(b"a").unwrap();
        }
    });
    assert_eq!(read.load(SeqCst), JOBS);
}

pub(crate) fn a_worker_runs_jobs_while_many_wait(backend: IoBackend, _name: &str) {
    const PIPES: usize = 64;
    // Instrumented frames are large.
    let pool = builder(backend, 1).stack_size(1 << 23).build().unwrap();
    let (begin, begins) = mpsc::channel();
    let (done, dones) = mpsc::channel();
    let writers: Vec<_> = (0..PIPES)
        .map(|_| {
            let (reader, writer) = pipe_to_read();
            let (begin, done) = (begin.clone(), done.clone());
            pool.spawn(move || {
                begin.send(()).unwrap();
                let read = io::read(&reader, vec![0; 1]);
                done.send(read.wait().unwrap().bytes).unwrap();
            });
            writer
        })
        .collect();
    // The one worker begins all of them before any can end, and another job after them.
    (0..PIPES).for_each(|_| begins.recv().unwrap());
    assert_eq!(pool.install(|| 7), 7);
    for mut writer in writers {
        writer.write_all(b"a").unwrap();
    }
    assert_eq!(dones.iter().take(PIPES).sum::<usize>(), PIPES);
}

pub(crate) fn threads_that_lend_their_worker_wait(backend: IoBackend, _name: &str) {
    let pool = builder(backend, 1).max_blocking_threads(1).build().unwrap();
    let (reader, mut writer) = pipe_to_read();
    pool.install(|| {
        let read = io::read(&reader, vec![0; 16]);
        pool_std::spawn(move || writer.write_all(b"abc").unwrap());
        // The spare is the worker that runs the job; this thread is none, and blocks.
        let read = pool_std::block_in_place(|| read.wait());
        assert_eq!(read.unwrap().data(), b"abc");
    });
}

pub(crate) fn workers_sleep_and_wake_with_each_protocol(backend: IoBackend, _name: &str) {
    const CYCLES: usize = 1000;
    for &kind in SleepKind::ALL {
        let pool = builder(backend, 3).sleep(kind).build().unwrap();
        let (reader, mut writer) = pipe_to_read();
        for cycle in 0..CYCLES {
            // A job for workers that sleep in their rings, and a completion for one of them.
            assert_eq!(pool.join(|| cycle, || cycle + 1), (cycle, cycle + 1));
            let read = pool.install(|| {
                let read = io::read(&reader, vec![0; 8]);
                writer.write_all(&cycle.to_ne_bytes()).unwrap();
                read.wait().unwrap()
            });
            assert_eq!(read.data(), cycle.to_ne_bytes());
        }
        pool.shutdown().unwrap();
    }
}
