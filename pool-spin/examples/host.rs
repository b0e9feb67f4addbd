//! A board's program on a computer: threads take the place of cores.
//!
//! The first core boots the pool and renders an image by joins. A device interrupts it meanwhile;
//! the handler spawns a task, which runs on any core. On a board, `Host` is a type of its own, and
//! the rest stays as it is.
//!
//! ```sh
//! cargo run -p pool-spin --features host --example host
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use pool_spin::{Cores, SpinPool, Task, Worker, host, host::Host};

const CORES: usize = 3;
const WIDTH: usize = 64;
const HEIGHT: usize = 32;

type Chip = Cores<Host, CORES, 64>;

static POOL: SpinPool<Chip> = SpinPool::new();
/// What a device has received and no core has seen.
static RECEIVED: AtomicU32 = AtomicU32::new(0);
static SEEN: AtomicU32 = AtomicU32::new(0);
/// A task has room of its own, so that a handler needs none.
static RECEIVE: Task<Chip> = Task::new(|_core| {
    let packets = RECEIVED.swap(0, Ordering::Relaxed);
    SEEN.fetch_add(packets, Ordering::Relaxed);
});

/// The handler of the device's interrupt.
fn interrupt() {
    RECEIVED.fetch_add(1, Ordering::Relaxed);
    // A task that is spawned and has not begun will see this packet, too.
    let _ = POOL.spawn_task(&RECEIVE);
}

/// Renders rows of the Mandelbrot set, half of them on another core.
fn render(core: Worker<Chip>, first: usize, image: &mut [[u8; WIDTH]]) {
    if let [row] = image {
        for (column, pixel) in row.iter_mut().enumerate() {
            *pixel = brightness(column, first);
        }
        return;
    }
    let middle = image.len() / 2;
    let (upper, lower) = image.split_at_mut(middle);
    core.join(
        |core| render(core, first, upper),
        |core| render(core, first + middle, lower),
    );
}

/// How many steps a point takes to leave, in whole numbers: many cores have no others.
fn brightness(column: usize, row: usize) -> u8 {
    const ONE: i64 = 1 << 16;
    let (column, row) = (column as i64, row as i64);
    let (x, y) = (column * 3 * ONE / 64 - 2 * ONE, row * 2 * ONE / 32 - ONE);
    let (mut a, mut b) = (0, 0);
    for step in 0..=u8::MAX {
        if (a * a + b * b) / ONE > 4 * ONE {
            return step;
        }
        (a, b) = ((a * a - b * b) / ONE + x, 2 * a * b / ONE + y);
    }
    u8::MAX
}

fn main() {
    let mut image = [[0; WIDTH]; HEIGHT];
    host::with_workers(&POOL, || {
        POOL.install(|core| {
            interrupt();
            render(core, 0, &mut image);
            interrupt();
        });
    });
    for row in &image {
        let pixel = |&steps: &u8| b" .:-=+*#%@"[usize::from(steps.min(9))] as char;
        println!("{}", row.iter().map(pixel).collect::<String>());
    }
    assert_eq!(image[HEIGHT / 2][0], brightness(0, HEIGHT / 2));
    assert_eq!(image[HEIGHT / 2][WIDTH / 2], u8::MAX, "it is in the set");
    // The pool has ended, and with it all that was spawned.
    assert_eq!(SEEN.load(Ordering::Relaxed), 2);
    println!("{CORES} cores, 2 packets");
}
