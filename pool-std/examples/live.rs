//! A program to look at while it runs, for a minute: one worker waits for a message most of the
//! time, and the others sum, in bursts.
//!
//! ```sh
//! cargo run --release -p pool-std --example live --features live &
//! cargo xtask top
//! ```

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use pool_std::{ThreadPoolBuilder, live};

const LENGTH: Duration = Duration::from_secs(60);
const MESSAGES: Duration = Duration::from_secs(5);
const BURST: Duration = Duration::from_millis(400);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let socket = live::serve()?;
    println!("{}", socket.display());
    let pool = ThreadPoolBuilder::new().num_threads(4).build()?;
    let (sender, receiver) = mpsc::channel();
    pool.spawn(move || receive(&receiver));

    let start = Instant::now();
    while start.elapsed() < LENGTH {
        sender.send(())?;
        let round = Instant::now();
        while round.elapsed() < MESSAGES {
            let burst = Instant::now();
            while burst.elapsed() < BURST {
                pool.scope(|scope| (0..100).for_each(|_| scope.spawn(|_| _ = sum(1, 200_000))));
            }
            thread::sleep(BURST);
        }
    }
    drop(sender);
    Ok(pool.shutdown()?)
}

/// Waits for messages until there is no sender.
fn receive(messages: &mpsc::Receiver<()>) {
    while pool_std::blocking("a message", |_| messages.recv()).is_ok() {}
}

/// Sums the numbers of a range, on several workers if it is long.
fn sum(first: u64, last: u64) -> u64 {
    if last - first < 1_000 {
        return (first..=last).sum();
    }
    let middle = first.midpoint(last);
    let (a, b) = pool_std::join(|| sum(first, middle), || sum(middle + 1, last));
    a + b
}
