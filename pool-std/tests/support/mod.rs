//! What tests of pools share.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::{
    any::Any,
    backtrace::Backtrace,
    process,
    sync::{
        Condvar, Mutex,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use pool_std::{
    Blocked, DeadlockReport, IdlePolicy, ThreadPool, ThreadPoolBuilder, WorkerState,
    mark_all_unblocked, mark_blocked,
};

/// A multiple of what the slowest machine needs.
const LIMIT: Duration = Duration::from_secs(120);

/// Builds a pool of one worker. Returns the panics that its handler gets, too.
pub(crate) fn pool_with_handler() -> (ThreadPool, Receiver<Box<dyn Any + Send>>) {
    let (sender, receiver) = mpsc::channel();
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(move |panic| sender.send(panic).unwrap())
        .build()
        .unwrap();
    (pool, receiver)
}

/// An event. A worker that waits for it marks itself, and the thread that opens the gate unmarks
/// all that wait, as a query of a compiler does.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<Waiting>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    is_open: bool,
    tickets: Vec<Blocked>,
}

impl Gate {
    pub(crate) fn wait(&self, label: &'static str) {
        let mut state = self.state.lock().unwrap();
        if !state.is_open {
            state.tickets.push(mark_blocked(label).unwrap());
        }
        drop(
            self.opened
                .wait_while(state, |state| !state.is_open)
                .unwrap(),
        );
    }

    pub(crate) fn open(&self) {
        let mut state = self.state.lock().unwrap();
        mark_all_unblocked(state.tickets.drain(..)).unwrap();
        state.is_open = true;
        self.opened.notify_all();
    }

    /// Waits until this number of workers are blocked here.
    pub(crate) fn wait_for_blocked(&self, workers: usize) {
        wait_for(|| self.state.lock().unwrap().tickets.len() >= workers);
    }
}

/// Builds a pool whose handler sends its reports.
pub(crate) fn pool_with_reports(num_threads: usize) -> (ThreadPool, Reports) {
    builder_with_reports(num_threads, |builder| builder.build().unwrap())
}

pub(crate) fn builder_with_reports<P>(
    num_threads: usize,
    build: impl FnOnce(ThreadPoolBuilder) -> P,
) -> (P, Reports) {
    let (sender, receiver) = mpsc::channel();
    let sender = Mutex::new(sender);
    let builder = ThreadPoolBuilder::new()
        .num_threads(num_threads)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .deadlock_handler(move |report| sender.lock().unwrap().send(report.clone()).unwrap());
    (build(builder), Reports(Mutex::new(receiver)))
}

/// The reports of a pool.
pub(crate) struct Reports(Mutex<Receiver<DeadlockReport>>);

impl Reports {
    /// Waits for a report. The limit only ends a test that fails.
    pub(crate) fn next(&self) -> DeadlockReport {
        let report = self.0.lock().unwrap().recv_timeout(LIMIT);
        report.expect("the deadlock is reported")
    }

    /// Returns the labels of the next report, sorted.
    pub(crate) fn next_labels(&self) -> Vec<String> {
        let report = self.next();
        let labels = report
            .blocked()
            .map(|worker| worker.label().unwrap().to_owned());
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        labels
    }

    /// Checks that there is no report that has not been taken.
    pub(crate) fn expect_none(&self) {
        if let Ok(report) = self.0.lock().unwrap().try_recv() {
            panic!("a false report, or one too many:\n{report}");
        }
    }

    /// Ends the pool, and checks that there was no further report.
    pub(crate) fn expect_no_more(self, pool: ThreadPool) {
        pool.shutdown().unwrap();
        self.expect_none();
    }
}

/// Waits for a fact. The limit only ends a test that fails.
pub(crate) fn wait_for(happened: impl Fn() -> bool) {
    let begin = Instant::now();
    while !happened() {
        if begin.elapsed() > LIMIT {
            // A panic alone could leave the pool hanging.
            eprintln!("waited in vain at\n{}", Backtrace::force_capture());
            process::abort();
        }
        thread::yield_now();
    }
}

/// Waits until this number of workers are asleep. Without metrics no thread can see that, so this
/// only leaves them some time.
pub(crate) fn wait_for_asleep(pool: &ThreadPool, workers: usize) {
    if pool.metrics().num_in(WorkerState::Unknown) > 0 {
        return thread::sleep(Duration::from_millis(1));
    }
    wait_for(|| pool.state().asleep().count() >= workers);
}
