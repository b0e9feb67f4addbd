//! embassy's executor on the first core of an RP2350, and the pool's worker on the second one.
#![no_std]
#![no_main]

mod chip;
mod request;

use core::panic::PanicInfo;

use cortex_m::peripheral::SCB;
use cortex_m_rt::entry;
use embassy_executor::{Executor, Spawner};
use embassy_rp::multicore::{self, Stack};
use embassy_time::Timer;
use pool_spin::{Cores, SpinPool};
use static_cell::{ConstStaticCell, StaticCell};

use crate::{chip::Rp2350, request::Request};

/// Workers: the second core alone. The first one belongs to the executor, which must not block.
const WORKERS: usize = 1;
/// The room for jobs that wait.
const JOBS: usize = 16;

static POOL: SpinPool<Cores<Rp2350, WORKERS, JOBS>> = SpinPool::new();

#[entry]
fn main() -> ! {
    static STACK: ConstStaticCell<Stack<{ 32 << 10 }>> = ConstStaticCell::new(Stack::new());
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();

    let peripherals = embassy_rp::init(embassy_rp::config::Config::default());
    multicore::spawn_core1(peripherals.CORE1, STACK.take(), || {
        let result = POOL.run_worker(0);
        panic!("the worker has returned: {result:?}");
    });
    let executor = EXECUTOR.init(Executor::new());
    executor.run(|spawner: Spawner| {
        spawner.spawn(measure().expect("it is spawned once"));
    })
}

/// A task that gives the second core work that would otherwise delay other tasks for a long time.
#[embassy_executor::task]
async fn measure() {
    static SAMPLES: Request<u32> = Request::new();

    loop {
        // Other tasks run meanwhile. The second core sleeps when there is nothing to do.
        let sum = SAMPLES.run(|core| {
            let half = |from: u32| (from..from + 100_000).fold(0_u32, u32::wrapping_add);
            let (low, high) = core.join(|_| half(0), |_| half(100_000));
            low.wrapping_add(high)
        });
        if let Ok(sum) = sum.await {
            core::hint::black_box(sum);
        }
        Timer::after_millis(100).await;
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // Restarts both cores: without its worker, no request would be answered.
    SCB::sys_reset()
}
