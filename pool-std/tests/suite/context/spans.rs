//! The current span of `tracing`.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    mpsc,
};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use pool_std::{ThreadPool, ThreadPoolBuilder};

use super::pool;
use crate::support::Gate;

mod panics;

/// Notes in which spans each event is, the outermost one first.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        // Pools tell what they do, too.
        if event.metadata().target() == "pool_std" {
            return;
        }
        let spans = context.event_scope(event).into_iter().flatten();
        let names: Vec<_> = spans.map(|span| span.name()).collect();
        let names: Vec<_> = names.into_iter().rev().collect();
        self.0.lock().unwrap().push(names.join("/"));
    }
}

impl Log {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn event() {
    tracing::info!("here");
}

/// Each thread that asks must have the subscriber, so this one is that of the process. It is the
/// only test that sets one.
#[test]
fn a_job_is_in_the_span_in_which_it_was_made() {
    let log = Log::default();
    let subscriber = Registry::default().with(log.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let pool = pool(2);
    tracing::info_span!("outer").in_scope(|| {
        pool.install(|| {
            event();
            tracing::info_span!("inner").in_scope(|| {
                pool_std::join(event, event);
                pool_std::scope(|scope| scope.spawn(|_| event()));
            });
        });
        pool.spawn_handle(event).join().unwrap();
        pool.spawn_future(async { event() }).join().unwrap();
        pool.broadcast(|_| event());
    });
    let expected = [
        "outer",
        "outer/inner",
        "outer/inner",
        "outer/inner",
        "outer",
        "outer",
        "outer",
        "outer",
    ];
    assert_eq!(log.take(), expected);

    // The job that the wait runs was made outside every span, and the wait goes on in its own.
    let one = super::pool(1);
    one.install(|| {
        pool_std::spawn(event);
        tracing::info_span!("waits").in_scope(|| {
            tracing::info_span!("deeply").in_scope(|| {
                while pool_std::yield_now() == Some(pool_std::Yield::Executed) {}
                event();
            });
            event();
        });
    });
    assert_eq!(log.take(), ["", "waits/deeply", "waits"]);
}

/// Builds a pool of one worker, whose thread has a subscriber of its own.
fn pool_with(subscriber: impl Subscriber + Send + Sync + 'static) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    build_with(subscriber, builder.panic_handler(|_| ()))
}

/// Builds a pool whose threads have a subscriber of their own.
fn build_with(
    subscriber: impl Subscriber + Send + Sync + 'static,
    builder: ThreadPoolBuilder,
) -> ThreadPool {
    let subscriber = tracing::Dispatch::new(subscriber);
    let builder = builder.spawn_handler(move |thread| {
        let subscriber = subscriber.clone();
        let run = move || tracing::dispatcher::with_default(&subscriber, || thread.run());
        std::thread::Builder::new().spawn(run).map(drop)
    });
    builder.build().unwrap()
}

/// Runs the jobs that are queued for this worker.
fn run_other_jobs() {
    while pool_std::yield_now() == Some(pool_std::Yield::Executed) {}
}

#[test]
fn a_job_outside_every_span_is_in_none_if_its_worker_is_in_a_span_twice() {
    let log = Log::default();
    pool_with(Registry::default().with(log.clone())).install(|| {
        pool_std::spawn(event);
        let span = tracing::info_span!("waits");
        span.in_scope(|| {
            span.in_scope(|| {
                run_other_jobs();
                event();
            });
            event();
        });
        event();
    });
    assert_eq!(log.take(), ["", "waits", "waits", ""]);
}

/// A subscriber does not take a span for the current one when it is entered again.
#[test]
fn a_job_is_in_its_span_if_its_worker_is_in_that_span_and_in_another_one() {
    let log = Log::default();
    pool_with(Registry::default().with(log.clone())).install(|| {
        let outer = tracing::info_span!("outer");
        outer.in_scope(|| {
            pool_std::spawn(event);
            let other = tracing::info_span!(parent: None, "other");
            other.in_scope(|| {
                run_other_jobs();
                event();
            });
            event();
        });
    });
    assert_eq!(log.take(), ["outer", "other", "outer"]);
}

/// A subscriber that fails when it is asked for the current span.
struct Fails;

impl Subscriber for Fails {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}

    fn current_span(&self) -> tracing_core::span::Current {
        panic!("no span is told");
    }
}

/// Collects what pools tell: the levels of the events, and their fields.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(Level, String)>>>);

impl<S: Subscriber> Layer<S> for Told {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        struct Text(String);

        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!("{field}={value:?};");
            }
        }

        let mut text = Text(String::new());
        event.record(&mut text);
        let level = *event.metadata().level();
        self.0.lock().unwrap().push((level, text.0));
    }
}

#[test]
fn a_pool_tells_of_threads_panics_and_deadlocks() {
    let told = Told::default();
    let subscriber = Registry::default().with(told.clone());
    let (answer, question) = mpsc::channel();
    let answer = Mutex::new(answer);
    let builder = ThreadPoolBuilder::new()
        .num_threads(1)
        .panic_handler(|_| ())
        .deadlock_handler(move |_| answer.lock().unwrap().send(()).unwrap());
    let pool = build_with(subscriber, builder);
    pool.spawn(|| panic!("by {}", "design"));
    pool.install(move || pool_std::blocking("an answer", |_| question.recv().unwrap()));
    pool.shutdown().unwrap();

    let told = told.0.lock().unwrap();
    let expected = [
        (Level::DEBUG, "worker=0"),
        (Level::ERROR, "what=\"a spawned job\";message=\"by design\""),
        (Level::WARN, "an answer"),
        (Level::DEBUG, "worker=0"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((level, text), expected) in told.iter().zip(expected) {
        assert!(
            *level == expected.0 && text.contains(expected.1),
            "{told:?}"
        );
    }
}

/// Sends which pool is the current one when a deadlock is reported.
struct SendsPool(Mutex<mpsc::Sender<pool_std::PoolHandle>>);

impl<S: Subscriber> Layer<S> for SendsPool {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::WARN {
            let sender = self.0.lock().unwrap();
            sender.send(pool_std::PoolHandle::current()).unwrap();
        }
    }
}

/// As that of the handler is. The thread that reports the deadlock has ceased to be a worker.
#[test]
fn the_current_pool_of_a_subscriber_is_the_one_in_a_deadlock() {
    let (sender, receiver) = mpsc::channel();
    let subscriber = Registry::default().with(SendsPool(Mutex::new(sender)));
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let pool = build_with(subscriber, builder.deadlock_handler(|_| ()));
    let (pool, gate) = (Arc::new(pool), Arc::new(Gate::default()));
    let (inner, waiting) = (pool.clone(), gate.clone());
    let both_run = std::sync::Barrier::new(2);
    pool.spawn_broadcast(move |context| {
        both_run.wait();
        if context.index() == 0 {
            waiting.wait("a gate");
        } else {
            waiting.wait_for_blocked(1);
            inner.set_active_workers(1).unwrap();
        }
    });
    let current = receiver.recv();
    // First, since the pool does not end before.
    gate.open();
    assert_eq!(current, Ok(pool.handle()));
}
