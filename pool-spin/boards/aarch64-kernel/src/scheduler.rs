//! The scheduler: a run queue for each core, work taken from others, and cores that sleep while
//! there is nothing to do.
//!
//! The kernel owns tasks and queues; when to sleep and whom to wake is decided by [`Jec`].

use core::sync::atomic::{AtomicUsize, Ordering};

use heapless::Deque;
use sleep_core::{CoreLatch, IdlePolicy, Jec, SleepProtocol as _, Slot};
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

/// What one core has to do, oldest first. Handlers queue tasks too, so the lock is taken with
/// interrupts masked: a handler would wait for ever for the code that it interrupted.
struct RunQueue {
    tasks: Mutex<Deque<Task, 64>>,
    /// Tasks that this core ran, its own and those that it took.
    run: AtomicUsize,
}

impl RunQueue {
    /// The task, if there is no room. Otherwise whether the queue was empty.
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

static SLEEP: Jec<Halt, [Slot<Halt>; CORES]> = Jec::from_array(
    [
        Slot::new(Halt::on(0)),
        Slot::new(Halt::on(1)),
        Slot::new(Halt::on(2)),
        Slot::new(Halt::on(3)),
    ],
    IdlePolicy::DEFAULT,
);

/// What a core does for ever: its own tasks, then others', then nothing.
pub fn run(core: usize) -> ! {
    loop {
        let task = QUEUES[core].pop().unwrap_or_else(|| look_for_task(core));
        QUEUES[core].run.fetch_add(1, Ordering::Relaxed);
        (task.run)(task.argument);
    }
}

/// The idle loop.
#[cold]
fn look_for_task(core: usize) -> Task {
    let worker = SLEEP.worker(core).expect("a slot for each core");
    // Nobody sets it: a core waits for tasks and for nothing else. A kernel that takes cores
    // offline has a static one for each, and sets that.
    let offline = CoreLatch::new();
    let mut idle = SLEEP.start_looking(worker);
    loop {
        if let Some(task) = take_any(core) {
            // Whoever queued tasks meanwhile may have counted on this core and woken nobody.
            SLEEP.work_found(idle, has_work);
            return task;
        }
        // Looks around a few times more; then sleeps, until somebody announces a task.
        SLEEP.no_work_found(&mut idle, &offline, has_work);
    }
}

/// The next task of this core, or else one of another.
fn take_any(core: usize) -> Option<Task> {
    (0..CORES).find_map(|distance| QUEUES[(core + distance) % CORES].pop())
}

/// Whether there is a task anywhere. `Jec` asks this last thing before a core sleeps, so no queue
/// may be left out.
fn has_work() -> bool {
    QUEUES.iter().any(|queue| !queue.is_empty())
}

/// Queues a task, from a task. Gives it back if there is no room.
pub fn spawn(task: Task) -> Result<(), Task> {
    let was_empty = QUEUES[this_core()].push(task)?;
    // Without a fence: in a rare race a sleeping core overlooks this task. This core does not: it
    // looks at its queue when the task that it runs returns.
    SLEEP.new_internal_jobs(1, || was_empty);
    Ok(())
}

/// Queues a task, from an interrupt handler: this core may be asleep, or about to. Gives it back if
/// there is no room.
pub fn spawn_from_interrupt(task: Task) -> Result<(), Task> {
    let was_empty = QUEUES[this_core()].push(task)?;
    // With a fence: no core overlooks this task. If this one slept, it may be the one that is woken.
    SLEEP.new_injected_jobs(1, was_empty);
    Ok(())
}

/// How many tasks a core ran, and how many times it slept.
pub fn statistics(core: usize) -> (usize, usize) {
    let tasks = QUEUES[core].run.load(Ordering::Relaxed);
    (tasks, SLEEP.slots()[core].parker().halts())
}
