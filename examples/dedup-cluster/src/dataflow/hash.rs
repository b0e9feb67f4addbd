//! The operator that hashes.

use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use dedup::{File, hash_all};
use pool_std::ThreadPool;
use timely::dataflow::{StreamVec, channels::pact::Exchange, operators::Operator};

use crate::{
    ClusterError, Statistics, WorkerUse,
    connect::Traffic,
    digest_list::DigestList,
    records::{Batch, Hashed, Task},
    unescape,
    usage::Usage,
};

/// A batch ends with the file that reaches either limit: large enough to keep all workers busy,
/// small enough that the lists on disk and the other processes soon have its digests. Each batch
/// wakes all other processes.
const BATCH_BYTES: u64 = 128 << 20;
pub(super) const BATCH_FILES: usize = 16_384;

/// The shortest time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// How many files and bytes a process has hashed; called not too often, by any worker of its pool.
pub(crate) type Report = dyn Fn(u64, u64) + Send + Sync;

/// The progress of a process.
pub(crate) struct Progress {
    files: AtomicU64,
    bytes: AtomicU64,
    last: Mutex<Instant>,
    report: Box<Report>,
}

impl Progress {
    /// Creates the progress of a process that has hashed nothing.
    pub(crate) fn new(report: Box<Report>) -> Self {
        Self {
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            last: Mutex::new(Instant::now()),
            report,
        }
    }

    /// Counts a file that is hashed, and reports now and then.
    fn add(&self, file: &File) {
        // Plain counters.
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(file.size, Ordering::Relaxed);
        if let Ok(mut last) = self.last.try_lock()
            && last.elapsed() >= PROGRESS_INTERVAL
        {
            *last = Instant::now();
            self.report();
        }
    }

    /// Says how far the process is.
    fn report(&self) {
        // Plain counters.
        let files = self.files.load(Ordering::Relaxed);
        (self.report)(files, self.bytes.load(Ordering::Relaxed));
    }
}

/// What a process has used and received until a time.
struct Moment {
    time: Instant,
    /// What the process has used of the system.
    usage: Option<Usage>,
    /// The bytes from other processes.
    received: u64,
    /// The digests that have come for grouping.
    grouped: u64,
}

/// Hashes batches of files on a pool, and remembers what that took.
pub(crate) struct Hasher {
    pub(crate) process: usize,
    pub(crate) pool: ThreadPool,
    pub(crate) list: Option<DigestList>,
    pub(crate) progress: Progress,
    pub(crate) traffic: Arc<Traffic>,
    /// For tests of faults: wait forever when this many files are hashed.
    pub(crate) hold_after: Option<u64>,
    /// How many digests have come for grouping.
    pub(crate) grouped: u64,
    start: Instant,
    /// When the last batch was hashed.
    done: Moment,
    known: u64,
    failure: Option<ClusterError>,
}

impl Hasher {
    /// Creates a hasher that has done nothing.
    pub(crate) fn new(
        process: usize,
        pool: ThreadPool,
        list: Option<DigestList>,
        progress: Progress,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self {
            process,
            pool,
            list,
            progress,
            traffic,
            hold_after: None,
            grouped: 0,
            start: Instant::now(),
            done: Moment {
                time: Instant::now(),
                usage: Usage::now(),
                received: 0,
                grouped: 0,
            },
            known: 0,
            failure: None,
        }
    }

    /// Returns the error because of which this process must end, once.
    pub(crate) fn take_failure(&mut self) -> Result<(), ClusterError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Takes the next batch from the front of the queue, and hashes it.
    pub(super) fn hash_batch(&mut self, queue: &mut VecDeque<Task>) -> Vec<Hashed> {
        let mut hashed = Vec::new();
        let (mut tasks, mut files) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        while bytes < BATCH_BYTES
            && hashed.len() + tasks.len() < BATCH_FILES
            && let Some(task) = queue.pop_front()
        {
            let result = match (task.known, unescape(&task.name)) {
                (Some(digest), _) => {
                    self.known += 1;
                    Ok(digest)
                }
                (None, Err(error)) => Err(error.to_string()),
                (None, Ok(path)) => {
                    bytes = u64::saturating_add(bytes, task.size);
                    let size = task.size;
                    files.push(File {
                        path,
                        size,
                        modified: None,
                    });
                    tasks.push(task);
                    continue;
                }
            };
            hashed.push(Hashed {
                name: task.name,
                size: task.size,
                result,
            });
        }
        // This thread is outside the pool. It sleeps until the workers have hashed the batch.
        let on_file = |file: &File| self.progress.add(file);
        let digests = self.pool.install(|| hash_all(&files, &on_file));
        for (task, digest) in tasks.into_iter().zip(digests) {
            let result = digest.map(|digest| *digest.as_bytes());
            if let (Some(list), Ok(digest)) = (&mut self.list, &result) {
                list.add(&task, digest);
            }
            hashed.push(Hashed {
                name: task.name,
                size: task.size,
                result: result.map_err(|error| error.to_string()),
            });
        }
        if let Some(list) = &mut self.list {
            self.failure = list.write().err();
        }
        // Perhaps the last one: that is known only when all processes have said what they have to
        // hash.
        self.done = self.now();
        self.hold();
        hashed
    }

    /// Returns what this process has used and received until now.
    fn now(&self) -> Moment {
        Moment {
            time: Instant::now(),
            usage: Usage::now(),
            // A plain counter.
            received: self.traffic.received.load(Ordering::Relaxed),
            grouped: self.grouped,
        }
    }

    /// Waits forever if a test of faults wants that now.
    fn hold(&self) {
        // A plain counter.
        let files = self.progress.files.load(Ordering::Relaxed);
        if self.hold_after.is_some_and(|hold| files >= hold) {
            self.progress.report();
            // Liveness: none, until another process ends this one.
            loop {
                thread::park();
            }
        }
    }

    /// Returns what this process did until now, when all processes have hashed their files.
    pub(crate) fn statistics(&self) -> Statistics {
        let (now, done) = (self.now(), &self.done);
        let while_waiting = now.usage.zip(done.usage);
        let seconds = |duration: Duration| duration.as_secs_f64();
        let workers = self.pool.metrics();
        let workers = workers.workers().iter().map(|worker| {
            let times = worker.times.unwrap_or_default();
            WorkerUse {
                active: seconds(times.active),
                idle: seconds(times.idle),
                asleep: seconds(times.asleep),
            }
        });
        // Plain counters.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            process: self.process,
            files: read(&self.progress.files),
            bytes: read(&self.progress.bytes),
            known: self.known,
            digests: now.grouped,
            sent: read(&self.traffic.sent),
            received: now.received,
            workers: workers.collect(),
            busy: seconds(done.time - self.start),
            waited: seconds(now.time - done.time),
            processor: now.usage.map(|usage| seconds(usage.processor)),
            processor_waiting: while_waiting
                .map(|(now, done)| seconds(now.processor.saturating_sub(done.processor))),
            digests_waiting: now.grouped - done.grouped,
            received_waiting: now.received - done.received,
            sleeps_waiting: while_waiting.map(|(now, done)| now.sleeps.saturating_sub(done.sleeps)),
        }
    }
}

/// Adds the operator: each task goes to its process, which hashes a batch whenever the operator
/// runs.
pub(crate) fn operator<'scope>(
    tasks: StreamVec<'scope, u64, Task>,
    processes: u64,
    hasher: &Rc<RefCell<Hasher>>,
) -> StreamVec<'scope, u64, Batch> {
    let scope = tasks.scope();
    let hasher = Rc::clone(hasher);
    let by_process = Exchange::new(|task: &Task| task.process);
    tasks.unary_frontier(by_process, "hash", move |capability, info| {
        let activator = scope.activator_for(info.address);
        let mut queue = VecDeque::new();
        // Held while there may be something to send.
        let mut capability = Some(capability);
        move |(input, frontier), output| {
            input.for_each(|_, batch| queue.extend(batch.drain(..)));
            if let Some(capability) = &capability
                && !queue.is_empty()
            {
                let hashed = hasher.borrow_mut().hash_batch(&mut queue);
                let batches = Batch::divide(hashed, processes);
                output.session(capability).give_iterator(batches);
            }
            if !queue.is_empty() {
                // Not in a loop here: between two batches, the other operators run.
                activator.activate();
            } else if frontier.is_empty() && capability.take().is_some() {
                hasher.borrow().progress.report();
            }
        }
    })
}
