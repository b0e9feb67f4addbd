//! While 64 jobs wait for slow pipes: how long until another job starts.

use std::{
    io::{PipeWriter, Read, Write, pipe},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use pool_io::File;
use pool_std::ThreadPool;
use protocol::{Case, Unit, quantile};

use crate::way::Way;

/// How many pipes stay silent while the others deliver.
const SILENT: usize = 64;
/// How many pipes deliver, one after the other. With each of them another job is started.
const SLOW: usize = 64;
/// How long each of them takes.
const SLOWNESS: Duration = Duration::from_millis(1);
/// How often all of that is done.
const ROUNDS: usize = 10;

pub(crate) fn cases(threads: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for way in Way::ALL {
        for (name, level) in [("slow-pipes-p50", 0.5), ("slow-pipes-p99", 0.99)] {
            let run = move || {
                let pool = way.pool(threads).expect("allowed");
                let samples = (0..ROUNDS)
                    .flat_map(|_| round(&pool, way))
                    .map(|sample| Unit::Microseconds.of(sample))
                    .collect();
                pool.shutdown().expect("not a worker");
                quantile(samples, level)
            };
            let case = Case::new("io", name, threads, way.name(), Unit::Microseconds, run);
            cases.push(case.repetitions(3));
        }
    }
    cases
}

/// Returns how long each of the other jobs had to wait until it began.
fn round(pool: &ThreadPool, way: Way) -> Vec<Duration> {
    let (done, dones) = mpsc::channel();
    let (begun, began) = mpsc::channel();
    let (begin, begins) = mpsc::channel();
    let mut writers: Vec<PipeWriter> = (0..SILENT + SLOW)
        .map(|_| {
            let (mut reader, writer) = pipe().expect("descriptors are left");
            let (done, begin) = (done.clone(), begin.clone());
            pool.spawn(move || {
                let _ = begin.send(());
                if way == Way::Blocking {
                    reader.read_exact(&mut [0]).expect("fed below");
                } else {
                    let reader = File::new(reader).expect("a pipe");
                    let read = pool_io::read(&reader, vec![0; 1]);
                    assert_eq!(read.wait().expect("fed below").bytes, 1);
                }
                let _ = done.send(());
            });
            writer
        })
        .collect();
    // As many as can.
    let beginners = if way == Way::Blocking {
        pool.current_num_threads()
    } else {
        SILENT + SLOW
    };
    for _ in 0..beginners {
        begins.recv().expect("a job begins");
    }
    // The first ones, because blocked workers wait for them.
    let silent = writers.split_off(SLOW);
    for mut writer in writers {
        thread::sleep(SLOWNESS);
        let start = Instant::now();
        let begun = begun.clone();
        pool.spawn(move || begun.send(start.elapsed()).expect("received below"));
        writer.write_all(&[1]).expect("read above");
    }
    for mut writer in silent {
        writer.write_all(&[1]).expect("read above");
    }
    for _ in 0..SILENT + SLOW {
        dones.recv().expect("each job ends");
    }
    began.iter().take(SLOW).collect()
}
