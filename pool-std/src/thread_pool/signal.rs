//! A signal that prints what the workers of all pools do, for programs that hang.

use std::{ffi::c_int, fmt::Write as _, io, thread};

use signal_hook::iterator::Signals;

use crate::{
    blocking::state::state_of, fork::PerProcess, metrics::metrics_of, panics::print_error,
    sync::OnceLock, thread_pool::pools,
};

/// Lets the signal print what the workers of all pools do. In a child of `fork`, which does not
/// have the thread that prints, begins anew.
pub(crate) fn listen_once(signal: c_int) {
    static IS_LISTENING: PerProcess<OnceLock<()>> = PerProcess::new();

    IS_LISTENING.here().get_or_init(|| {
        if let Err(error) = listen(signal) {
            print_error(&format!(
                "pool-std: the signal will not print the state of pools: {error}\n"
            ));
        }
    });
}

/// Starts the thread that prints.
fn listen(signal: c_int) -> io::Result<()> {
    let mut signals = Signals::new([signal])?;
    let thread = thread::Builder::new().name("pool-std-signal".to_owned());
    thread.spawn(move || {
        for _ in signals.forever() {
            print_error(&report());
        }
    })?;
    Ok(())
}

/// Returns the tables of all pools.
fn report() -> String {
    let mut text = String::new();
    for (number, registry) in pools::all() {
        let state = state_of(&registry);
        let workers = registry.num_workers();
        let jobs_run = metrics_of(&registry).sum().jobs_run;
        // Writing to a string does not fail.
        _ = writeln!(
            text,
            "pool {number}: {workers} workers, {jobs_run} jobs run\n{state}"
        );
    }
    text
}
