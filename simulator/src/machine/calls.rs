//! What a thread of the machine calls.

use super::{Events, Machine, Site, State, Traffic, with};
use super::{IS_BUSY, MACHINE};

/// Lets the threads run that are behind.
pub(super) fn give_way() {
    with(|machine| machine.push(machine.running, machine.now));
    suspend();
}

/// Returns to the loop, which resumes this thread when it is its turn.
fn suspend() {
    let yielder = with(|machine| machine.threads[machine.running].yielder);
    // SAFETY: the yielder is on the stack of the running thread, which lives while the thread does.
    unsafe { (*yielder).suspend(()) };
}

/// Returns the clock of the running thread, in picoseconds.
#[must_use]
pub fn now() -> u64 {
    with(|machine| machine.now)
}

/// Returns the number of the running thread. Workers come first.
#[must_use]
pub fn current() -> usize {
    with(|machine| machine.running)
}

/// Computes for some time, in picoseconds.
pub fn work(time: u64) {
    with(|machine| machine.now += time);
    give_way();
}

/// Waits until a moment, in picoseconds.
pub fn sleep_until(at: u64) {
    with(|machine| {
        let thread = machine.running;
        machine.threads[thread].state = State::Timed;
        machine.num_ready -= 1;
        let at = at.max(machine.now);
        machine.leave_processor(thread, machine.now);
        machine.push(thread, at);
    });
    suspend();
}

/// Gives the rest of the time slice to other threads, if some wait for a processor.
pub fn yield_now() {
    let yields = with(|machine| {
        machine.now += machine.settings.costs.yield_now;
        let are_wanted = machine.processors.are_wanted();
        if are_wanted {
            machine.give_turn();
        }
        are_wanted
    });
    if yields {
        suspend();
    } else {
        give_way();
    }
}

/// Returns how many threads run at a time.
#[must_use]
pub fn processors() -> usize {
    with(|machine| machine.settings.processors)
}

/// Waits until another thread calls [`wake`]. The caller has seen to it that one will.
pub(crate) fn park() {
    with(|machine| {
        let thread = machine.running;
        machine.threads[thread].state = State::Parked;
        // A thread that is woken while it goes to sleep comes back when it has gone.
        machine.threads[thread].clock = machine.now + machine.settings.costs.park;
        machine.num_ready -= 1;
        machine.leave_processor(thread, machine.now);
    });
    suspend();
}

/// Wakes a thread that is parked.
pub(crate) fn wake(thread: usize) {
    with(|machine| {
        let costs = machine.settings.costs;
        machine.events.unparks += 1;
        if machine.threads[thread].state == State::Parked {
            // From nine to eleven tenths.
            let share = 900 + machine.random() % 201;
            let (from, to) = (
                machine.threads[machine.running].node,
                machine.threads[thread].node,
            );
            let latency = costs.wake * share / 1_000 + costs.transfer(from, to);
            let at = (machine.now + latency).max(machine.threads[thread].clock);
            machine.make_ready(thread, at);
        }
        machine.now += costs.unpark;
    });
}

/// Executes a fence for all threads of the process.
pub(crate) fn process_fence() {
    with(|machine| {
        let costs = machine.settings.costs;
        machine.events.process_fences += 1;
        let mut running = 0;
        for (number, thread) in machine.threads.iter_mut().enumerate() {
            if thread.state == State::Ready && number != machine.running {
                thread.stolen += costs.interrupt;
                running += 1;
            }
        }
        let thread = &machine.threads[machine.running];
        machine.now = machine.now.max(thread.drained_at)
            + costs.process_fence
            + running * costs.interrupt_sent;
    });
    give_way();
}

/// Returns how many plain fences cost as much as a process fence.
pub(crate) fn price_of_process_fence() -> u32 {
    let costs = with(|machine| machine.settings.costs);
    u32::try_from(costs.process_fence / costs.fence.max(1)).unwrap_or(u32::MAX)
}

/// Returns what the platform keeps for the running thread.
pub(crate) fn local() -> *const () {
    with(|machine| machine.threads[machine.running].local)
}

/// Sets what the platform keeps for the running thread.
pub(crate) fn set_local(local: *const ()) {
    with(|machine| {
        let thread = machine.running;
        machine.threads[thread].local = local;
    });
}

/// Returns a random number of the machine.
pub(crate) fn random() -> u64 {
    with(Machine::random)
}

/// Calls a closure whose accesses cost nothing and let no other thread run.
pub fn free_of_charge<R>(body: impl FnOnce() -> R) -> R {
    with(|machine| machine.is_paused = true);
    let result = body();
    with(|machine| machine.is_paused = false);
    result
}

/// Begins a new window. Returns how many lines that several cores use were touched in the last one.
pub fn begin_window() -> u64 {
    with(|machine| machine.directory.begin_window())
}

/// Forgets the traffic so far.
pub fn reset_traffic() {
    with(|machine| machine.directory.reset_traffic());
}

/// Returns what the machine has counted so far.
#[must_use]
pub fn events() -> Events {
    with(|machine| machine.events)
}

/// Returns the traffic of each line of the source.
#[must_use]
pub fn sites() -> Vec<(Site, Traffic)> {
    with(|machine| machine.directory.sites().collect())
}

/// Returns the name and the traffic of each shared line, and which line of the source missed it
/// last.
#[must_use]
pub fn shared_lines() -> Vec<(String, Traffic, Option<Site>)> {
    with(|machine| machine.directory.shared_lines().collect())
}

/// Forgets memory that is freed. Does nothing on a thread without a machine.
pub(crate) fn forget(address: usize, size: usize) {
    // What the machine itself frees has no lines.
    let is_idle = IS_BUSY.try_with(|is_busy| !is_busy.get()) == Ok(true);
    if is_idle && MACHINE.try_with(|machine| !machine.get().is_null()) == Ok(true) {
        with(|machine| machine.directory.forget(address, size));
    }
}
