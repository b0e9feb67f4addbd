//! Children of tokens, and futures that await a token.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    task::{Context, Wake, Waker},
    thread,
};

use pool_std::{CancelToken, block_on, spawn_future};
use proptest::prelude::*;

use super::pool;

/// Counts its calls.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Bell {
    fn rings(&self) -> usize {
        self.0.load(SeqCst)
    }
}

#[derive(Debug, Clone)]
enum Step {
    New,
    Child(usize),
    Clone(usize),
    Cancel(usize),
    Drop(usize),
    /// Begins to wait.
    Wait(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => Just(Step::New),
        6 => any::<usize>().prop_map(Step::Child),
        2 => any::<usize>().prop_map(Step::Clone),
        2 => any::<usize>().prop_map(Step::Cancel),
        2 => any::<usize>().prop_map(Step::Drop),
        3 => any::<usize>().prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A signal of the model is the place of its parent, and whether it is set.
    #[test]
    fn any_family_of_tokens_behaves_as_its_model(steps in steps()) {
        let mut signals: Vec<(Option<usize>, bool)> = vec![(None, false)];
        let mut tokens = vec![(0, CancelToken::new())];
        let mut waits = Vec::new();
        for step in steps {
            let choose = |number: usize| number % tokens.len();
            match step {
                Step::New => {
                    tokens.push((signals.len(), CancelToken::new()));
                    signals.push((None, false));
                }
                Step::Child(number) => {
                    let (signal, token) = &tokens[choose(number)];
                    let (child, is_set) = (token.child_token(), signals[*signal].1);
                    let parent = Some(*signal);
                    tokens.push((signals.len(), child));
                    signals.push((parent, is_set));
                }
                Step::Clone(number) => tokens.push(tokens[choose(number)].clone()),
                Step::Cancel(number) => {
                    let (signal, token) = &tokens[choose(number)];
                    token.cancel();
                    signals[*signal].1 = true;
                    // Children come after their parents.
                    for child in 0..signals.len() {
                        if signals[child].0.is_some_and(|parent| signals[parent].1) {
                            signals[child].1 = true;
                        }
                    }
                }
                Step::Drop(number) if tokens.len() > 1 => drop(tokens.swap_remove(choose(number))),
                Step::Drop(_) => {}
                Step::Wait(number) => {
                    let (signal, token) = &tokens[choose(number)];
                    let (bell, mut future) = (Arc::new(Bell::default()), Box::pin(token.cancelled()));
                    let waker = Waker::from(bell.clone());
                    let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
                    prop_assert_eq!(poll.is_ready(), signals[*signal].1);
                    if poll.is_pending() {
                        waits.push((*signal, bell, future));
                    }
                }
            }
            for (signal, token) in &tokens {
                prop_assert_eq!(token.is_cancelled(), signals[*signal].1);
            }
            for (signal, bell, _) in &waits {
                prop_assert_eq!(bell.rings(), usize::from(signals[*signal].1));
            }
        }
    }
}

#[test]
fn a_future_wakes_the_task_that_polled_it_last() {
    let token = CancelToken::new();
    let mut future = pin!(token.cancelled());
    let bells: [Arc<Bell>; 2] = Default::default();
    for bell in &bells {
        let waker = Waker::from(bell.clone());
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    token.cancel();
    assert_eq!(bells.each_ref().map(|bell| bell.rings()), [0, 1]);
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.poll(&mut context).is_ready());
    assert!(pin!(token.cancelled()).poll(&mut context).is_ready());
}

#[test]
fn the_panic_of_a_waker_keeps_no_other_from_being_called() {
    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("by design");
        }
    }

    let token = CancelToken::new();
    let child = token.child_token();
    let bell = Arc::new(Bell::default());
    let wakers = [
        Arc::new(Panics).into(),
        Waker::from(bell.clone()),
        Arc::new(Panics).into(),
    ];
    let mut futures = [token.cancelled(), child.cancelled(), child.cancelled()];
    for (future, waker) in futures.iter_mut().zip(&wakers) {
        assert!(
            pin!(future)
                .poll(&mut Context::from_waker(waker))
                .is_pending()
        );
    }
    assert!(catch_unwind(AssertUnwindSafe(|| token.cancel())).is_err());
    assert_eq!(bell.rings(), 1);
    assert!(child.is_cancelled());
    token.cancel();
}

/// Whichever of two threads is the first, all children are cancelled when either returns.
#[test]
fn stress_of_threads_that_cancel_at_once() {
    let rounds = if cfg!(miri) { 3 } else { 2_000 };
    let families: Vec<_> = (0..rounds)
        .map(|_| {
            let token = CancelToken::new();
            let children = [(); 3].map(|()| token.child_token().child_token());
            (token, children)
        })
        .collect();
    let both_begin = Barrier::new(2);
    // A thread goes on whatever it finds, since the other one waits for it in each round.
    let cancel_all = || {
        let seen = families.iter().filter(|(token, children)| {
            both_begin.wait();
            token.cancel();
            children.iter().all(CancelToken::is_cancelled)
        });
        seen.count()
    };
    thread::scope(|threads| {
        let threads = [(); 2].map(|()| threads.spawn(cancel_all));
        assert_eq!(threads.map(|thread| thread.join().unwrap()), [rounds; 2]);
    });
}

#[test]
fn stress_of_futures_that_wait_while_their_token_is_cancelled() {
    let pool = pool(2);
    let (sender, sent) = mpsc::channel::<CancelToken>();
    thread::scope(|threads| {
        threads.spawn(|| {
            for token in sent {
                block_on(token.cancelled());
            }
        });
        for _ in 0..if cfg!(miri) { 2 } else { 1_000 } {
            let token = CancelToken::new();
            let waiters = pool.install(|| {
                let wait =
                    |token: CancelToken| spawn_future(async move { token.cancelled().await });
                [
                    wait(token.clone()),
                    wait(token.child_token()),
                    wait(token.child_token()),
                ]
            });
            sender.send(token.child_token()).unwrap();
            token.cancel();
            for waiter in waiters {
                waiter.join().unwrap();
            }
        }
        drop(sender);
    });
}
