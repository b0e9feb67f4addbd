//! The scheduler: a run queue per core, cores that take tasks from others, and cores that sleep
//! while there is nothing to do.
//!
//! The kernel owns tasks and queues; [`Jec`] decides when a core sleeps and which one wakes.

use core::sync::atomic::{AtomicUsize, Ordering};

use heapless::Deque;
use sleep_core::{CoreLatch, IdlePolicy, Inline, Jec, NewJobs, Purpose, SleepProtocol as _, Slot};
use spin::Mutex;

use crate::{
    cores::{CORES, this_core},
    interrupts::masked,
    parker::Halt,
};

/// Something to do once, on any core.
#[derive(Clone, Copy)]
pub struct Task {
    pub run: fn(Argument),
    pub argument: Argument,
}

pub type Argument = (u32, u32);

/// The tasks of one core, oldest first. Handlers queue tasks, too, so the lock is taken with
/// interrupts masked: otherwise a handler could wait forever for the code that it interrupted.
struct RunQueue {
    tasks: Mutex<Deque<Task, 64>>,
    /// The number of tasks that this core ran, its own and those that it took.
    run: AtomicUsize,
}

impl RunQueue {
    /// Queues a task. Returns whether the queue was empty, or the task if there is no room.
    fn push(&self, task: Task) -> Result<bool, Task> {
        masked(|| {
            let mut tasks = self.tasks.lock();
            let was_empty = tasks.is_empty();
            tasks.push_back(task).map(|()| was_empty)
        })
    }

    fn pop(&self) -> Option<Task> {
        masked(|| self.tasks.lock().pop_front())
    }

    fn is_empty(&self) -> bool {
        masked(|| self.tasks.lock().is_empty())
    }
}

static QUEUES: [RunQueue; CORES] = [const {
    RunQueue {
        tasks: Mutex::new(Deque::new()),
        run: AtomicUsize::new(0),
    }
}; CORES];

static SLEEP: Jec<Inline<Slot<Halt>, CORES>> = Jec::from_array(
    [
        Slot::new(Halt::on(0)),
        Slot::new(Halt::on(1)),
        Slot::new(Halt::on(2)),
        Slot::new(Halt::on(3)),
    ],
    IdlePolicy::DEFAULT,
);

/// Runs tasks on a core forever: its own tasks first, then those of others. Sleeps if there is
/// none.
pub fn run(core: usize) -> ! {
    loop {
        let task = QUEUES[core].pop().unwrap_or_else(|| look_for_task(core));
        QUEUES[core].run.fetch_add(1, Ordering::Relaxed);
        (task.run)(task.argument);
    }
}

/// Searches for a task, and sleeps while there is none: the idle loop.
#[cold]
fn look_for_task(core: usize) -> Task {
    let worker = SLEEP.worker(core).expect("a slot for each core");
    // This latch is never set: a core waits for tasks and for nothing else. A kernel that takes
    // cores offline has a static `StopLatch` for each core, at which this loop looks, too.
    let offline = CoreLatch::new();
    let mut idle = SLEEP.start_looking(worker, Purpose::Job);
    loop {
        if let Some(task) = take_any(core) {
            // A core that queued tasks meanwhile may have counted on this core, and woken none.
            SLEEP.work_found(idle, has_work);
            return task;
        }
        // Returns for a few more searches; then sleeps until a core announces a task.
        SLEEP.no_work_found(&mut idle, &offline, has_work);
    }
}

/// Takes the next task of this core, or else one of another core.
fn take_any(core: usize) -> Option<Task> {
    (0..CORES).find_map(|distance| QUEUES[(core + distance) % CORES].pop())
}

/// Whether there is a task anywhere. `Jec` asks this last before a core sleeps, so no queue may be
/// left out.
fn has_work() -> bool {
    QUEUES.iter().any(|queue| !queue.is_empty())
}

/// Queues a task, from a task. Returns it if there is no room.
pub fn spawn(task: Task) -> Result<(), Task> {
    let was_empty = QUEUES[this_core()].push(task)?;
    // This needs no fence: in a rare race, a sleeping core overlooks this task, but this core does
    // not. It looks at its queue when its current task returns.
    SLEEP.announce(NewJobs::internal(1, || was_empty));
    Ok(())
}

/// Queues a task, from an interrupt handler: this core may be asleep, or about to sleep. Returns
/// the task if there is no room.
pub fn spawn_from_interrupt(task: Task) -> Result<(), Task> {
    let was_empty = QUEUES[this_core()].push(task)?;
    // This executes a fence, so no core overlooks this task. If this core was asleep, it may be the
    // core that is woken.
    SLEEP.announce(NewJobs::injected(1, was_empty));
    Ok(())
}

/// Returns the number of tasks that a core ran, and the number of times that it slept.
pub fn statistics(core: usize) -> (usize, usize) {
    let tasks = QUEUES[core].run.load(Ordering::Relaxed);
    (tasks, SLEEP.slots()[core].parker().halts())
}
