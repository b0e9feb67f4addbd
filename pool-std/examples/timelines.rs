//! Programs whose traces are pictures of the book's page "Traces and timelines". Each writes its
//! trace to a file:
//!
//! ```sh
//! cargo run --release -p pool-std --features trace --example timelines -- tree tree.json
//! cargo run --release -p pool-std --features trace --example timelines -- sparse sparse.json
//! cargo run --release -p pool-std --features trace --example timelines -- deadlock deadlock.json
//! ```
//!
//! `cargo xtask trace --pictures` runs all of them, and draws the pictures.

use std::{
    env,
    error::Error,
    fs::File,
    hint,
    io::{BufWriter, Write},
    process,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use pool_std::{Blocked, IdlePolicy, ThreadPool, ThreadPoolBuilder, blocking, join};

/// More events than any of the programs has.
const EVENTS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let traces = match &*arguments {
        [program, file] if program == "tree" => vec![(tree()?, file.clone())],
        [program, file] if program == "deadlock" => vec![(deadlock()?, file.clone())],
        [program, file] if program == "sparse" => {
            let power = sparse(IdlePolicy::POWER)?;
            let latency = sparse(IdlePolicy::LATENCY)?;
            let name = file.strip_suffix(".json").unwrap_or(file);
            vec![
                (power, format!("{name}-power.json")),
                (latency, format!("{name}-latency.json")),
            ]
        }
        _ => {
            eprintln!("usage: timelines tree|sparse|deadlock FILE.json");
            process::exit(2);
        }
    };
    for (pool, file) in traces {
        let mut writer = BufWriter::new(File::create(file)?);
        pool.trace().write_chrome(&mut writer)?;
        writer.flush()?;
    }
    Ok(())
}

fn builder(workers: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(workers).trace(EVENTS)
}

/// A tree of joins whose leaves differ in size. They wait for the clock, so that four workers look
/// the same on every number of processors.
fn tree() -> Result<ThreadPool, Box<dyn Error>> {
    fn node(depth: u32, path: u64) -> u32 {
        if depth == 0 {
            thread::sleep(Duration::from_micros(100 + path * 377 % 700));
            return 1;
        }
        let (left, right) = join(
            || node(depth - 1, 2 * path),
            || node(depth - 1, 2 * path + 1),
        );
        left + right
    }

    let pool = builder(4).build()?;
    pool.wait_idle()?;
    thread::sleep(Duration::from_millis(1));
    let leaves = pool.install(|| node(5, 1));
    assert_eq!(leaves, 32);
    pool.wait_idle()?;
    Ok(pool)
}

/// A short job, a short pause, and so on.
fn sparse(policy: IdlePolicy) -> Result<ThreadPool, Box<dyn Error>> {
    fn handle_request() {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_micros(50) {
            hint::spin_loop();
        }
    }

    let pool = builder(2).idle_policy(policy).build()?;
    thread::sleep(Duration::from_millis(1));
    for _ in 0..20 {
        pool.spawn(handle_request);
        // The system adds some fifty.
        thread::sleep(Duration::from_micros(100));
    }
    pool.wait_idle()?;
    Ok(pool)
}

/// Two jobs that wait for messages which no thread sends, until the pool reports them. The handler
/// is kind, and sends the messages.
fn deadlock() -> Result<ThreadPool, Box<dyn Error>> {
    type Message = (mpsc::SyncSender<()>, Blocked);

    let waiting = Arc::new(Mutex::new(Vec::<Message>::new()));
    let (reports, report) = mpsc::channel();
    let reports = Mutex::new(reports);
    let pool = builder(2)
        .deadlock_handler(move |_| _ = reports.lock().unwrap().send(()))
        .build()?;
    for number in 0..2 {
        let waiting = waiting.clone();
        pool.spawn(move || {
            thread::sleep(Duration::from_millis(1 + number));
            let (sender, receiver) = mpsc::sync_channel(1);
            blocking("a message", |blocked| {
                waiting.lock().unwrap().push((sender, blocked.clone()));
                receiver.recv().unwrap();
            });
            thread::sleep(Duration::from_micros(500));
        });
    }
    report.recv()?;
    thread::sleep(Duration::from_millis(2));
    for (sender, blocked) in waiting.lock().unwrap().drain(..) {
        // First the mark, then the message.
        blocked.mark_unblocked()?;
        sender.send(())?;
    }
    pool.wait_idle()?;
    Ok(pool)
}
