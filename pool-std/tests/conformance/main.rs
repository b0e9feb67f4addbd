//! One suite for every sleep protocol on every parker: workers fall asleep and are woken in each
//! way that a pool knows. A lost wake-up makes a test hang, which the watchdog turns into a failure
//! that names it.
//!
//! In each cycle a pool whose workers all sleep is woken. As many more calls follow that do not
//! wait until the workers sleep, so that they come in the middle. So a cycle wakes several workers.
//! [Short](cycles::short) cycles follow, until so many workers were woken as `SLEEP_CYCLES` says,
//! for each protocol, parker and idle policy; the default suits a quick run. The suite prints how
//! many were woken. `SLEEP_PROCESSOR` [pins](cycles::pinned) all workers to a processor.

mod cycles;

use std::{
    collections::HashSet,
    sync::{Condvar, Mutex},
};

use cycles::conforms;
use pool_std::{
    ParkerKind, SleepKind, ThreadPoolBuilder,
    driver::{Driver, WorkerParker},
};

/// Whether the pools have metrics.
const HAS_METRICS: bool = cfg!(feature = "metrics");

fn condvar(builder: ThreadPoolBuilder) -> ThreadPoolBuilder {
    builder.parker(ParkerKind::Condvar)
}

fn futex(builder: ThreadPoolBuilder) -> ThreadPoolBuilder {
    builder.parker(ParkerKind::Futex)
}

/// A parker of another crate, which carries no hints.
#[derive(Default)]
struct Token {
    is_there: Mutex<bool>,
    available: Condvar,
}

impl WorkerParker for Token {
    fn park(&self) {
        let token = self.is_there.lock().unwrap();
        // Liveness: `unpark` changes the token under the mutex, and notifies after that.
        *self.available.wait_while(token, |token| !*token).unwrap() = false;
    }

    fn unpark(&self) {
        *self.is_there.lock().unwrap() = true;
        self.available.notify_one();
    }
}

struct Tokens;

impl Driver for Tokens {
    fn parker(&self, _worker: usize) -> Option<Box<dyn WorkerParker>> {
        Some(Box::new(Token::default()))
    }
}

fn driver(builder: ThreadPoolBuilder) -> ThreadPoolBuilder {
    builder.driver(|_workers| Ok(Tokens))
}

macro_rules! suite {
    ($($name:ident: $kind:ident, $choose:ident;)*) => {
        $(
            #[test]
            fn $name() {
                conforms(stringify!($name), SleepKind::$kind, $choose);
            }
        )*

        #[test]
        fn the_suite_has_every_protocol() {
            let tested = HashSet::from([$(SleepKind::$kind),*]);
            assert!(SleepKind::ALL.iter().all(|kind| tested.contains(kind)));
        }
    };
}

suite! {
    jec_condvar: Jec, condvar;
    jec_futex: Jec, futex;
    jec_driver: Jec, driver;
    sockets_condvar: Sockets, condvar;
    sockets_futex: Sockets, futex;
    sockets_driver: Sockets, driver;
    classic_condvar: Classic, condvar;
    classic_futex: Classic, futex;
    classic_driver: Classic, driver;
    hints_condvar: Hints, condvar;
    hints_futex: Hints, futex;
    hints_driver: Hints, driver;
}
