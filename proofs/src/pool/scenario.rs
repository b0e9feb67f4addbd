//! What there is to do for a pool.

/// Workers, and what threads outside the pool do.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// How many workers there are, 4 at most.
    pub workers: u8,
    /// What each poster does. When all jobs have ended, the first one stops the pool.
    pub posts: &'static [&'static [Post]],
    /// What the jobs do that posters queue.
    pub jobs: Jobs,
    /// How many threads come once as guests.
    pub guests: u8,
    /// What the closure of a guest waits for, beside its own job.
    pub guests_wait: GuestsWait,
}

/// What the closure of a guest waits for, beside its own job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestsWait {
    /// Nothing.
    ForNothing,
    /// The jobs that were queued before the guest came.
    ForEarlierJobs,
    /// All jobs.
    ForAllJobs,
}

/// What a poster does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Post {
    /// It queues so many jobs for any worker.
    Jobs(u8),
    /// It queues a job for one worker.
    JobFor(u8),
    /// It waits until so many jobs have ended.
    WaitFor(u8),
    /// It waits until a deadlock is reported, and resolves it.
    Resolve,
}

/// What jobs do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jobs {
    /// They end at once.
    Short,
    /// Each ends when so many have begun: so many workers must run jobs at the same time.
    NeedEachOther(u8),
    /// Each is blocked until a deadlock was reported.
    Block,
    /// The first one that begins is blocked until the second one releases it.
    BlockAndRelease,
    /// Each that a poster queues puts another one on its worker's deque, and ends when that has
    /// begun: another worker must take it from there.
    Fork,
    /// Each puts its second half on its worker's deque, and takes it back. If another worker has
    /// stolen it, the worker waits below the job: it runs other jobs, or sleeps, until the thief
    /// sets its latch.
    Join,
}

/// The scenarios that have names. Each has a question, and so few steps that all executions with
/// two workers take seconds, or minutes where it says so.
pub const NAMED: &[(&str, Scenario)] = &[
    // Is a job seen by a worker that falls asleep, and is each worker stopped?
    (
        "one-job",
        Scenario::new(2, &[&[Post::Jobs(1)]], Jobs::Short),
    ),
    // The same when all workers have slept.
    (
        "one-by-one",
        Scenario::new(
            2,
            &[&[Post::Jobs(1), Post::WaitFor(1), Post::Jobs(1)]],
            Jobs::Short,
        ),
    ),
    // And of another thread, beside the one that has just woken the worker?
    (
        "two-posters",
        Scenario::new(1, &[&[Post::Jobs(1)], &[Post::Jobs(1)]], Jobs::Short),
    ),
    // Do two jobs that are queued at once get two workers?
    (
        "pair",
        Scenario::new(2, &[&[Post::Jobs(2)]], Jobs::NeedEachOther(2)),
    ),
    // And two that are queued one after the other?
    (
        "pair-in-a-row",
        Scenario::new(
            2,
            &[&[Post::Jobs(1), Post::Jobs(1)]],
            Jobs::NeedEachOther(2),
        ),
    ),
    // And two of different threads?
    (
        "pair-of-two-posters",
        Scenario::new(
            2,
            &[&[Post::Jobs(1)], &[Post::Jobs(1)]],
            Jobs::NeedEachOther(2),
        ),
    ),
    // Does another worker take what a job has queued?
    ("fork", Scenario::new(2, &[&[Post::Jobs(1)]], Jobs::Fork)),
    // Does a worker return that waits for a stolen half?
    ("join", Scenario::new(2, &[&[Post::Jobs(1)]], Jobs::Join)),
    // And if there is another job meanwhile, which it may run, or another worker?
    (
        "join-and-job",
        Scenario::new(2, &[&[Post::Jobs(1), Post::Jobs(1)]], Jobs::Join),
    ),
    // Is a worker woken for a job that it alone may take?
    (
        "inbox",
        Scenario::new(2, &[&[Post::JobFor(0)]], Jobs::Short),
    ),
    // And does another one take what that job has queued?
    (
        "inbox-and-fork",
        Scenario::new(2, &[&[Post::JobFor(0)]], Jobs::Fork),
    ),
    // Does a guest leave the worker as it was?
    (
        "guest",
        Scenario::new(2, &[&[]], Jobs::Short).with_guests(1, GuestsWait::ForNothing),
    ),
    // Does a guest with the only worker wait in vain for a job that was there before?
    (
        "guest-waits",
        Scenario::new(1, &[&[Post::Jobs(1)]], Jobs::Short)
            .with_guests(1, GuestsWait::ForEarlierJobs),
    ),
    // Do two guests meet?
    (
        "guests",
        Scenario::new(1, &[&[]], Jobs::Short).with_guests(2, GuestsWait::ForNothing),
    ),
    // Is a deadlock reported when all workers are blocked?
    (
        "all-blocked",
        Scenario::new(2, &[&[Post::Jobs(2)], &[Post::Resolve]], Jobs::Block),
    ),
    // And when one is blocked, and the other one sleeps?
    (
        "blocked-and-asleep",
        Scenario::new(2, &[&[Post::Jobs(1)], &[Post::Resolve]], Jobs::Block),
    ),
    // Is none reported while a job is there that releases the blocked worker?
    (
        "block-and-release",
        Scenario::new(2, &[&[Post::Jobs(2)]], Jobs::BlockAndRelease),
    ),
    // Does a guest keep another worker from a job? Ten million states.
    (
        "guest-and-job",
        Scenario::new(2, &[&[Post::Jobs(1)]], Jobs::Short).with_guests(1, GuestsWait::ForAllJobs),
    ),
    // One job for three workers. Ten million states.
    (
        "three-workers",
        Scenario::new(3, &[&[Post::Jobs(1)]], Jobs::Short),
    ),
];

impl Scenario {
    const fn new(workers: u8, posts: &'static [&'static [Post]], jobs: Jobs) -> Self {
        Self {
            workers,
            posts,
            jobs,
            guests: 0,
            guests_wait: GuestsWait::ForNothing,
        }
    }

    const fn with_guests(mut self, guests: u8, guests_wait: GuestsWait) -> Self {
        self.guests = guests;
        self.guests_wait = guests_wait;
        self
    }

    /// Returns the scenario of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |(known, _): &&(&str, Self)| *known == name;
        NAMED.iter().find(is_it).map(|(_, scenario)| *scenario)
    }

    /// Whether workers tell the accounting of blocked workers what they do.
    pub(super) fn has_accounting(&self) -> bool {
        matches!(self.jobs, Jobs::Block | Jobs::BlockAndRelease)
    }

    /// Returns how many deadlocks there are.
    pub(super) fn num_reports(&self) -> u8 {
        u8::from(self.jobs == Jobs::Block)
    }

    /// Returns how many jobs posters and their jobs queue at least.
    pub(super) fn num_jobs(&self) -> u8 {
        let posted: u8 = self
            .posts
            .iter()
            .copied()
            .flatten()
            .map(|post| post.jobs())
            .sum();
        let per_job = match self.jobs {
            Jobs::Fork => 2,
            // Not all of these join.
            Jobs::Join => 1,
            Jobs::Short | Jobs::NeedEachOther(_) | Jobs::Block | Jobs::BlockAndRelease => 1,
        };
        posted * per_job
    }
}

impl Post {
    fn jobs(self) -> u8 {
        match self {
            Self::Jobs(count) => count,
            Self::JobFor(_) => 1,
            Self::WaitFor(_) | Self::Resolve => 0,
        }
    }
}
