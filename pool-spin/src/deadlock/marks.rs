//! How a worker blocks, and how it is unblocked.

use pool_core::{
    UnknownWorker,
    accounting::{NotActive, NotBlocked, State, Ticket},
};

use super::DetectsDeadlocks;
use crate::pool::{SpinPool, Worker};

impl<S: DetectsDeadlocks> Worker<'_, S> {
    /// Marks this worker as blocked, right before it waits for an event outside of the pool, and
    /// returns a ticket to unblock it.
    ///
    /// The code that causes the event calls [`SpinPool::mark_unblocked`] with the ticket, before it
    /// lets this core continue. If that call may not come, use [`blocking`](Self::blocking), which
    /// ends the section in any case. Jobs that this worker has queued are left to the other
    /// workers. A trace contains the end of a section only with `blocking` and
    /// [`wait_for`](Self::wait_for).
    ///
    /// # Errors
    /// [`NotActive`] if this worker is blocked already.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{
    ///     SpinPool,
    ///     deadlock::{DetectingCores, State},
    ///     host::{Host, HostLock},
    /// };
    ///
    /// static POOL: SpinPool<DetectingCores<Host, HostLock, 2, 64>> =
    ///     SpinPool::with_deadlock_handler(|report| println!("{report}"));
    ///
    /// POOL.run_with(0, |core| {
    ///     let ticket = core.mark_blocked().unwrap(); // prints the report: no worker can go on
    ///     assert_eq!(POOL.blocking_state(0), Ok(State::Blocked));
    ///     POOL.mark_unblocked(ticket).unwrap(); // as a rule by another core
    ///     assert!(POOL.mark_unblocked(ticket).is_err());
    /// })?;
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn mark_blocked(self) -> Result<Ticket, NotActive> {
        self.0.mark_blocked()
    }

    /// Runs a closure that waits for an event outside of the pool, as a blocked section.
    ///
    /// The closure receives the ticket, for the code that causes the event; see
    /// [`mark_blocked`](Self::mark_blocked). If the section has not been ended with the ticket when
    /// the closure returns or panics, this call ends it.
    ///
    /// The closure must not wait for jobs of the pool. A core that sleeps in such a wait counts as
    /// asleep and then as active, so that the rest of the section is not reported.
    ///
    /// # Errors
    /// [`NotActive`] if this worker is already blocked. In that case, the closure is not called.
    ///
    /// # Examples
    /// A loop that waits for another job:
    /// ```
    /// use std::sync::{Mutex, atomic::{AtomicBool, Ordering}};
    ///
    /// use pool_spin::{
    ///     SpinPool,
    ///     deadlock::DetectingCores,
    ///     host::{self, Host, HostLock},
    /// };
    ///
    /// static POOL: SpinPool<DetectingCores<Host, HostLock, 2, 64>> =
    ///     SpinPool::with_deadlock_handler(|report| panic!("{report}"));
    ///
    /// let waiting = Mutex::new(None);
    /// let is_ready = AtomicBool::new(false);
    /// host::with_workers(&POOL, || {
    ///     POOL.install(|core| {
    ///         core.join(
    ///             |core| {
    ///                 core.blocking(|ticket| {
    ///                     *waiting.lock().unwrap() = Some(ticket);
    ///                     while !is_ready.load(Ordering::Acquire) {
    ///                         std::thread::yield_now(); // on a board: WFE
    ///                     }
    ///                 })
    ///                 .unwrap();
    ///             },
    ///             |_| {
    ///                 let ticket = loop {
    ///                     if let Some(ticket) = waiting.lock().unwrap().take() {
    ///                         break ticket;
    ///                     }
    ///                 };
    ///                 POOL.mark_unblocked(ticket).unwrap();
    ///                 is_ready.store(true, Ordering::Release); // on a board: SEV
    ///             },
    ///         );
    ///     });
    /// });
    /// ```
    pub fn blocking<R>(self, wait: impl FnOnce(Ticket) -> R) -> Result<R, NotActive> {
        /// Ends the section even if the closure panics, which a job on a host may catch.
        struct Section<'w, S: DetectsDeadlocks> {
            worker: Worker<'w, S>,
            ticket: Ticket,
        }
        impl<S: DetectsDeadlocks> Drop for Section<'_, S> {
            fn drop(&mut self) {
                let worker = self.worker.0;
                // Usually another core has already ended it.
                let _ = worker
                    .registry()
                    .deadlock()
                    .mark_self_unblocked(self.ticket);
                worker.note_unblocked();
            }
        }

        let ticket = self.mark_blocked()?;
        let _section = Section {
            worker: self,
            ticket,
        };
        Ok(wait(ticket))
    }
}

impl<S: DetectsDeadlocks> SpinPool<S> {
    /// Ends a blocked section, for the code that causes the event that the worker waits for. Call
    /// it before the worker can continue: otherwise, the worker may be reported as blocked although
    /// it is not.
    ///
    /// Any core may call this, and so may an interrupt handler, if the pool's lock is an
    /// [`InterruptLock`](crate::InterruptLock). The deadlock handler must not. The ticket must be
    /// one of this pool: one of another pool may end a section here.
    ///
    /// # Errors
    /// [`NotBlocked`] if the section has ended, even if the worker is blocked in a later one.
    ///
    /// # Examples
    /// See [`Worker::mark_blocked`].
    pub fn mark_unblocked(&self, ticket: Ticket) -> Result<(), NotBlocked> {
        self.mark_all_unblocked([ticket])
    }

    /// Ends several blocked sections at once, so that no report comes in between. Otherwise the
    /// same as [`mark_unblocked`](Self::mark_unblocked).
    ///
    /// The iterator is called with the lock of the accounting held and interrupts masked, so it
    /// must not mark anything.
    ///
    /// # Errors
    /// [`NotBlocked`] for one of the tickets whose section has ended. The other sections have ended
    /// nevertheless.
    pub fn mark_all_unblocked(
        &self,
        tickets: impl IntoIterator<Item = Ticket>,
    ) -> Result<(), NotBlocked> {
        // A ticket that belongs to a larger pool.
        let mut foreign = None;
        let tickets = tickets.into_iter().filter(|ticket| {
            let worker = ticket.worker().get();
            if worker >= S::CORES {
                foreign.get_or_insert(NotBlocked { worker });
            }
            worker < S::CORES
        });
        let result = self.registry().deadlock().mark_all_unblocked(tickets);
        foreign.map_or(result, Err)
    }

    /// Returns whether a worker is active, asleep, blocked or absent. The answer may be out of date
    /// on return. Takes no lock.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there is no such worker.
    ///
    /// # Examples
    /// See [`Worker::mark_blocked`].
    pub fn blocking_state(&self, index: usize) -> Result<State, UnknownWorker> {
        let worker = self.registry().worker(index)?;
        Ok(self.registry().deadlock().state(worker))
    }
}
