//! A signal that prints what the workers of all pools do, for programs that hang.

use std::{
    ffi::c_int,
    fmt::Write as _,
    io::{self, Write as _},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    thread,
};

use pool_core::Counts;
use signal_hook::iterator::Signals;

use crate::{blocking::state::state_of, platform::Registry};

/// All pools that were built since the environment has named a signal, but for those that are gone.
static POOLS: Mutex<Vec<Weak<Registry>>> = Mutex::new(Vec::new());

fn pools() -> MutexGuard<'static, Vec<Weak<Registry>>> {
    // Nothing is half-changed when a panic passes here.
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the signal print what the workers of a pool do, too.
pub(crate) fn watch(registry: &Arc<Registry>, signal: c_int) {
    static IS_LISTENING: OnceLock<()> = OnceLock::new();

    let mut pools = pools();
    pools.retain(|pool| pool.strong_count() > 0);
    pools.push(Arc::downgrade(registry));
    drop(pools);
    IS_LISTENING.get_or_init(|| {
        if let Err(error) = listen(signal) {
            eprintln!("pool-std: the signal will not print the state of pools: {error}");
        }
    });
}

/// Starts the thread that prints.
fn listen(signal: c_int) -> io::Result<()> {
    let mut signals = Signals::new([signal])?;
    let thread = thread::Builder::new().name("pool-std-signal".to_owned());
    thread.spawn(move || {
        for _ in signals.forever() {
            // A thread that cannot print has no other way to say so.
            _ = io::stderr().write_all(report().as_bytes());
        }
    })?;
    Ok(())
}

/// Returns the tables of all pools.
fn report() -> String {
    let pools: Vec<_> = pools().iter().filter_map(Weak::upgrade).collect();
    let mut text = String::new();
    for (number, registry) in (1..).zip(pools) {
        let state = state_of(&registry);
        let workers = registry.num_workers();
        let counts = registry.metrics(|of| (0..workers).map(of).collect::<Vec<_>>());
        let Counts { jobs_run, .. } = counts.sum();
        // Writing to a string does not fail.
        _ = writeln!(
            text,
            "pool {number}: {workers} workers, {jobs_run} jobs run\n{state}"
        );
    }
    text
}
