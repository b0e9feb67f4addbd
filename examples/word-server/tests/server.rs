//! The server with clients, under a runtime of one thread and of several.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

use pool_std::{ThreadPool, ThreadPoolBuilder};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    task::JoinSet,
};
use word_server::{MAX_LENGTH, Server, words};

fn pool(num_threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build().unwrap()
}

/// A runtime of one thread, and one of two.
fn runtimes() -> [Runtime; 2] {
    let [mut one, mut two] = [
        tokio::runtime::Builder::new_current_thread(),
        tokio::runtime::Builder::new_multi_thread(),
    ];
    two.worker_threads(2);
    [&mut one, &mut two].map(|builder| builder.enable_all().build().unwrap())
}

/// Starts a server in this runtime.
async fn start(server: Arc<Server>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server.serve(listener));
    address
}

async fn ask(connection: &mut TcpStream, text: &str) -> u64 {
    connection.write_u32(text.len() as u32).await.unwrap();
    connection.write_all(text.as_bytes()).await.unwrap();
    connection.read_u64().await.unwrap()
}

fn text(words: usize) -> String {
    (0..words).map(|word| format!("w{word}\u{a0}\n")).collect()
}

#[test]
fn words_are_counted_like_the_standard_library_does() {
    let pool = pool(3);
    let one_word = "x".repeat(100_000);
    let wide = "\u{1f600}\u{2003}".repeat(30_000);
    for text in ["", " ", "a", " a b ", &one_word, &wide, &text(50_000)] {
        let counted = pool.install(|| words::count(text));
        assert_eq!(counted, text.split_whitespace().count() as u64);
    }
}

#[test]
fn many_clients_get_their_answers() {
    const CLIENTS: usize = 20;
    for runtime in runtimes() {
        runtime.block_on(async {
            let server = Server::new(pool(2), 4);
            let address = start(server.clone()).await;
            let mut clients = JoinSet::new();
            for client in 0..CLIENTS {
                clients.spawn(async move {
                    let mut connection = TcpStream::connect(address).await.unwrap();
                    for round in 0..20 {
                        let words = client * 200 + round;
                        assert_eq!(ask(&mut connection, &text(words)).await, words as u64);
                    }
                });
            }
            assert_eq!(clients.join_all().await.len(), CLIENTS);
            assert_eq!(server.permits(), 4);
        });
    }
}

#[test]
fn any_number_of_jobs_in_flight_can_be_asked_for() {
    for runtime in runtimes() {
        for max_jobs in [0, 1, usize::MAX] {
            runtime.block_on(async {
                let address = start(Server::new(pool(1), max_jobs)).await;
                let mut client = TcpStream::connect(address).await.unwrap();
                assert_eq!(ask(&mut client, "two words").await, 2);
            });
        }
    }
}

/// A worker that is held until the test lets it go.
fn hold(pool: &ThreadPool) -> mpsc::Sender<()> {
    let (begin, begun) = mpsc::channel();
    let (go_on, may_end) = mpsc::channel();
    pool.spawn(move || {
        begin.send(()).unwrap();
        may_end.recv().unwrap();
    });
    begun.recv().unwrap();
    go_on
}

/// Waits for a fact. The limit only ends a test that fails.
async fn wait_for(happened: impl Fn() -> bool) {
    let wait = async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let limit = Duration::from_secs(120);
    tokio::time::timeout(limit, wait)
        .await
        .expect("waited in vain");
}

/// The only worker is held, so that no text is counted. The runtime goes on.
#[test]
fn a_busy_pool_holds_up_no_connection_and_has_few_jobs() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let pool = pool(1);
            let go_on = hold(&pool);
            let server = Server::new(pool, 3);
            let address = start(server.clone()).await;
            let mut clients = JoinSet::new();
            for _ in 0..10 {
                clients.spawn(async move {
                    let mut connection = TcpStream::connect(address).await.unwrap();
                    ask(&mut connection, "some words").await
                });
            }
            wait_for(|| server.permits() == 0).await;
            // A client that breaks the protocol is served meanwhile: it is disconnected.
            let mut rude = TcpStream::connect(address).await.unwrap();
            rude.write_u32(MAX_LENGTH + 1).await.unwrap();
            assert!(rude.read_u64().await.is_err());
            assert_eq!(server.permits(), 0, "three jobs, and seven tasks that wait");
            go_on.send(()).unwrap();
            assert_eq!(clients.join_all().await, [2; 10]);
            assert_eq!(server.permits(), 3);
        });
    }
}

/// A client leaves while its job is queued. The job is dropped, and its permit is there again.
#[test]
fn the_job_of_a_client_that_leaves_is_aborted() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let pool = pool(1);
            let go_on = hold(&pool);
            let server = Server::new(pool, 1);
            let address = start(server.clone()).await;
            let mut leaving = TcpStream::connect(address).await.unwrap();
            leaving.write_u32(1).await.unwrap();
            leaving.write_all(b"x").await.unwrap();
            wait_for(|| server.permits() == 0).await;
            drop(leaving);
            wait_for(|| server.permits() == 1).await;
            go_on.send(()).unwrap();
            let mut next = TcpStream::connect(address).await.unwrap();
            assert_eq!(ask(&mut next, "and a next one").await, 4);
        });
    }
}

/// Silent clients are disconnected: before a text, and in the middle of one.
#[test]
fn a_silent_client_is_disconnected() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let limit = Duration::from_millis(10);
            let address = start(Server::with_max_silence(pool(1), 1, limit)).await;
            for begins in [false, true] {
                let mut silent = TcpStream::connect(address).await.unwrap();
                if begins {
                    // Fails if this thread was away for longer than the limit.
                    let _ = silent.write_all(b"\0\0\0\x02x").await;
                }
                assert!(silent.read_u64().await.is_err());
            }
        });
    }
}

/// The other direction: jobs of the pool use the runtime, which waits and wakes them.
#[test]
fn jobs_of_the_pool_await_the_runtime() {
    for runtime in runtimes() {
        let pool = Arc::new(pool(1));
        let ended = Arc::new(AtomicUsize::new(0));
        let handle = runtime.handle().clone();
        let own = pool.clone();
        let job = pool.spawn_handle({
            let ended = ended.clone();
            move || {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                own.spawn(move || {
                    ended.fetch_add(1, SeqCst);
                    sender.send(()).unwrap();
                });
                // The worker runs the other job while it waits for the runtime.
                let timer = handle.spawn(async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    receiver.await.unwrap();
                });
                pool_std::block_on(timer).unwrap();
                7
            }
        });
        // Channels need no runtime. The workers poll the future.
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let sum = pool.spawn_future(async { receiver.await.map(|number: u32| number + 1) });
        let result = runtime.block_on(async {
            sender.send(41).unwrap();
            (job.await.unwrap(), sum.await.unwrap())
        });
        assert_eq!(result, (7, Ok(42)));
        assert_eq!(ended.load(SeqCst), 1);
    }
}

/// A panic of a job is an error of the task, and the pool goes on.
#[test]
fn a_panic_of_a_job_goes_to_its_task() {
    for runtime in runtimes() {
        let pool = pool(1);
        let job = pool.spawn_handle(|| panic!("in a job"));
        let error: pool_std::JoinError = runtime.block_on(job).map(|(): ()| ()).unwrap_err();
        assert_eq!(error.to_string(), "the job panicked: in a job");
        assert_eq!(pool.install(|| 7), 7);
    }
}
