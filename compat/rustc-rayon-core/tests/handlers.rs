//! The handlers of threads that begin and cease to run, with a jobserver of one token.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use rayon_core::{ThreadBuilder, ThreadPoolBuilder, join, scope};

/// The tokens of a jobserver that are free.
struct Tokens {
    free: Mutex<usize>,
    returned: Condvar,
}

impl Tokens {
    /// Creates a jobserver with no token but the one that the calling thread holds.
    fn held_by_this_thread() -> Arc<Self> {
        Arc::new(Self {
            free: Mutex::new(0),
            returned: Condvar::new(),
        })
    }

    fn acquire(&self) {
        let free = self.free.lock().unwrap();
        let mut free = self.returned.wait_while(free, |free| *free == 0).unwrap();
        *free -= 1;
    }

    fn release(&self) {
        *self.free.lock().unwrap() += 1;
        self.returned.notify_one();
    }

    /// Returns the settings of a pool whose threads hold tokens while they run.
    fn builder(self: &Arc<Self>) -> ThreadPoolBuilder {
        let (acquiring, releasing) = (self.clone(), self.clone());
        ThreadPoolBuilder::new()
            .num_threads(3)
            .acquire_thread_handler(move || acquiring.acquire())
            .release_thread_handler(move || releasing.release())
    }

    fn free(&self) -> usize {
        *self.free.lock().unwrap()
    }
}

/// Counts the threads in it, of which there may be only one.
fn alone(inside: &AtomicUsize) {
    assert_eq!(inside.fetch_add(1, SeqCst), 0);
    thread::yield_now();
    inside.fetch_sub(1, SeqCst);
}

// Without a token of the caller, no worker would begin; and they would not end.
#[test]
fn the_callers_token_goes_to_the_worker() {
    let tokens = Tokens::held_by_this_thread();
    let inside = AtomicUsize::new(0);
    let result = tokens.builder().build_scoped(
        |thread| thread.run(),
        |pool| {
            for _ in 0..20 {
                pool.install(|| {
                    join(|| alone(&inside), || alone(&inside));
                    scope(|scope| {
                        for _ in 0..10 {
                            scope.spawn(|_| alone(&inside));
                        }
                    });
                });
                // This thread has its token again.
                alone(&inside);
            }
            "done"
        },
    );
    assert_eq!(result.unwrap(), "done");
    assert_eq!(tokens.free(), 0, "this thread holds its token");
}

#[test]
fn a_panic_leaves_the_caller_its_token() {
    let tokens = Tokens::held_by_this_thread();
    let panicking = || {
        let scoped = tokens.builder().build_scoped(
            |thread| thread.run(),
            |pool| pool.install(|| panic!("on purpose")),
        );
        scoped.unwrap()
    };
    assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
    assert_eq!(tokens.free(), 0, "this thread holds its token");
}

/// Reproduces a bug: the threads that had started waited for the caller's token, and the caller for
/// them.
#[test]
fn a_build_that_fails_leaves_its_threads_the_callers_token() {
    let panicking_name = |index| match index {
        0 => String::new(),
        _ => panic!("on purpose"),
    };
    let tokens = Tokens::held_by_this_thread();
    let build = || {
        let builder = tokens.builder().thread_name(panicking_name);
        builder.build_scoped(|thread| thread.run(), |_| ())
    };
    assert!(catch_unwind(AssertUnwindSafe(build)).is_err());
    assert_eq!(tokens.free(), 0, "this thread holds its token");

    // The last thread is named when the first one was dropped unrun.
    let (sender, dropped) = mpsc::channel();
    let waiting_name = move |index| {
        if index == 2 {
            dropped.recv().unwrap();
        }
        String::new()
    };
    let wrapper = |thread: ThreadBuilder| match thread.index() {
        0 => {
            drop(thread);
            sender.send(()).unwrap();
        }
        _ => thread.run(),
    };
    let builder = tokens.builder().thread_name(waiting_name);
    assert!(builder.build_scoped(wrapper, |_| ()).is_err());
    assert_eq!(tokens.free(), 0, "this thread holds its token");
}

#[test]
fn the_threads_of_a_scoped_pool_have_ended() {
    let ran = AtomicUsize::new(0);
    let scoped = ThreadPoolBuilder::new().num_threads(2).build_scoped(
        |thread| {
            thread.run();
            ran.fetch_add(1, SeqCst);
        },
        |pool| pool.current_num_threads(),
    );
    assert_eq!(scoped.unwrap(), 2);
    assert_eq!(ran.into_inner(), 2);
}

#[test]
fn the_builder_shows_which_handlers_are_set() {
    let shown = format!("{:?}", ThreadPoolBuilder::new().deadlock_handler(|| ()));
    for part in [
        "deadlock_handler: Some(<closure>)",
        "acquire_thread_handler: None",
        "release_thread_handler: None",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}
