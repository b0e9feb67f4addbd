//! The group `join`: what a fork and its join cost.

use protocol::{Case, Unit, time};

const N: u32 = 32;
const FIB_OF_N: u64 = 2_178_309;
/// `fib(n)` makes `fib(n + 1) - 1` joins.
const JOINS: f64 = 3_524_577.0;

pub(crate) fn cases(threads: &[usize]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &threads in threads {
        let ours = pool_std::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a small pool");
        cases.push(fib32(threads, "ours", move || ours.install(|| fib_ours(N))));
        let rayon = rayon_core::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a small pool");
        cases.push(fib32(threads, "rayon-core", move || {
            rayon.install(|| fib_rayon(N))
        }));
    }
    cases.push(fib32(1, "sequential", || fib_plain(N)));
    cases
}

fn fib32(threads: usize, system: &str, fib: impl Fn() -> u64 + 'static) -> Case {
    Case::new(
        "join",
        "fib32",
        threads,
        system,
        Unit::Nanoseconds,
        move || {
            let time = time(|| assert_eq!(fib(), FIB_OF_N));
            Unit::Nanoseconds.of(time) / JOINS
        },
    )
}

macro_rules! fib {
    ($name:ident, $pool:ident) => {
        fn $name(n: u32) -> u64 {
            if n < 2 {
                return u64::from(n);
            }
            let (a, b) = $pool::join(|| $name(n - 1), || $name(n - 2));
            a + b
        }
    };
}

fib!(fib_ours, pool_std);
fib!(fib_rayon, rayon_core);

fn fib_plain(n: u32) -> u64 {
    if n < 2 {
        u64::from(n)
    } else {
        fib_plain(n - 1) + fib_plain(std::hint::black_box(n - 2))
    }
}
