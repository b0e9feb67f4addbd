//! Subscribers that panic.

use super::*;

/// Panics when the second span from now on is left.
struct PanicsOnExit(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for PanicsOnExit {
    fn on_exit(&self, _: &tracing::span::Id, _: Context<'_, S>) {
        let left = self
            .0
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        assert!(left != Ok(1), "on exit");
    }
}

#[test]
fn a_wait_goes_on_in_its_spans_although_a_subscriber_panics() {
    let (log, left) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let subscriber = Registry::default()
        .with(log.clone())
        .with(PanicsOnExit(left.clone()));
    pool_with(subscriber).install(|| {
        pool_std::spawn(event);
        tracing::info_span!("waits").in_scope(|| {
            tracing::info_span!("deeply").in_scope(|| {
                left.store(2, SeqCst);
                run_other_jobs();
                assert_eq!(left.load(SeqCst), 0, "the job has not begun");
                event();
            });
        });
    });
    assert_eq!(log.take(), ["waits/deeply"]);
}

/// The scope has counted the job by then, and the pool its reference.
#[test]
fn a_subscriber_that_panics_strands_no_waiter() {
    let pool = pool(1);
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let count = || _ = runs.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    tracing::subscriber::with_default(Fails, || {
        pool.in_place_scope(|scope| scope.spawn(|_| count()));
        pool.spawn(|| ());
        pool.spawn_future(async {}).join().unwrap();
        pool.spawn_handle(|| ()).join().unwrap();
        pool.join(count, count);
    });
    pool.shutdown().unwrap();
    assert_eq!(runs.into_inner(), 3);
}

/// Panics when the next span is entered.
struct PanicsOnEnter(Arc<AtomicBool>);

impl<S: Subscriber> Layer<S> for PanicsOnEnter {
    fn on_enter(&self, _: &tracing::span::Id, _: Context<'_, S>) {
        if self.0.swap(false, SeqCst) {
            panic!("on enter");
        }
    }
}

#[test]
fn a_job_of_a_broadcast_that_never_began_does_not_keep_its_pool() {
    let fails = Arc::new(AtomicBool::new(false));
    let subscriber = Registry::default().with(PanicsOnEnter(fails.clone()));
    let pool = pool(1);
    tracing::subscriber::with_default(subscriber, || {
        tracing::info_span!("a span").in_scope(|| {
            fails.store(true, SeqCst);
            let broadcast = std::panic::AssertUnwindSafe(|| pool.broadcast(|_| ()));
            assert!(std::panic::catch_unwind(broadcast).is_err());
        });
    });
    let limit = std::time::Duration::from_secs(60);
    assert_eq!(pool.shutdown_timeout(limit), Ok(()));
}

/// Its own waker would keep it for good.
#[test]
fn a_future_is_dropped_although_a_subscriber_panics() {
    let fails = Arc::new(AtomicBool::new(false));
    let subscriber = Registry::default().with(PanicsOnEnter(fails.clone()));
    let builder = pool_std::ThreadPoolBuilder::new().num_threads(1);
    let pool = builder.panic_handler(|_| ()).build().unwrap();
    let (captured, dropped) = mpsc::channel::<()>();
    let (polled, polls) = mpsc::channel();
    let handle = tracing::subscriber::with_default(subscriber, || {
        tracing::info_span!("a span").in_scope(|| {
            let own_waker = Mutex::new(None);
            pool.spawn_future(std::future::poll_fn(move |context| {
                let _ = &captured;
                *own_waker.lock().unwrap() = Some(context.waker().clone());
                polled.send(()).unwrap();
                std::task::Poll::<()>::Pending
            }))
        })
    });
    polls.recv().unwrap();
    // The only worker has ended the poll.
    pool.install(|| fails.store(true, SeqCst));
    handle.abort();
    assert!(handle.join().unwrap_err().is_aborted());
    let limit = std::time::Duration::from_secs(60);
    let result = dropped.recv_timeout(limit);
    assert_eq!(result, Err(mpsc::RecvTimeoutError::Disconnected));
    assert!(!fails.load(SeqCst), "the subscriber has panicked");
}

/// Panics when the next span is cloned.
struct PanicsOnClone(Registry, Arc<AtomicBool>);

impl Subscriber for PanicsOnClone {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.0.new_span(span)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &tracing::span::Id) {
        self.0.enter(span);
    }

    fn exit(&self, span: &tracing::span::Id) {
        self.0.exit(span);
    }

    fn clone_span(&self, span: &tracing::span::Id) -> tracing::span::Id {
        assert!(!self.1.swap(false, SeqCst), "on clone");
        self.0.clone_span(span)
    }

    fn try_close(&self, span: tracing::span::Id) -> bool {
        self.0.try_close(span)
    }

    fn current_span(&self) -> tracing_core::span::Current {
        self.0.current_span()
    }
}

/// The end of a future clones its span once more, in which it is dropped.
#[test]
fn a_subscriber_that_panics_at_the_end_of_a_future_does_not_end_the_process() {
    let fails = Arc::new(AtomicBool::new(false));
    let subscriber = PanicsOnClone(Registry::default(), fails.clone());
    let (sender, panics) = mpsc::channel();
    let builder = ThreadPoolBuilder::new().num_threads(1);
    let builder = builder.panic_handler(move |panic| sender.send(panic).unwrap());
    let pool = builder.build().unwrap();
    let handle = tracing::subscriber::with_default(subscriber, || {
        tracing::info_span!("a span").in_scope(|| {
            pool.spawn_future(async move {
                fails.store(true, SeqCst);
                42
            })
        })
    });
    assert_eq!(handle.join().unwrap(), 42);
    let panic = panics.recv().unwrap();
    assert_eq!(panic.downcast_ref(), Some(&"on clone"));
    pool.shutdown().unwrap();
}

/// The panic of the subscriber is that of the job, and goes to its handle.
#[test]
fn a_scoped_job_that_never_began_does_not_run_after_its_scope() {
    let fails = Arc::new(AtomicBool::new(false));
    let subscriber = Registry::default().with(PanicsOnEnter(fails.clone()));
    let dispatch = tracing::Dispatch::new(subscriber);
    let ran = AtomicBool::new(false);
    let pool = pool(1);
    pool.install(|| {
        let slot = Mutex::new(None);
        pool_std::scope(|scope| {
            tracing::dispatcher::with_default(&dispatch, || {
                tracing::info_span!("a span").in_scope(|| {
                    let ran = &ran;
                    let job = pool_std::spawn_handle_in(scope, move |scope| {
                        ran.store(true, SeqCst);
                        scope.spawn(|_| ());
                    });
                    *slot.lock().unwrap() = Some(job);
                });
            });
            fails.store(true, SeqCst);
        });
        assert!(!ran.load(SeqCst), "not in the scope");
        let job = slot.lock().unwrap().take().unwrap();
        let panic = job.join().unwrap_err().try_into_panic().unwrap();
        assert_eq!(panic.downcast_ref(), Some(&"on enter"));
    });
    assert!(!ran.into_inner(), "it has run after the scope has ended");
}
