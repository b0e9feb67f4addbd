//! A pool that shares its processors with GNU make.
//!
//! `make -j4` gives each program that it starts one token, and puts three more into a pipe, the
//! jobserver. A program may run as many threads as it holds tokens. Here a worker takes a token
//! when it becomes runnable, and gives it back when it falls asleep or blocks: so idle and blocked
//! workers hold none, and other programs of the same `make` may use the processors.
//!
//! The program checks that at every step, by the number of tokens that are in the pipe. A recipe
//! that starts it begins with `+`, so that make passes the jobserver on:
//!
//! ```sh
//! cargo build -p pool-std --example make_jobserver
//! printf 'all:\n\t+@target/debug/examples/make_jobserver 4\n' | make -j4 -f -
//! ```

#[cfg(unix)]
fn main() {
    let processors = std::env::args()
        .nth(1)
        .and_then(|argument| argument.parse().ok());
    let mode = std::env::args()
        .nth(2)
        .map_or(Some(example::Mode::Alone), |word| {
            example::Mode::from_word(&word)
        });
    let (Some(processors @ 2..), Some(mode)) = (processors, mode) else {
        eprintln!(
            "usage: make_jobserver N [alone|shared], started by make -jN with N of at least 2"
        );
        std::process::exit(2);
    };
    if let Err(error) = example::run(processors, mode) {
        eprintln!("make_jobserver: {error}");
        std::process::exit(1);
    }
}

#[cfg(not(unix))]
fn main() {
    eprintln!("make_jobserver: for Unix only");
}

/// The test `jobserver` runs this too.
#[cfg(unix)]
pub(crate) mod example {
    use std::{
        error::Error,
        fmt,
        sync::{
            Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError,
            atomic::{AtomicUsize, Ordering},
        },
        thread,
        time::{Duration, Instant},
    };

    use jobserver::{Acquired, Client, HelperThread};
    use pool_std::{ThreadPool, ThreadPoolBuilder, blocking, join};

    /// Whether this is the only program that make runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Mode {
        /// All tokens must be in the pipe while no worker runs.
        Alone,
        /// Other programs may hold the tokens.
        Shared,
    }

    impl Mode {
        /// Returns the mode with this name.
        pub(crate) fn from_word(word: &str) -> Option<Self> {
            match word {
                "alone" => Some(Self::Alone),
                "shared" => Some(Self::Shared),
                _ => None,
            }
        }
    }

    /// How long the program waits for the pipe to hold what it should.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// The tokens of this process, and the threads that wait for one.
    pub(crate) struct Tokens {
        state: Mutex<State>,
        /// Another thread may run.
        changed: Condvar,
        /// Takes tokens from the pipe.
        helper: Mutex<Option<HelperThread>>,
    }

    struct State {
        /// The tokens that the process holds. The first one is the token that every program gets
        /// from make: it is in no pipe, and stays here.
        from_pipe: Vec<Acquired>,
        running: usize,
        waiting: usize,
    }

    impl fmt::Debug for Tokens {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let state = self.lock();
            f.debug_struct("Tokens")
                .field("from_pipe", &state.from_pipe.len())
                .field("running", &state.running)
                .field("waiting", &state.waiting)
                .finish_non_exhaustive()
        }
    }

    impl State {
        /// Returns how many threads may run.
        fn tokens(&self) -> usize {
            1 + self.from_pipe.len()
        }
    }

    impl Tokens {
        /// Creates the tokens of a process whose main thread runs.
        pub(crate) fn new(client: &Client) -> Result<Arc<Self>, Box<dyn Error>> {
            let state = State {
                from_pipe: Vec::new(),
                running: 1,
                waiting: 0,
            };
            let tokens = Arc::new(Self {
                state: Mutex::new(state),
                changed: Condvar::new(),
                helper: Mutex::new(None),
            });
            let receiver = Arc::downgrade(&tokens);
            let helper = client.clone().into_helper_thread(move |token| {
                let Some(tokens) = receiver.upgrade() else {
                    return;
                };
                match token {
                    Ok(token) => tokens.receive(token),
                    // Make has ended, or this is not its pipe. No token will come, and a handler
                    // that waits for one has no way to return an error.
                    Err(error) => {
                        eprintln!("make_jobserver: no token from the jobserver: {error}");
                        std::process::exit(1);
                    }
                }
            })?;
            *tokens.helper.lock().unwrap_or_else(PoisonError::into_inner) = Some(helper);
            Ok(tokens)
        }

        fn lock(&self) -> MutexGuard<'_, State> {
            self.state.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Waits until this thread may run.
        pub(crate) fn acquire(&self) {
            let mut state = self.lock();
            if state.running == state.tokens() {
                state.waiting += 1;
                if let Some(helper) = &*self.helper.lock().unwrap_or_else(PoisonError::into_inner) {
                    helper.request_token();
                }
                while state.running == state.tokens() {
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
                state.waiting -= 1;
            }
            state.running += 1;
        }

        /// Gives this thread's token to a thread that waits, or else back to make.
        pub(crate) fn release(&self) {
            let mut state = self.lock();
            state.running -= 1;
            let returned = state.take_surplus();
            drop(state);
            self.changed.notify_one();
            drop(returned);
        }

        fn receive(&self, token: Acquired) {
            let mut state = self.lock();
            state.from_pipe.push(token);
            let returned = state.take_surplus();
            drop(state);
            self.changed.notify_one();
            // The thread that asked for it has found another one.
            drop(returned);
        }
    }

    impl State {
        /// Takes out a token that no thread of this process needs.
        fn take_surplus(&mut self) -> Option<Acquired> {
            let is_needed = self.running + self.waiting >= self.tokens();
            if is_needed {
                None
            } else {
                self.from_pipe.pop()
            }
        }
    }

    /// Computes with a pool of twice as many workers as there are processors, and checks which of
    /// them hold tokens.
    pub(crate) fn run(processors: usize, mode: Mode) -> Result<(), Box<dyn Error>> {
        // SAFETY: the descriptors that make has passed on have not been used before.
        let client =
            unsafe { Client::from_env() }.ok_or("no jobserver; is this started by make -jN?")?;
        let tokens = Tokens::new(&client)?;
        let in_pipe = InPipe {
            client,
            all: processors - 1,
            mode,
        };
        let workers = 2 * processors;
        let (acquired, released) = (tokens.clone(), tokens.clone());
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .acquire_thread_handler(move || acquired.acquire())
            .release_thread_handler(move || released.release())
            .thread_handlers_for_callers()
            .build()?;

        // No worker has anything to do, and this thread has the token of the process.
        in_pipe.wait_until_full("idle workers")?;
        // The other programs may never leave as many tokens.
        if mode == Mode::Alone {
            every_processor(&pool, processors, &in_pipe)?;
        }
        in_pipe.wait_until_full("idle workers, after work")?;
        every_worker_blocked(&pool, &in_pipe)?;
        in_pipe.wait_until_full("workers that were blocked")?;
        let working = Working::default();
        let sum = pool.install(|| working.fibonacci(18));
        let most = working.most.load(Ordering::SeqCst);
        if sum != 2_584 || most > processors {
            return Err(format!("fib(18) = {sum}, by {most} workers at once").into());
        }
        pool.shutdown()?;
        in_pipe.wait_until_full("workers that have ended")?;
        println!("{workers} workers have shared {processors} tokens");
        Ok(())
    }

    /// Runs as many jobs at once as there are processors: there must be a token for each, and none
    /// left.
    fn every_processor(
        pool: &ThreadPool,
        processors: usize,
        in_pipe: &InPipe,
    ) -> Result<(), Box<dyn Error>> {
        let (arrived, checked) = (Barrier::new(processors), Barrier::new(processors));
        let left = AtomicUsize::new(0);
        pool.scope(|scope| {
            for _ in 0..processors {
                scope.spawn(|_| {
                    if arrived.wait().is_leader() {
                        left.store(in_pipe.available().unwrap_or(usize::MAX), Ordering::SeqCst);
                    }
                    checked.wait();
                });
            }
        });
        match left.into_inner() {
            0 => Ok(()),
            left => Err(format!("{left} tokens left while all processors are busy").into()),
        }
    }

    /// Blocks all workers at once, which are more than there are tokens.
    fn every_worker_blocked(pool: &ThreadPool, in_pipe: &InPipe) -> Result<(), Box<dyn Error>> {
        let may_go_on = (Mutex::new(false), Condvar::new());
        let go_on = || {
            *may_go_on.0.lock().unwrap() = true;
            may_go_on.1.notify_all();
        };
        thread::scope(|threads| {
            let checker = threads.spawn(|| {
                let all_blocked = || pool.state().blocked().count() == pool.current_num_threads();
                let result = wait_for("all workers to block", all_blocked)
                    .and_then(|()| in_pipe.wait_until_full("blocked workers"));
                go_on();
                result
            });
            let block = || {
                blocking("the check", |_| {
                    let may_go = may_go_on.0.lock().unwrap();
                    drop(may_go_on.1.wait_while(may_go, |may_go| !*may_go).unwrap());
                });
            };
            pool.scope(|scope| {
                // Each worker gets one, as none ends before all have begun.
                for _ in 0..pool.current_num_threads() {
                    scope.spawn(|_| block());
                }
            });
            checker.join().unwrap().map_err(Into::into)
        })
    }

    /// Counts the workers that compute at the same time.
    #[derive(Default)]
    struct Working {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Working {
        fn fibonacci(&self, n: u64) -> u64 {
            if n < 2 {
                let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(now, Ordering::SeqCst);
                // Lets others come in between.
                thread::yield_now();
                self.now.fetch_sub(1, Ordering::SeqCst);
                return n;
            }
            let (a, b) = join(|| self.fibonacci(n - 1), || self.fibonacci(n - 2));
            a + b
        }
    }

    /// The pipe, and how many tokens make has put into it.
    struct InPipe {
        client: Client,
        all: usize,
        mode: Mode,
    }

    impl InPipe {
        fn available(&self) -> Option<usize> {
            self.client.available().ok()
        }

        /// Waits until all tokens are in the pipe.
        fn wait_until_full(&self, holders: &str) -> Result<(), String> {
            let what = format!("all tokens to be in the pipe, which {holders} must not hold");
            wait_for(&what, || {
                self.mode == Mode::Shared || self.available() == Some(self.all)
            })
        }
    }

    fn wait_for(what: &str, happened: impl Fn() -> bool) -> Result<(), String> {
        let begin = Instant::now();
        while !happened() {
            if begin.elapsed() > PATIENCE {
                return Err(format!("waited in vain for {what}"));
            }
            thread::yield_now();
        }
        Ok(())
    }
}
