//! Random programs, each of whose traces is checked.

use std::{
    panic::{catch_unwind, resume_unwind},
    time::Duration,
};

use pool_std::{
    ThreadPool, ThreadPoolBuilder, join, scope,
    trace::{Event, SearchEnd, TimedEvent, WokenBy},
};

use super::checker::History;

const RUNS: u64 = if cfg!(miri) { 3 } else { 1_000 };
const EVENTS: usize = 20_000;

/// A small generator of numbers, so that a run repeats.
#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }

    fn fork(&mut self) -> Self {
        Self(self.0 ^ self.below(u64::MAX >> 34))
    }
}

/// Does something at random that may do more of it.
fn work(mut random: Random, depth: u32) {
    if depth == 0 {
        return;
    }
    let (first, second) = (random.fork(), random.fork());
    match random.below(7) {
        0 | 1 => {
            join(|| work(first, depth - 1), || work(second, depth - 1));
        }
        2 => scope(|scope| {
            for _ in 0..random.below(20) {
                scope.spawn(move |_| work(first, depth.saturating_sub(2)));
            }
        }),
        5 => pool_std::labeled(&"a part", || work(first, depth - 1)),
        3 => pool_std::spawn(move || work(first, depth - 1)),
        4 => _ = catch_unwind(|| join(|| work(first, depth - 1), || resume_unwind(Box::new(())))),
        _ => pool_std::isolate(|| work(first, depth - 1)),
    }
}

fn run(seed: u64) -> ThreadPool {
    let mut random = Random(seed);
    let threads = 1 + random.below(4) as usize;
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let builder = builder.guests(random.below(2) == 0);
    let pool = builder.trace(EVENTS).build().unwrap();
    for _ in 0..4 {
        let job = random.fork();
        match random.below(4) {
            0 => pool.install(|| work(job, 6)),
            3 => pool.call(|| work(job, 6)),
            1 => pool.spawn(move || work(job, 6)),
            _ => _ = pool.broadcast(|_| work(job, 3)),
        }
    }
    pool.wait_idle().unwrap();
    pool
}

#[test]
fn random_runs_leave_legal_histories() {
    let mut events = 0;
    for seed in 0..RUNS {
        let history = History::of(&run(seed));
        let checked = history
            .check()
            .and_then(|events| history.check_latches().map(|()| events));
        events += checked.unwrap_or_else(|error| {
            for (index, worker) in history.workers.iter().enumerate() {
                println!("worker {index}: {:#?}", worker.events);
            }
            panic!("seed {seed}: {error}")
        });
    }
    assert!(events as u64 > 20 * RUNS, "only {events} events");
}

/// Whether a worker is in a job after these events.
fn in_job(events: &[TimedEvent]) -> bool {
    let begun = |event: Event| match event {
        Event::Job(_) => 1,
        Event::JobEnd => -1,
        _ => 0,
    };
    events.iter().map(|it| begun(it.event)).sum::<i64>() > 0
}

/// Changes something in a history that then cannot have happened. Returns what, if there is such a
/// thing in it.
fn falsify(history: &mut History, random: &mut Random) -> Option<&'static str> {
    let worker = random.below(history.workers.len() as u64) as usize;
    let events = &mut history.workers[worker].events;
    let is_state = |event: Event| {
        use Event::{Active, Idle, Job, JobEnd, Sleep, Wake};
        matches!(event, Active(_) | Idle | Job(_) | JobEnd | Sleep | Wake(_))
    };
    let is_search = |event| matches!(event, Event::Active(_) | Event::Idle | Event::Sleep);
    let place = random.below(events.len() as u64 - 1) as usize;
    let [first, second] = [place, place + 1].map(|place| events[place].event);
    let change = random.below(11);
    match (change, first) {
        // A worker that was woken may find a job before it counts as idle.
        (0, event) if is_state(event) && !matches!(event, Event::Idle) => {
            events.remove(place);
            Some("removed")
        }
        (1, event) if is_state(event) => {
            events.insert(place, events[place]);
            Some("repeated")
        }
        (2, event)
            if is_state(event) && is_state(second) && is_search(event) != is_search(second) =>
        {
            events[place].event = second;
            events[place + 1].event = first;
            Some("exchanged")
        }
        (3, Event::Steal { .. }) => {
            events[place].event = Event::Steal { victim: worker };
            Some("the thief is the victim")
        }
        (4, Event::Wake(by)) => {
            let waker = u32::MAX;
            events[place].event = Event::Wake(WokenBy { waker, ..by });
            Some("an unknown waker")
        }
        (5, _) if events[place].time > Duration::ZERO => {
            events[place + 1].time = events[place].time - Duration::from_nanos(1);
            Some("a time before")
        }
        // The waiter's first wait has ended too early.
        (6, Event::LatchSet { waiter }) => {
            let workers = &mut history.workers;
            let is_set =
                |event: Event| matches!(event, Event::LatchSet { waiter: it } if it == waiter);
            for worker in &mut *workers {
                worker.events.retain(|it| !is_set(it.event));
            }
            // The pool goes on, so that each of them is below a job.
            let ends = workers[waiter].events.iter();
            let mut ends = ends.filter(|it| matches!(it.event, Event::Active(SearchEnd::Latch)));
            ends.next().map(|_| "no latch was set")
        }
        (7, Event::Label(_)) => {
            events.remove(place);
            Some("a part ends that has not begun")
        }
        (8, Event::Wake(by)) => {
            events[place].event = Event::Wake(WokenBy { at: 1, ..by });
            Some("woken before it fell asleep")
        }
        (9, Event::Wake(by)) => {
            let waker = history.workers[worker].number;
            let events = &mut history.workers[worker].events;
            events[place].event = Event::Wake(WokenBy { waker, ..by });
            Some("woken by itself")
        }
        // Other frames of the job use the worker.
        (10, _) => {
            let is_inside = |&place: &usize| {
                matches!(events[place].event, Event::Sleep) && in_job(&events[..place])
            };
            let place = (place..events.len()).find(is_inside)?;
            for event in [Event::GuestLeft, Event::GuestArrived] {
                let mut guest = events[place];
                guest.event = event;
                events.insert(place + 1, guest);
            }
            Some("a guest in the middle of a job")
        }
        _ => None,
    }
}

#[test]
fn falsified_histories_are_refused() {
    let mut random = Random(1);
    let mut refused = std::collections::BTreeMap::<_, u64>::new();
    'runs: for seed in 0.. {
        let history = History::of(&run(seed));
        for _ in 0..50 {
            let mut falsified = history.clone();
            let Some(change) = falsify(&mut falsified, &mut random) else {
                continue;
            };
            let checked = falsified.check().and_then(|_| falsified.check_latches());
            assert!(checked.is_err(), "seed {seed}: {change}");
            *refused.entry(change).or_default() += 1;
            if refused.values().sum::<u64>() >= RUNS && refused.len() == 11 {
                break 'runs;
            }
        }
    }
}
