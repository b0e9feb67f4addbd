//! The virtual machine: threads with a core and a clock each, of which the one that is behind runs
//! next.
//!
//! All of them are coroutines on one real thread. Before each access to shared memory a thread may
//! give way to another one whose clock is behind, so accesses take place in the order of virtual
//! time, except that a thread may be ahead of the others by the [`Settings::quantum`]. Everything
//! is decided by the program, the settings and the seed, so a run can be repeated.

mod calls;
mod directory;
mod error;
mod part;
mod processors;
mod region;
mod settings;
mod thread;

use std::{
    cell::Cell,
    cmp::Reverse,
    collections::BinaryHeap,
    panic::Location,
    ptr::{self, NonNull},
};

use corosensei::{Coroutine, CoroutineResult, Yielder, stack::DefaultStack};
use sleep_primitives::simulate::{Access, set_hook};

use calls::give_way;
use directory::Directory;
use processors::Processors;
use thread::{STACK, State, Thread};

pub use calls::{
    begin_window, current, events, free_of_charge, now, processors, reset_traffic, shared_lines,
    sites, sleep_until, work, yield_now,
};
pub(crate) use calls::{
    forget, local, park, price_of_process_fence, process_fence, random, set_local, wake,
};
pub use directory::{Site, Traffic};
pub use error::RunError;
pub use part::{Part, Parts};
pub use region::Region;
pub use settings::Settings;

/// What the machine has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Events {
    /// Calls that woke a parked thread.
    pub unparks: u64,
    /// Process fences.
    pub process_fences: u64,
    /// How often the running thread was switched.
    pub switches: u64,
}

/// A virtual machine while it runs. Only its own threads see it, by the functions of this module.
struct Machine {
    settings: Settings,
    directory: Directory,
    threads: Vec<Thread>,
    /// The thread that runs.
    running: usize,
    /// Its clock.
    now: u64,
    /// When it gives way.
    horizon: u64,
    queue: BinaryHeap<Reverse<(u64, u32, usize)>>,
    processors: Processors,
    /// How many threads are ready, the running one and those that wait for a processor included.
    num_ready: usize,
    random: u64,
    trace: u64,
    events: Events,
    /// No access is priced.
    is_paused: bool,
}

thread_local! {
    static MACHINE: Cell<*mut Machine> = const { Cell::new(ptr::null_mut()) };
    /// A reference to the machine is in use.
    static IS_BUSY: Cell<bool> = const { Cell::new(false) };
}

/// What a run leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The virtual time at the end, in picoseconds.
    pub at: u64,
    /// A hash of all that happened, and when.
    pub trace: u64,
}

/// A program for a virtual machine: what each thread does.
pub type Body = Box<dyn FnOnce()>;

/// Runs threads to their end: workers, each on the core of its number, then other threads on cores
/// of their own in the first node. `has_jobs` says whether jobs are queued, when all workers are
/// parked.
///
/// # Errors
/// [`RunError`]: then the threads stay where they are, and their memory is never freed.
pub fn run(
    settings: Settings,
    regions: impl IntoIterator<Item = Region>,
    workers: Vec<Body>,
    others: Vec<Body>,
    has_jobs: impl Fn() -> bool,
) -> Result<Finished, RunError> {
    let num_workers = workers.len();
    let num_threads = num_workers + others.len();
    let mut directory = Directory::new(settings.costs, num_threads);
    regions
        .into_iter()
        .for_each(|region| directory.add_region(region, settings.free));
    let mut machine = Machine {
        settings,
        directory,
        threads: Vec::with_capacity(num_threads),
        running: 0,
        now: 0,
        horizon: 0,
        queue: BinaryHeap::with_capacity(num_threads),
        processors: Processors::new(settings.processors),
        num_ready: 0,
        random: settings.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
        trace: 0,
        events: Events::default(),
        is_paused: false,
    };
    for (number, body) in workers.into_iter().chain(others).enumerate() {
        let is_worker = number < num_workers;
        let node = if is_worker {
            settings.costs.node(number)
        } else {
            0
        };
        let stack = DefaultStack::new(STACK).map_err(|_| RunError::NoStack {
            threads: num_threads,
        })?;
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            with(|machine| machine.threads[number].yielder = yielder);
            body();
        });
        machine.threads.push(Thread {
            coroutine: Some(coroutine),
            yielder: ptr::null(),
            state: State::Parked,
            clock: 0,
            drained_at: 0,
            slice_ends: None,
            stolen: 0,
            node,
            is_worker,
            local: ptr::null(),
        });
        machine.make_ready(number, 0);
    }
    let installed = Installed::new(NonNull::from(&mut machine));
    let finished = installed.run(&has_jobs);
    drop(installed);
    finished
}

/// The machine is the one of this real thread.
struct Installed {
    machine: NonNull<Machine>,
}

impl Installed {
    fn new(machine: NonNull<Machine>) -> Self {
        assert!(
            MACHINE.get().is_null(),
            "a machine runs on this thread already"
        );
        MACHINE.set(machine.as_ptr());
        set_hook(Some(on_access));
        Self { machine }
    }

    fn with<R>(&self, body: impl FnOnce(&mut Machine) -> R) -> R {
        IS_BUSY.set(true);
        // SAFETY: the machine outlives `self`; the rest as in the function `with`.
        let result = body(unsafe { &mut *self.machine.as_ptr() });
        IS_BUSY.set(false);
        result
    }

    fn run(&self, has_jobs: &dyn Fn() -> bool) -> Result<Finished, RunError> {
        loop {
            let next = self.with(Machine::next);
            let Some((thread, is_quiet)) = next else {
                return self.end(has_jobs);
            };
            let at = self.with(|machine| machine.now);
            let limit = self.with(|machine| machine.settings.limit);
            if is_quiet && self.look(has_jobs) {
                let workers = self.with(|machine| {
                    machine
                        .threads
                        .iter()
                        .filter(|thread| thread.is_worker)
                        .count()
                });
                return Err(RunError::LostWakeUp { at, workers });
            }
            if at > limit {
                return Err(RunError::TimeOut { limit });
            }
            let mut coroutine = self
                .with(|machine| machine.threads[thread].coroutine.take())
                .expect("it has not ended");
            match coroutine.resume(()) {
                CoroutineResult::Yield(()) => {
                    self.with(|machine| machine.threads[thread].coroutine = Some(coroutine));
                }
                CoroutineResult::Return(()) => self.with(|machine| {
                    machine.threads[thread].state = State::Ended;
                    machine.num_ready -= 1;
                    machine.leave_processor(thread, machine.now);
                    machine.note(thread as u64 ^ machine.now);
                }),
            }
        }
    }

    /// No thread is in the queue any more.
    fn end(&self, has_jobs: &dyn Fn() -> bool) -> Result<Finished, RunError> {
        let (at, trace) = self.with(|machine| (machine.now, machine.trace));
        let threads: Vec<usize> = self.with(|machine| {
            let threads = machine.threads.iter().enumerate();
            threads
                .filter(|(_, thread)| thread.state != State::Ended)
                .map(|(number, _)| number)
                .collect()
        });
        if threads.is_empty() {
            return Ok(Finished { at, trace });
        }
        let workers = self.with(|machine| {
            machine
                .threads
                .iter()
                .filter(|thread| thread.is_worker)
                .count()
        });
        if self.look(has_jobs) {
            return Err(RunError::LostWakeUp { at, workers });
        }
        Err(RunError::Stuck { at, threads })
    }

    /// Looks at the program's queues, without a price.
    fn look(&self, has_jobs: &dyn Fn() -> bool) -> bool {
        self.with(|machine| machine.is_paused = true);
        let has_jobs = has_jobs();
        self.with(|machine| machine.is_paused = false);
        has_jobs
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        set_hook(None);
        MACHINE.set(ptr::null_mut());
        self.with(|machine| {
            for thread in &mut machine.threads {
                // A thread that has not ended must not be unwound: others may use its frames.
                std::mem::forget(thread.coroutine.take());
            }
        });
    }
}

impl Machine {
    /// Takes the thread that is behind from the queue. Returns it, and whether all others wait to
    /// be woken, so that only the passing of time goes on.
    fn next(&mut self) -> Option<(usize, bool)> {
        let (at, thread, is_quiet) = loop {
            let Reverse((at, _, thread)) = self.queue.pop()?;
            let is_timed = self.threads[thread].state == State::Timed;
            let is_quiet = is_timed && self.num_ready == 0;
            if is_timed {
                self.threads[thread].state = State::Ready;
                self.num_ready += 1;
            }
            if self.take_processor(thread, at) {
                break (at, thread, is_quiet);
            }
        };
        self.running = thread;
        self.now = at + std::mem::take(&mut self.threads[thread].stolen);
        self.horizon = self.next_horizon();
        self.events.switches += 1;
        self.note(at.rotate_left(13) ^ thread as u64);
        Some((thread, is_quiet))
    }

    fn next_horizon(&self) -> u64 {
        self.queue.peek().map_or(u64::MAX, |&Reverse((at, ..))| {
            at.saturating_add(self.settings.quantum)
        })
    }

    /// Adds something that happened to the trace.
    fn note(&mut self, event: u64) {
        self.trace = (self.trace.rotate_left(5) ^ event).wrapping_mul(0x517C_C1B7_2722_0A95);
    }

    /// Returns a random number (xorshift64*).
    fn random(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn push(&mut self, thread: usize, at: u64) {
        self.threads[thread].clock = at;
        let tie = (self.random() >> 32) as u32;
        self.queue.push(Reverse((at, tie, thread)));
        self.horizon = self.horizon.min(at.saturating_add(self.settings.quantum));
    }

    /// Lets a thread that is parked run at a time.
    fn make_ready(&mut self, thread: usize, at: u64) {
        self.threads[thread].state = State::Ready;
        self.num_ready += 1;
        self.push(thread, at);
    }

    #[inline]
    fn charge(&mut self, access: Access, address: usize, site: Site) {
        let costs = &self.settings.costs;
        let thread = &mut self.threads[self.running];
        match access {
            Access::Fence => self.now = self.now.max(thread.drained_at) + costs.fence,
            Access::Spin => self.now += costs.spin,
            _ => {
                let price = self.directory.access(
                    self.running as u16,
                    thread.node,
                    access,
                    address,
                    site,
                    self.now,
                    thread.drained_at,
                );
                thread.drained_at = price.drained_at;
                self.now = price.now;
                if let Some(line) = price.missed {
                    self.note(u64::from(line) ^ (self.now << 20));
                }
            }
        }
    }
}

/// Calls a closure with the machine of this real thread. The closure must not run anything else.
#[inline]
fn with<R>(body: impl FnOnce(&mut Machine) -> R) -> R {
    let machine = MACHINE.get();
    assert!(
        !machine.is_null(),
        "only threads of a virtual machine call this"
    );
    IS_BUSY.set(true);
    // SAFETY: the pointer is set while the machine lives. No reference to it lasts while a
    // coroutine or a closure runs, as the closures that are passed here and to
    // `Installed::with` run nothing else, and the allocator, which they may call, leaves the
    // machine alone meanwhile.
    let result = body(unsafe { &mut *machine });
    IS_BUSY.set(false);
    result
}

/// The hook: gives way if another thread is behind, and then pays for the access.
fn on_access(access: Access, address: usize, site: &'static Location<'static>) {
    let is_paid = with(|machine| {
        let is_first = machine.now <= machine.horizon;
        if is_first && !machine.is_paused {
            machine.charge(access, address, site);
        }
        is_first || machine.is_paused
    });
    if !is_paid {
        give_way();
        with(|machine| machine.charge(access, address, site));
    }
}

#[cfg(test)]
mod tests;
