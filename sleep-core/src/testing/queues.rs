//! The check that `has_work` looks at every queue.

use std::{format, string::String, vec::Vec};

use crate::WorkerIndex;

/// One place where jobs wait, for [`check_queues`].
pub struct Queue<'a> {
    name: &'a str,
    put: &'a dyn Fn(),
    take: &'a dyn Fn() -> bool,
    worker: Option<usize>,
}

impl<'a> Queue<'a> {
    /// Describes a queue from which every worker takes. `put` queues a job there, and `take` takes
    /// one out and returns whether there was one.
    #[must_use]
    pub const fn new(name: &'a str, put: &'a dyn Fn(), take: &'a dyn Fn() -> bool) -> Self {
        Self {
            name,
            put,
            take,
            worker: None,
        }
    }

    /// Says that only one worker takes from this queue, for example tasks that are bound to a core.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::testing::{Queue, check_queues};
    /// use std::cell::Cell;
    ///
    /// let bound = [const { Cell::new(0_u32) }; 2];
    /// let put = || bound[1].set(bound[1].get() + 1);
    /// let take = || bound[1].replace(bound[1].get().saturating_sub(1)) > 0;
    ///
    /// check_queues(2, |worker| bound[worker.get()].get() > 0, &[
    ///     Queue::new("bound to 1", &put, &take).of_worker(1),
    /// ]);
    /// ```
    #[must_use]
    pub const fn of_worker(mut self, worker: usize) -> Self {
        self.worker = Some(worker);
        self
    }

    fn is_for(&self, worker: WorkerIndex) -> bool {
        self.worker.is_none_or(|only| only == worker.get())
    }
}

impl core::fmt::Debug for Queue<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name)
            .field("worker", &self.worker)
            .finish_non_exhaustive()
    }
}

/// Checks that the `has_work` of a pool sees a job in every queue, for each of `workers` workers,
/// and none in empty queues.
///
/// A queue that `has_work` skips rarely and silently loses wake-ups: for a job that is queued there
/// while a worker is falling asleep. List the queues where jobs are *taken*, not where `has_work`
/// looks; otherwise, both may omit the same queue.
///
/// # Examples
/// ```
/// use sleep_core::testing::{Queue, check_queues};
/// use std::{cell::RefCell, collections::VecDeque};
///
/// let [global, deferred] = [(); 2].map(|()| RefCell::new(VecDeque::<fn()>::new()));
/// let has_work = || !global.borrow().is_empty() || !deferred.borrow().is_empty();
///
/// check_queues(2, |_worker| has_work(), &[
///     Queue::new(
///         "global",
///         &|| global.borrow_mut().push_back(|| ()),
///         &|| global.borrow_mut().pop_front().is_some(),
///     ),
///     Queue::new(
///         "deferred",
///         &|| deferred.borrow_mut().push_back(|| ()),
///         &|| deferred.borrow_mut().pop_front().is_some(),
///     ),
/// ]);
/// ```
///
/// # Panics
/// If a worker would overlook a job, or never sleep. The message names the queues.
pub fn check_queues(workers: usize, has_work: impl Fn(WorkerIndex) -> bool, queues: &[Queue<'_>]) {
    let mut mistakes: Vec<String> = Vec::new();
    let workers = || (0..workers).filter_map(|index| WorkerIndex::new(index, workers).ok());
    let none = |mistakes: &mut Vec<String>, when: &str| {
        for worker in workers().filter(|&worker| has_work(worker)) {
            let worker = worker.get();
            mistakes.push(format!(
                "worker {worker} never sleeps: `has_work` says yes {when}, when all queues are empty"
            ));
        }
    };
    none(&mut mistakes, "before a job is queued");
    for queue in queues {
        let name = queue.name;
        (queue.put)();
        for worker in workers() {
            let index = worker.get();
            match (queue.is_for(worker), has_work(worker)) {
                (true, false) => mistakes.push(format!(
                    "worker {index} sleeps although `{name}` holds a job: `has_work` does not look there"
                )),
                (false, true) => mistakes.push(format!(
                    "worker {index} does not sleep while `{name}` holds a job that it cannot take"
                )),
                _ => {}
            }
        }
        if !(queue.take)() {
            mistakes.push(format!(
                "`{name}` holds no job right after one was put there"
            ));
        }
        none(
            &mut mistakes,
            &format!("after the job in `{name}` was taken"),
        );
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}
