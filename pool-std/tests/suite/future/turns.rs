//! Futures that give way to others, or wake each other, on the only worker of a pool.

use super::*;

#[test]
fn futures_that_give_way_take_turns() {
    // Before the first fair look, at which any of them may come.
    const ROUNDS: usize = 15;
    let log = Arc::new(Mutex::new(Vec::new()));
    pool(1)
        .spawn_future({
            let log = log.clone();
            async move {
                let futures = [0, 1, 2].map(|number| {
                    let log = log.clone();
                    pool_std::spawn_future(async move {
                        for _ in 0..ROUNDS {
                            log.lock().unwrap().push(number);
                            give_way().await;
                        }
                    })
                });
                for future in futures {
                    future.await.unwrap();
                }
            }
        })
        .join()
        .unwrap();
    for round in log.lock().unwrap().chunks(3) {
        let mut round = round.to_vec();
        round.sort_unstable();
        assert_eq!(round, [0, 1, 2]);
    }
}

/// The wait runs the worker's own jobs first, and takes no fair looks.
#[test]
fn a_future_that_wakes_itself_below_a_wait_lets_others_go_on() {
    let pool = pool(1);
    let event = Event::default();
    let awaited = event.clone();
    let (began, begins) = mpsc::channel();
    let waits = pool.spawn_handle(move || {
        let asking = pool_std::spawn_future(async move {
            began.send(()).unwrap();
            let ask = || awaited.poll(&Context::from_waker(Waker::noop()));
            while ask().is_pending() {
                give_way().await;
            }
        });
        block_on(asking).unwrap();
    });
    begins.recv().unwrap();
    pool.spawn(move || event.happen());
    waits.join().unwrap();
}

/// The only worker has all of them on its deque, the older one below.
#[test]
fn futures_that_wake_each_other_let_an_older_one_go_on() {
    let pool = pool(1);
    let is_over = Arc::new(AtomicUsize::new(0));
    let game = pool.spawn_future(async move {
        let ends = is_over.clone();
        let older = pool_std::spawn_future(async move { ends.store(1, Relaxed) });
        let turns: [Event; 2] = Default::default();
        turns[0].happen();
        let players = [0, 1].map(|player| {
            let (turns, is_over) = (turns.clone(), is_over.clone());
            pool_std::spawn_future(async move {
                while is_over.load(Relaxed) == 0 {
                    turns[player].wait().await;
                    turns[player].0.lock().unwrap().0 = false;
                    turns[1 - player].happen();
                }
            })
        });
        older.await.unwrap();
        for player in players {
            player.await.unwrap();
        }
    });
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(game.join().is_ok()).unwrap());
    assert_eq!(receiver.recv_timeout(Duration::from_secs(120)), Ok(true));
}

/// The future yields until a job has run, which no other worker could run.
#[test]
fn a_worker_runs_jobs_between_polls_of_a_future_that_wakes_itself() {
    let pool = pool(1);
    for isolated in [false, true] {
        let polls = move || {
            let (sender, receiver) = mpsc::channel();
            let mut jobs = Vec::new();
            let yields_until_run = poll_fn(move |context| {
                if jobs.is_empty() {
                    let sender = sender.clone();
                    jobs.push(pool_std::spawn_handle(move || sender.send(7).unwrap()));
                }
                match receiver.try_recv() {
                    Ok(number) => Poll::Ready(number),
                    Err(_) => {
                        if isolated {
                            jobs[0].wait_timeout(Duration::ZERO);
                        }
                        context.waker().wake_by_ref();
                        Poll::Pending
                    }
                }
            });
            block_on(yields_until_run)
        };
        let job = pool.spawn_handle(move || match isolated {
            true => pool_std::isolate(polls),
            false => polls(),
        });
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(job.join().unwrap()).unwrap());
        assert_eq!(receiver.recv_timeout(Duration::from_secs(120)), Ok(7));
    }
}

/// Reproduces a bug: the time of each wait was over before the worker had looked at jobs from
/// outside the pool.
#[test]
fn waits_that_are_too_short_for_a_search_let_others_go_on() {
    let pool = &pool(1);
    let event = Event::default();
    let awaited = event.clone();
    let ask_often = || {
        let mut future = pool_std::spawn_future(async move { awaited.wait().await });
        thread::scope(|threads| {
            threads.spawn(move || pool.spawn(move || event.happen()));
        });
        (0..1000).any(|_| future.wait_timeout(Duration::from_nanos(1)))
    };
    assert!(pool.install(ask_often));
}
