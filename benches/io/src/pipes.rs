//! While 64 jobs wait for slow pipes: how long until another job starts.

use std::{
    io::{PipeWriter, Read, Write, pipe},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use pool_std::{
    ThreadPool,
    io::{self, File},
};
use protocol::{Case, Unit, quantile};

use crate::way::Way;

const PIPES: usize = 64;
/// How long each pipe takes.
const SLOWNESS: Duration = Duration::from_millis(1);
/// How often another job is started while the pipes are silent or slow.
const SAMPLES: usize = 100;

pub(crate) fn cases(threads: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for way in Way::ALL {
        for (name, level) in [("slow-pipes-p50", 0.5), ("slow-pipes-p99", 0.99)] {
            let run = move || {
                let pool = way.pool(threads).expect("allowed");
                let samples = (0..SAMPLES)
                    .map(|_| Unit::Microseconds.of(sample(&pool, way)))
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

/// Until the job begins.
fn sample(pool: &ThreadPool, way: Way) -> Duration {
    let (done, dones) = mpsc::channel();
    let (begun, began) = mpsc::channel();
    let (begin, begins) = mpsc::channel();
    let writers: Vec<PipeWriter> = (0..PIPES)
        .map(|_| {
            let (mut reader, writer) = pipe().expect("descriptors are left");
            let (done, begin) = (done.clone(), begin.clone());
            pool.spawn(move || {
                let _ = begin.send(());
                if way == Way::Blocking {
                    reader.read_exact(&mut [0]).expect("fed below");
                } else {
                    let reader = File::new(reader).expect("a pipe");
                    let read = io::read(&reader, vec![0; 1]);
                    assert_eq!(read.wait().expect("fed below").bytes, 1);
                }
                let _ = done.send(());
            });
            writer
        })
        .collect();
    // As many as can.
    let beginners = if way == Way::Blocking {
        pool.current_num_threads().min(PIPES)
    } else {
        PIPES
    };
    for _ in 0..beginners {
        begins.recv().expect("a job begins");
    }
    let start = Instant::now();
    pool.spawn(move || begun.send(Instant::now()).expect("received below"));
    for mut writer in writers {
        thread::sleep(SLOWNESS);
        writer.write_all(&[1]).expect("read above");
    }
    for _ in 0..PIPES {
        dones.recv().expect("each job ends");
    }
    began.recv().expect("the job began") - start
}
