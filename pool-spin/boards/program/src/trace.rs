//! The last events of each worker, on the console.

use pool_spin::{Event, WokenBy};

use crate::{Pool, board::Board, console::Console};

/// The number of events of each worker that are printed.
const SHOWN: usize = 12;

/// Prints the last events of each worker, with their times in nanoseconds.
pub(crate) fn print<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    for worker in 0..CORES {
        let kept = || pool.trace(worker).expect("there is such a worker");
        let events = kept().count();
        assert!(events > 0, "worker {worker} has kept nothing");
        Console::<B>::line(format_args!(
            "worker {worker}, its last events of {events}:"
        ));
        for event in kept().skip(events.saturating_sub(SHOWN)) {
            let (time, event) = (event.time, event.event);
            match event {
                Event::Wake(WokenBy { waker, at }) if waker > 0 => {
                    let worker = waker - 1;
                    let ago = time.saturating_sub(at);
                    Console::<B>::line(format_args!(
                        "{time:>16} Wake by worker {worker}, {ago} ns ago"
                    ));
                }
                _ => Console::<B>::line(format_args!("{time:>16} {event:?}")),
            }
        }
    }
}
