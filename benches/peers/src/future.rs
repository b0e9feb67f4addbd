//! The group `future`: what workers pay for futures.

mod runtime;

use std::{
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::atomic::{AtomicUsize, Ordering},
};

use protocol::{Case, Unit, time};
use tokio::sync::oneshot;

use crate::{
    latch::Latch,
    pools::{Lazy, Pools},
};
pub(crate) use runtime::Runtime;

/// So many futures are spawned and awaited, so often.
const FUTURES: usize = 10_000;
const ROUNDS: usize = 10;
/// So many futures give way to each other, so often.
const YIELDING: usize = 200;
const YIELDS: usize = 500;
/// Calls from outside, one after the other.
const CALLS: usize = 1_000;

/// Measures something once, on a runtime.
type Measure<R> = fn(&R) -> f64;

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    pools
        .iter()
        .flat_map(|pools| {
            let tokio = Lazy::<tokio::runtime::Runtime>::new(pools.threads());
            let mut cases = on(&pools.ours);
            cases.extend(on(&tokio));
            cases
        })
        .collect()
}

fn on<R: Runtime>(runtime: &Rc<Lazy<R>>) -> Vec<Case> {
    let measures: [(_, Measure<R>); 7] = [
        ("spawn-inside", spawn_inside),
        ("spawn-outside", spawn_outside),
        ("chain", chain),
        ("yield", give_way),
        ("ping-pong", ping_pong),
        ("closures", closures),
        ("call", call),
    ];
    let case = |(name, measure): (_, Measure<R>)| {
        let threads = runtime.threads();
        let runtime = runtime.clone();
        let run = move || measure(runtime.get());
        Case::new("future", name, threads, R::SYSTEM, Unit::Nanoseconds, run)
    };
    measures.into_iter().map(case).collect()
}

/// A future spawns others, and awaits the result of each.
fn spawn_inside<R: Runtime>(runtime: &R) -> f64 {
    per_one(FUTURES, || {
        runtime.run(async {
            let handles: Vec<_> = (0..FUTURES)
                .map(|number| R::spawn(async move { number }))
                .collect();
            let mut sum = 0;
            for handle in handles {
                sum += handle.await;
            }
            assert_eq!(sum, FUTURES * (FUTURES - 1) / 2);
        });
    })
}

/// Counts the futures that are spawned from a thread outside.
static LATCH: Latch = Latch::new();

/// A thread outside spawns futures, and waits for the last one.
fn spawn_outside<R: Runtime>(runtime: &R) -> f64 {
    per_one(FUTURES, || {
        LATCH.expect(FUTURES);
        for _ in 0..FUTURES {
            runtime.spawn_from_outside(async { LATCH.count_down() });
        }
        LATCH.wait();
    })
}

/// Each future spawns the next one.
fn chain<R: Runtime>(runtime: &R) -> f64 {
    fn link<R: Runtime>(
        left: usize,
        end: oneshot::Sender<()>,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            match left.checked_sub(1) {
                Some(left) => drop(R::spawn(link::<R>(left, end))),
                None => end.send(()).expect("it is awaited"),
            }
        })
    }

    per_one(FUTURES, || {
        runtime.run(async {
            let (end, is_over) = oneshot::channel();
            drop(R::spawn(link::<R>(FUTURES, end)));
            is_over.await.expect("the last one sends");
        });
    })
}

/// Futures give way to each other.
fn give_way<R: Runtime>(runtime: &R) -> f64 {
    per_one(YIELDING * YIELDS, || {
        runtime.run(async {
            let gives_way = |_| {
                R::spawn(async {
                    for _ in 0..YIELDS {
                        R::give_way().await;
                    }
                })
            };
            let handles: Vec<_> = (0..YIELDING).map(gives_way).collect();
            for handle in handles {
                handle.await;
            }
        });
    })
}

/// Pairs of futures: one sends, and awaits the answer of the other.
fn ping_pong<R: Runtime>(runtime: &R) -> f64 {
    const PAIRS: usize = FUTURES / 10;
    per_one(PAIRS, || {
        runtime.run(async {
            let ping = |_| {
                R::spawn(async {
                    let (ping, pinged) = oneshot::channel();
                    let (pong, ponged) = oneshot::channel();
                    drop(R::spawn(async move {
                        pinged.await.expect("the other one sends");
                        pong.send(()).expect("it is awaited");
                    }));
                    ping.send(()).expect("it is awaited");
                    ponged.await.expect("the other one answers");
                })
            };
            let handles: Vec<_> = (0..PAIRS).map(ping).collect();
            for handle in handles {
                handle.await;
            }
        });
    })
}

/// A future hands closures over that compute, and awaits the result of each.
fn closures<R: Runtime>(runtime: &R) -> f64 {
    const CLOSURES: usize = FUTURES / 10;
    per_one(CLOSURES, || {
        let done = runtime.run(async {
            static DONE: AtomicUsize = AtomicUsize::new(0);
            DONE.store(0, Ordering::Relaxed);
            let compute = |_| R::compute(|| _ = DONE.fetch_add(1, Ordering::Relaxed));
            let handles: Vec<_> = (0..CLOSURES).map(compute).collect();
            for handle in handles {
                handle.await;
            }
            DONE.load(Ordering::Relaxed)
        });
        assert_eq!(done, CLOSURES);
    })
}

/// A thread outside spawns one future, and waits for its result.
fn call<R: Runtime>(runtime: &R) -> f64 {
    let time = time(|| {
        for number in 0..CALLS {
            assert_eq!(runtime.run(async move { number }), number);
        }
    });
    Unit::Nanoseconds.of(time) / CALLS as f64
}

/// Nanoseconds for each of so many things that a round does.
fn per_one(count: usize, round: impl Fn()) -> f64 {
    let time = time(|| (0..ROUNDS).for_each(|_| round()));
    Unit::Nanoseconds.of(time) / (ROUNDS * count) as f64
}
