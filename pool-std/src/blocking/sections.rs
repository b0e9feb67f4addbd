//! What workers say about their blocked sections.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use pool_core::WorkerIndex;

use crate::{
    clock,
    sync::{Mutex, lock},
};

/// A blocked section of a worker: what the worker waits for, and since when.
///
/// # Examples
/// ```
/// use pool_std::Activity;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     pool_std::blocking("a message", |_| {
///         let state = pool.state();
///         let Activity::Blocked(section) = &state.workers()[0].activity else {
///             panic!("the worker is blocked");
///         };
///         assert_eq!(&*section.label, "a message");
///         assert!(section.since.is_some());
///     });
/// });
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockedSection {
    /// The label that the worker gave.
    pub label: Cow<'static, str>,
    /// When the worker marked itself. None on systems without a clock.
    pub since: Option<Instant>,
}

/// The last sections of all workers of a pool.
///
/// Which worker is blocked, and in which of its episodes, is decided by the accounting of
/// `sleep-core`. This table only says what an episode is called, so a worker writes here before it
/// tells the accounting.
#[derive(Default)]
pub(crate) struct Sections {
    workers: Box<[Mutex<OfWorker>]>,
    /// Whether a worker has ever begun a section.
    are_used: AtomicBool,
}

/// The current section of a worker and the next one.
#[derive(Default)]
struct OfWorker {
    /// By the parity of the episode. So the worker writes the next one while a report may be
    /// reading the current one, and a mark that is refused leaves the current one as it is.
    by_parity: [Option<BlockedSection>; 2],
    /// The last episode that has begun.
    episode: u32,
}

impl Sections {
    pub(crate) fn new(num_workers: usize) -> Self {
        let workers = (0..num_workers).map(|_| Mutex::default()).collect();
        Self {
            workers,
            are_used: AtomicBool::new(false),
        }
    }

    /// Whether a worker has ever begun a section.
    pub(crate) fn are_used(&self) -> bool {
        // Ordering: Relaxed; a worker that is overlooked for a moment counts as one that runs.
        self.are_used.load(Ordering::Relaxed)
    }

    /// Notes the section that a worker is about to begin. Only the worker calls this.
    pub(crate) fn announce(&self, worker: WorkerIndex, label: Cow<'static, str>) {
        // Ordering: Relaxed, see `are_used`.
        self.are_used.store(true, Ordering::Relaxed);
        let section = BlockedSection {
            label,
            since: clock::instant(),
        };
        let mut of_worker = lock(&self.workers[worker.get()]);
        let next = parity(of_worker.episode.wrapping_add(1));
        of_worker.by_parity[next] = Some(section);
    }

    /// Notes that the accounting has begun the section that was announced last. Only the worker
    /// calls this.
    pub(crate) fn begin(&self, worker: WorkerIndex, episode: u32) {
        lock(&self.workers[worker.get()]).episode = episode;
    }

    /// Returns the section of a worker's episode, which is the current one or the one before.
    pub(crate) fn get(&self, worker: usize, episode: u32) -> Option<BlockedSection> {
        lock(&self.workers[worker]).by_parity[parity(episode)].clone()
    }
}

fn parity(episode: u32) -> usize {
    (episode % 2) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_that_is_refused_leaves_the_current_one() {
        let sections = Sections::new(1);
        let worker = WorkerIndex::new(0, 1).unwrap();
        sections.announce(worker, "first".into());
        sections.begin(worker, 1);
        sections.announce(worker, "refused".into());
        let label = |episode| sections.get(0, episode).unwrap().label;
        assert_eq!(label(1), "first");
        sections.announce(worker, "second".into());
        sections.begin(worker, 2);
        assert_eq!((label(1), label(2)), ("first".into(), "second".into()));
    }
}
