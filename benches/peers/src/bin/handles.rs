//! Recursive fib with a job at every level that has a handle, which is joined, on the calling
//! thread alone. A program of its own: what code stands beside the joins and spawns of `joins`
//! changes how they are compiled.
//!
//! ```sh
//! handles handle|future|scoped N
//! ```

use std::hint::black_box;

use pool_std::Scope;

/// Runs the program with jobs that are spawned in one way.
macro_rules! fib_with {
    ($n:expr, |$job:ident| $spawn:expr) => {{
        fn fib(n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let $job = move || fib(n - 2);
            let handle = $spawn;
            fib(n - 1) + handle.join().expect("no job panics")
        }
        pool().install(|| fib($n))
    }};
}

/// The same program with jobs of one scope.
fn fib_in<'scope>(scope: &Scope<'scope>, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let handle = pool_std::spawn_handle_in(scope, move |scope| fib_in(scope, n - 2));
    fib_in(scope, n - 1) + handle.join().expect("no job panics")
}

/// Returns a pool of the calling thread alone.
fn pool() -> pool_std::ThreadPool {
    let builder = pool_std::ThreadPoolBuilder::new();
    let pool = builder.num_threads(1).use_current_thread().build();
    pool.expect("a small pool")
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().expect("a kind of job");
    let n = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .expect("a number");
    let result = match &*kind {
        "handle" => fib_with!(n, |job| pool_std::spawn_handle(job)),
        "future" => fib_with!(n, |job| pool_std::spawn_future(async move { job() })),
        "scoped" => pool().scope(|scope| fib_in(scope, n)),
        other => panic!("no kind `{other}`"),
    };
    black_box(result);
}
