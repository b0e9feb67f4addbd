//! Futures that a pool polls.

use std::{
    future::{pending, poll_fn, ready},
    panic::panic_any,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc::{self, Sender},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::Duration,
};

use crate::support::pool_with_handler;
use pool_std::{JoinHandle, ShutdownError, ThreadPool, ThreadPoolBuilder, block_on};

mod aborted;
mod awaited;
mod isolated;
mod turns;

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .unwrap()
}

/// An event that futures await, and that any thread makes happen.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Event {
    fn happen(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        let wakers = std::mem::take(&mut state.1);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1.push(context.waker().clone());
        Poll::Pending
    }

    async fn wait(&self) {
        poll_fn(|context| self.poll(context)).await;
    }

    /// Waits until a future waits.
    fn wait_until_awaited(&self) {
        while self.0.lock().unwrap().1.is_empty() {
            thread::yield_now();
        }
    }
}

/// Runs a body beside a thread that makes the events happen which the body sends, in their order.
fn beside_a_waker(body: impl FnOnce(&Sender<Vec<Event>>)) {
    let (sender, sent) = mpsc::channel::<Vec<Event>>();
    thread::scope(|threads| {
        threads.spawn(|| sent.into_iter().flatten().for_each(|event| event.happen()));
        body(&sender);
        drop(sender);
    });
}

/// Lets others be polled first.
async fn give_way() {
    let mut is_first = true;
    poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

/// Counts how many of its values live.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn wait_for_zero(count: &AtomicUsize) {
    while count.load(SeqCst) > 0 {
        thread::yield_now();
    }
}

#[test]
fn a_future_that_is_ready_gives_its_result() {
    let pool = pool(1);
    assert_eq!(pool.spawn_future(ready(7)).join().unwrap(), 7);
    // On the worker, which polls it itself.
    let sum = pool.install(|| pool_std::spawn_future(async { 1 + 2 }).join());
    assert_eq!(sum.unwrap(), 3);
    // Also where it runs nothing else.
    let sum = pool.install(|| pool_std::isolate(|| pool_std::spawn_future(ready(4)).join()));
    assert_eq!(sum.unwrap(), 4);
    assert_eq!(
        block_on(pool.spawn_future(async { "text" })).unwrap(),
        "text"
    );
}

#[test]
fn a_future_is_polled_when_it_is_woken() {
    let pool = pool(1);
    let event = Event::default();
    let awaited = event.clone();
    let mut job = pool.spawn_future(async move {
        awaited.wait().await;
        give_way().await;
        5
    });
    event.wait_until_awaited();
    assert!(!job.wait_timeout(Duration::from_millis(5)));
    // The worker is free meanwhile.
    assert_eq!(pool.install(|| 1), 1);
    event.happen();
    assert_eq!(job.join().unwrap(), 5);
}

#[test]
fn futures_await_each_other_and_jobs() {
    for workers in [1, 3] {
        let pool = Arc::new(pool(workers));
        let mut last = pool.spawn_future(ready(0));
        for number in 1..if cfg!(miri) { 5 } else { 200 } {
            let inner = pool.spawn_handle(move || number);
            last = pool.spawn_future(async move {
                give_way().await;
                last.await.unwrap() + inner.await.unwrap()
            });
        }
        let count = if cfg!(miri) { 5 } else { 200 };
        assert_eq!(last.join().unwrap(), (0..count).sum::<i32>());
    }
}

#[test]
fn a_future_that_wakes_itself_lets_others_go_on() {
    let pool = pool(1);
    let event = Event::default();
    let awaited = event.clone();
    let asking = pool.spawn_future(async move {
        while awaited
            .poll(&Context::from_waker(Waker::noop()))
            .is_pending()
        {
            give_way().await;
        }
    });
    // A job from outside is run between two polls.
    pool.install(|| event.happen());
    asking.join().unwrap();
}

#[test]
fn a_panic_is_an_error_and_the_future_is_dropped() {
    let pool = pool(2);
    let count = Arc::default();
    let counted = Counted::new(&count);
    let job: JoinHandle<()> = pool.spawn_future(async move {
        let _counted = counted;
        give_way().await;
        panic_any(3_u8);
    });
    let error = job.join().unwrap_err();
    assert_eq!(error.try_into_panic().unwrap().downcast_ref(), Some(&3_u8));
    assert_eq!(count.load(SeqCst), 0);
}

#[test]
fn the_panic_of_a_detached_future_goes_to_the_handler() {
    let (pool, panics) = pool_with_handler();
    let event = Event::default();
    let awaited = event.clone();
    drop(pool.spawn_future(async move {
        awaited.wait().await;
        panic_any(4_u8);
    }));
    event.happen();
    assert_eq!(panics.recv().unwrap().downcast_ref(), Some(&4_u8));
}

#[test]
fn a_pool_goes_on_until_its_futures_have_ended() {
    let pool = pool(2);
    let event = Event::default();
    let awaited = event.clone();
    let job = pool.spawn_future(async move { awaited.wait().await });
    event.wait_until_awaited();
    let shut_down = pool.shutdown_timeout(Duration::from_millis(5));
    assert!(matches!(shut_down, Err(ShutdownError::TimedOut)));
    event.happen();
    pool.shutdown_timeout(Duration::from_secs(100)).unwrap();
    assert!(job.is_finished());
    // It has ended, and wakers may still be there.
    event.happen();
    let refused = pool.spawn_future(pending::<()>());
    assert!(refused.join().unwrap_err().is_aborted());
}

#[test]
fn a_waker_may_outlive_its_pool() {
    let wakers = Arc::new(Mutex::new(Vec::new()));
    let kept = wakers.clone();
    let pool = pool(1);
    let job = pool.spawn_future(poll_fn(move |context| {
        kept.lock().unwrap().push(context.waker().clone());
        Poll::Ready(1)
    }));
    assert_eq!(job.join().unwrap(), 1);
    pool.shutdown().unwrap();
    let wakers = std::mem::take(&mut *wakers.lock().unwrap());
    for waker in wakers {
        waker.wake_by_ref();
        waker.wake();
    }
}

#[test]
fn the_drop_of_a_handle_of_another_runtime_detaches() {
    let pool = pool(1);
    let count = Arc::default();
    let counted = Counted::new(&count);
    {
        let mut job = pin!(pool.spawn_future(async move {
            give_way().await;
            drop(counted);
        }));
        _ = job.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    wait_for_zero(&count);
}

/// Wake-ups, aborts, drops and joins of many futures at the same time: each has ended or was
/// aborted, and nothing is left.
#[test]
fn stress() {
    const FUTURES: usize = if cfg!(miri) { 12 } else { 5_000 };
    let live = Arc::new(AtomicUsize::new(0));
    for workers in [1, 2, 4] {
        let pool = pool(workers);
        let ended = Arc::new(AtomicUsize::new(0));
        let mut aborted = 0;
        let events: Vec<_> = (0..FUTURES).map(|_| Event::default()).collect();
        let jobs: Vec<_> = events
            .iter()
            .enumerate()
            .map(|(number, event)| {
                let (counted, event, ended) = (Counted::new(&live), event.clone(), ended.clone());
                pool.spawn_future(async move {
                    let _counted = counted;
                    if number % 3 == 0 {
                        give_way().await;
                    }
                    event.wait().await;
                    ended.fetch_add(1, Relaxed);
                    number
                })
            })
            .collect();
        thread::scope(|scope| {
            let (first, second) = events.split_at(FUTURES / 2);
            scope.spawn(|| first.iter().for_each(Event::happen));
            scope.spawn(|| second.iter().for_each(Event::happen));
            for (number, job) in jobs.into_iter().enumerate() {
                match number % 4 {
                    0 => drop(job),
                    1 => {
                        let is_aborted = job.abort();
                        aborted += usize::from(is_aborted);
                        assert_eq!(job.join().is_err(), is_aborted);
                    }
                    2 => assert_eq!(job.join().unwrap(), number),
                    _ => assert_eq!(block_on(job).unwrap(), number),
                }
            }
        });
        pool.shutdown().unwrap();
        let ended = ended.load(Relaxed);
        // One that is aborted at its end has ended, too.
        assert!(
            ended + aborted >= FUTURES && ended <= FUTURES,
            "{ended} {aborted}"
        );
        drop(events);
        assert_eq!(live.load(SeqCst), 0);
    }
}

/// Reproduces a bug: the wait dropped the waker, so that the task which had polled was never woken.
#[test]
fn a_wait_for_a_limited_time_leaves_the_waker_of_an_earlier_poll() {
    struct Woken(AtomicUsize);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let pool = pool(1);
    // The second job ends while the thread waits.
    for waits_for_end in [false, true] {
        let (go, goes) = mpsc::channel::<()>();
        let mut job = pool.spawn_handle(move || goes.recv().unwrap());
        let woken = Arc::new(Woken(AtomicUsize::new(0)));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        assert!(pin!(&mut job).poll(&mut context).is_pending());
        if waits_for_end {
            go.send(()).unwrap();
            assert!(job.wait_timeout(Duration::from_secs(60)));
        } else {
            assert!(!job.wait_timeout(Duration::from_millis(1)));
            go.send(()).unwrap();
        }
        pool.wait_idle().unwrap();
        assert_eq!(woken.0.load(SeqCst), 1);
    }
}
