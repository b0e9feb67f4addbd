//! Drivers: parkers, threads and waits that another crate adds to a pool, and the worst that they
//! can do.

#[cfg(not(miri))]
mod aborts;
mod parkers;
mod waits;

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use pool_std::{
    BuildError, ShutdownError, ThreadPool, ThreadPoolBuilder,
    driver::{self, Driver, Pool, WorkerParker},
};

use crate::support::wait_for;

/// Counts what happens to it.
#[derive(Clone, Default)]
struct Counts {
    ends: Arc<AtomicUsize>,
    drops: Arc<AtomicUsize>,
}

/// A driver that adds nothing.
struct Plain(Counts);

impl Driver for Plain {
    fn end(&self) {
        self.0.ends.fetch_add(1, SeqCst);
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.0.drops.fetch_add(1, SeqCst);
    }
}

/// A driver of another type.
#[derive(Default)]
struct Other;

impl Driver for Other {}

fn builder(threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(threads)
}

/// The workers may end before the thread that ends the pool has told its drivers.
#[test]
fn the_end_of_a_pool_includes_that_of_its_drivers() {
    struct Slow(Counts);

    impl Driver for Slow {
        fn end(&self) {
            thread::sleep(Duration::from_millis(100));
            self.0.ends.fetch_add(1, SeqCst);
        }
    }

    for lazily in [false, true] {
        let counts = Counts::default();
        let driver = Slow(counts.clone());
        let mut builder = builder(1);
        if lazily {
            builder = builder.lazy_threads();
        }
        let pool = builder.driver(move |_| Ok(driver)).build().unwrap();
        pool.start_threads().unwrap();
        let handle = pool.handle();
        let ending = thread::spawn(move || drop(pool));
        handle.wait_until_stopped().unwrap();
        assert_eq!(counts.ends.load(SeqCst), 1);
        ending.join().unwrap();
    }
}

#[test]
fn a_pool_has_one_driver_of_each_type_until_it_ends() {
    let counts = Counts::default();
    let pool = builder(2).build().unwrap();
    let address = || {
        driver::with(
            || Plain(counts.clone()),
            |_, driver| &raw const *driver as usize,
        )
    };
    let first = pool.install(address);
    pool.install(|| driver::with(Other::default, |_, _| ()));
    assert!(pool.broadcast(|_| address()).iter().all(|&it| it == first));
    assert_eq!(counts.ends.load(SeqCst), 0);
    pool.shutdown().unwrap();
    assert_eq!(counts.ends.load(SeqCst), 1);
    // The last reference is dropped by the last thread that ends.
    wait_for(|| counts.drops.load(SeqCst) == 1);
}

#[test]
fn a_driver_of_the_builder_is_told_the_workers_and_found() {
    let counts = Counts::default();
    let (sender, workers) = mpsc::channel();
    let pool = builder(3).driver({
        let counts = counts.clone();
        move |workers| {
            sender.send(workers).unwrap();
            Ok(Plain(counts))
        }
    });
    let pool = pool.build().unwrap();
    assert_eq!(workers.iter().collect::<Vec<_>>(), [3]);
    let index = pool.install(|| {
        let worker = |pool: Pool<'_>, _: &_| pool.current_worker();
        driver::with(|| -> Plain { unreachable!("there is one") }, worker)
    });
    assert!(index.unwrap() < 3);
    pool.shutdown().unwrap();
    assert_eq!(counts.ends.load(SeqCst), 1);
}

#[test]
fn a_pool_with_a_driver_has_no_guests() {
    let pool = builder(1).driver(|_| Ok(Other)).build().unwrap();
    let caller = thread::current().id();
    assert_ne!(pool.call(|| thread::current().id()), caller);
}

/// A driver that fails to start, or has threads.
struct Threads {
    fails: bool,
    /// Dropped at the end, for which the thread waits.
    sender: Mutex<Option<Sender<()>>>,
    receiver: Mutex<Option<Receiver<()>>>,
    counts: Counts,
}

impl Threads {
    fn new(fails: bool, counts: Counts) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            fails,
            sender: Mutex::new(Some(sender)),
            receiver: Mutex::new(Some(receiver)),
            counts,
        }
    }
}

impl Driver for Threads {
    fn start(&self, pool: Pool<'_>) -> io::Result<()> {
        let receiver = self.receiver.lock().unwrap().take().unwrap();
        let ends = self.counts.ends.clone();
        pool.spawn_thread("driver", move |pool| {
            assert_eq!(thread::current().name(), Some("driver"));
            assert_eq!(pool.current_worker(), None);
            // Until the sender is dropped.
            assert!(receiver.recv().is_err());
            ends.fetch_add(1, SeqCst);
        })?;
        if self.fails {
            return Err(io::Error::other("by design"));
        }
        Ok(())
    }

    fn end(&self) {
        self.sender.lock().unwrap().take();
    }
}

#[test]
fn the_end_of_a_pool_waits_for_the_threads_of_its_driver() {
    let counts = Counts::default();
    let make = counts.clone();
    let builder = builder(1).driver(move |_| Ok(Threads::new(false, make)));
    let pool = builder.build().unwrap();
    pool.wait_idle().unwrap();
    assert_eq!(counts.ends.load(SeqCst), 0);
    pool.shutdown().unwrap();
    assert_eq!(counts.ends.load(SeqCst), 1);
}

#[test]
fn a_driver_that_fails_is_an_error_of_the_build_and_is_ended() {
    let counts = Counts::default();
    let make = counts.clone();
    let result = builder(2)
        .driver(move |_| Ok(Threads::new(true, make)))
        .build();
    let error = result.unwrap_err();
    assert!(matches!(&error, BuildError::Driver { source } if source.to_string() == "by design"));
    let text = "the driver of the pool could not be started: by design";
    assert_eq!(error.to_string(), text);
    wait_for(|| counts.ends.load(SeqCst) == 1);
    let refused = builder(1).driver(|_| Err::<Other, _>(io::Error::other("by design")));
    assert!(matches!(refused.build(), Err(BuildError::Driver { .. })));
}

#[test]
fn a_driver_that_was_not_started_is_only_dropped() {
    let counts = Counts::default();
    let make = counts.clone();
    let refused = builder(1).active_workers(0).driver(|_| Ok(Plain(make)));
    assert!(matches!(refused.build(), Err(BuildError::ActiveWorkers(_))));
    assert_eq!(counts.drops.load(SeqCst), 1);
    assert_eq!(counts.ends.load(SeqCst), 0);
}

/// Shuts its pool down on a thread of its own.
struct ShutsDown(
    Mutex<Option<Receiver<Arc<ThreadPool>>>>,
    Sender<ShutdownError>,
);

impl Driver for ShutsDown {
    fn start(&self, pool: Pool<'_>) -> io::Result<()> {
        let receiver = self.0.lock().unwrap().take().unwrap();
        let result = self.1.clone();
        pool.spawn_thread("driver", move |_| {
            let pool = receiver.recv().unwrap();
            let error = pool.shutdown_timeout(std::time::Duration::from_secs(120));
            result.send(error.unwrap_err()).unwrap();
        })
    }
}

#[test]
fn a_thread_of_a_driver_cannot_wait_for_the_end_of_its_pool() {
    let (send_pool, receive_pool) = mpsc::channel();
    let (sender, result) = mpsc::channel();
    let driver = ShutsDown(Mutex::new(Some(receive_pool)), sender);
    let pool = Arc::new(builder(1).driver(|_| Ok(driver)).build().unwrap());
    send_pool.send(pool).unwrap();
    assert_eq!(result.recv().unwrap(), ShutdownError::FromWorker);
}

#[test]
fn a_panic_that_a_driver_reports_goes_to_the_handler() {
    let (sender, panics) = mpsc::channel();
    let sender = Mutex::new(sender);
    let builder = builder(1).panic_handler(move |_| sender.lock().unwrap().send(()).unwrap());
    let pool = builder.build().unwrap();
    pool.install(|| {
        driver::with(Other::default, |pool, _| {
            pool.run_and_handle_panic("a test", || panic!("by design"));
        });
    });
    assert_eq!(panics.try_iter().count(), 1);
}

/// Panics when it is dropped, and so do its parkers.
struct Bomb;

impl Driver for Bomb {
    fn parker(&self, _worker: usize) -> Option<Box<dyn WorkerParker>> {
        Some(Box::new(Self))
    }
}

impl WorkerParker for Bomb {
    fn park(&self) {
        thread::yield_now();
    }

    fn unpark(&self) {}
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("by design");
        }
    }
}

/// The last reference may be dropped in a frame that other threads use.
#[test]
fn drops_that_panic_are_contained() {
    let pool = builder(2).driver(|_| Ok(Bomb)).build().unwrap();
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    pool.shutdown().unwrap();
}

/// Also if its drop panics, too.
#[test]
fn the_panic_of_a_thread_of_a_driver_has_no_other_effect() {
    struct PanicsToo;

    impl Drop for PanicsToo {
        fn drop(&mut self) {
            panic!("its drop");
        }
    }

    let pool = builder(1).build().unwrap();
    pool.install(|| {
        driver::with(Other::default, |pool, _| {
            pool.spawn_thread("driver", |_| std::panic::panic_any(PanicsToo))
        })
    })
    .unwrap();
    pool.shutdown_timeout(Duration::MAX).unwrap();
}
