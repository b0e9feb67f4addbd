//! A load like TPC-B on tables like those of ETS: a thread looks each table up for each operation
//! on it, and a table may be replaced, and freed, meanwhile.
//!
//! A transaction adds an amount to an account, to a teller and to a branch, and notes it in the
//! history. Each thread now and then replaces the history. What differs is what keeps a table while
//! it is used: a reference count in each table, which all threads change for each operation, or
//! thread progress. (In Erlang/OTP, a benchmark of this kind became more than 10 % faster by it.)
//!
//! Rows are atomic numbers. No row is locked, so that only the tables' protection costs more than
//! the load itself.

use std::{
    ptr,
    sync::{
        Barrier as Meeting,
        atomic::{AtomicI64, AtomicPtr, AtomicUsize, Ordering},
    },
    thread,
};

use crossbeam_epoch::{self as epoch, Atomic, Owned};
use crossbeam_utils::CachePadded;
use progress_core::{Active, AsymmetricFence, Reclaimable};
use protocol::time;

use super::{OurProgress, OursIn, our_progress};

/// By all threads together.
const TRANSACTIONS: usize = 400_000;
/// After so many transactions, a thread replaces the history.
const REPLACED_AFTER: usize = 1_000;

const BRANCHES: usize = 64;
const TELLERS: usize = 10 * BRANCHES;
const ACCOUNTS: usize = 1_000 * BRANCHES;
const HISTORY: usize = 4_096;

/// The tables, by their numbers.
const SIZES: [usize; 4] = [BRANCHES, TELLERS, ACCOUNTS, HISTORY];
const TABLES: usize = SIZES.len();
const HISTORY_TABLE: usize = 3;

/// A table of numbers.
struct Table(Box<[AtomicI64]>);

impl Table {
    fn new(rows: usize) -> Self {
        Self((0..rows).map(|_| AtomicI64::new(0)).collect())
    }

    fn add(&self, row: usize, amount: i64) {
        self.0[row].fetch_add(amount, Ordering::Relaxed);
    }

    fn set(&self, row: usize, amount: i64) {
        self.0[row].store(amount, Ordering::Relaxed);
    }
}

/// The tables, and a way to keep one while it is used.
pub(super) trait Tables: Sync {
    fn new(threads: usize) -> Self;

    /// Runs so many transactions on the calling thread.
    fn run(&self, thread: usize, transactions: usize);
}

/// One thread's access to the tables.
trait Session {
    fn with(&mut self, table: usize, operation: impl FnOnce(&Table));

    /// Replaces a table, and frees the old one when no thread uses it.
    fn replace(&mut self, table: usize, new: Table);

    /// The thread holds no table.
    fn end_transaction(&mut self) {}
}

/// Transactions per second, by so many threads at once.
pub(super) fn rate<T: Tables>(threads: usize) -> f64 {
    let tables = T::new(threads);
    let meeting = Meeting::new(threads);
    let each = TRANSACTIONS / threads;
    let time = time(|| {
        thread::scope(|scope| {
            for thread in 0..threads {
                let (meeting, tables) = (&meeting, &tables);
                scope.spawn(move || {
                    meeting.wait();
                    tables.run(thread, each);
                });
            }
        });
    });
    (each * threads) as f64 / time.as_secs_f64()
}

fn run(session: &mut impl Session, thread: usize, transactions: usize) {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread as u64 + 1);
    for number in 1..=transactions {
        // Xorshift.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let random = (random >> 16) as usize;
        let (account, teller) = (random % ACCOUNTS, random % TELLERS);
        let amount = (random % 1_999) as i64 - 999;
        session.with(2, |accounts| accounts.add(account, amount));
        session.with(1, |tellers| tellers.add(teller, amount));
        session.with(0, |branches| branches.add(teller / 10, amount));
        session.with(HISTORY_TABLE, |history| {
            history.set(random % HISTORY, amount);
        });
        if number.is_multiple_of(REPLACED_AFTER) {
            session.replace(HISTORY_TABLE, Table::new(HISTORY));
        }
        session.end_transaction();
    }
}

/// Thread progress: the threads are managed, stay active, and update after every so many
/// transactions.
pub(super) struct Ours<B: AsymmetricFence, const INTERVAL: usize = 1> {
    progress: OurProgress<B>,
    tables: [CachePadded<AtomicPtr<Reclaimable<Table>>>; TABLES],
}

struct OurSession<'s, 't, 'p, B: AsymmetricFence, const INTERVAL: usize> {
    tables: &'s Ours<B, INTERVAL>,
    active: Active<'t, 'p, OursIn<B>>,
    transactions: usize,
}

impl<B: AsymmetricFence, const INTERVAL: usize> Tables for Ours<B, INTERVAL> {
    fn new(threads: usize) -> Self {
        let table = |rows| Box::into_raw(Box::new(Reclaimable::new(Table::new(rows))));
        Self {
            progress: our_progress(threads),
            tables: SIZES.map(|rows| CachePadded::new(AtomicPtr::new(table(rows)))),
        }
    }

    fn run(&self, thread: usize, transactions: usize) {
        let mut managed = self.progress.register().expect("a participant for each");
        let mut session = OurSession {
            tables: self,
            active: managed.activate(),
            transactions: 0,
        };
        run(&mut session, thread, transactions);
    }
}

impl<B: AsymmetricFence, const INTERVAL: usize> Session for OurSession<'_, '_, '_, B, INTERVAL> {
    fn with(&mut self, table: usize, operation: impl FnOnce(&Table)) {
        // SAFETY: it was in reach after the thread became active or last updated, and the thread
        // does neither before the operation ends.
        operation(unsafe { &*self.tables.tables[table].load(Ordering::Acquire) });
    }

    fn replace(&mut self, table: usize, new: Table) {
        let new = Box::into_raw(Box::new(Reclaimable::new(new)));
        let old = self.tables.tables[table].swap(new, Ordering::AcqRel);
        // SAFETY: 1. it came from a box, and only we have taken it; 2. it is out of reach.
        unsafe { self.active.retire(old) };
    }

    fn end_transaction(&mut self) {
        self.transactions += 1;
        if self.transactions.is_multiple_of(INTERVAL) {
            self.active.tick();
        }
    }
}

impl<B: AsymmetricFence, const INTERVAL: usize> Drop for Ours<B, INTERVAL> {
    fn drop(&mut self) {
        for last in &mut self.tables {
            // SAFETY: no thread has taken it, and no thread is left.
            drop(unsafe { Box::from_raw(*last.get_mut()) });
        }
    }
}

/// A reference count beside each table's pointer.
pub(super) struct Counts([CachePadded<Counted>; TABLES]);

struct Counted {
    /// The operations that use the table or are about to look it up.
    count: AtomicUsize,
    table: AtomicPtr<Table>,
}

impl Tables for Counts {
    fn new(_threads: usize) -> Self {
        let counted = |rows| Counted {
            count: AtomicUsize::new(0),
            table: AtomicPtr::new(Box::into_raw(Box::new(Table::new(rows)))),
        };
        Self(SIZES.map(|rows| CachePadded::new(counted(rows))))
    }

    fn run(&self, thread: usize, transactions: usize) {
        run(&mut &*self, thread, transactions);
    }
}

impl Session for &Counts {
    fn with(&mut self, table: usize, operation: impl FnOnce(&Table)) {
        let counted = &self.0[table];
        // With `SeqCst` here and below: either the count is seen, or the new pointer is.
        counted.count.fetch_add(1, Ordering::SeqCst);
        // SAFETY: a thread that takes it out of reach waits until the count is zero.
        operation(unsafe { &*counted.table.load(Ordering::SeqCst) });
        counted.count.fetch_sub(1, Ordering::Release);
    }

    fn replace(&mut self, table: usize, new: Table) {
        let counted = &self.0[table];
        let new = Box::into_raw(Box::new(new));
        let old = counted.table.swap(new, Ordering::SeqCst);
        // An operation takes a few nanoseconds, so this ends soon unless a thread is interrupted
        // within one.
        while counted.count.load(Ordering::SeqCst) != 0 {
            thread::yield_now();
        }
        // SAFETY: only we have taken it, and no operation uses it.
        drop(unsafe { Box::from_raw(old) });
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        for last in &mut self.0 {
            let last = std::mem::replace(last.table.get_mut(), ptr::null_mut());
            // SAFETY: no thread has taken it, and no thread is left.
            drop(unsafe { Box::from_raw(last) });
        }
    }
}

/// Epochs, pinned once for each transaction.
pub(super) struct Epoch([CachePadded<Atomic<Table>>; TABLES]);

struct EpochSession<'s> {
    tables: &'s Epoch,
    guard: epoch::Guard,
}

impl Tables for Epoch {
    fn new(_threads: usize) -> Self {
        Self(SIZES.map(|rows| CachePadded::new(Atomic::new(Table::new(rows)))))
    }

    fn run(&self, thread: usize, transactions: usize) {
        let mut session = EpochSession {
            tables: self,
            guard: epoch::pin(),
        };
        run(&mut session, thread, transactions);
    }
}

impl Session for EpochSession<'_> {
    fn with(&mut self, table: usize, operation: impl FnOnce(&Table)) {
        let table = self.tables.0[table].load(Ordering::Acquire, &self.guard);
        // SAFETY: the thread has been pinned since before it looked.
        operation(unsafe { table.deref() });
    }

    fn replace(&mut self, table: usize, new: Table) {
        let old = self.tables.0[table].swap(Owned::new(new), Ordering::AcqRel, &self.guard);
        // SAFETY: only we have taken it, and it is out of reach.
        unsafe { self.guard.defer_destroy(old) };
    }

    fn end_transaction(&mut self) {
        self.guard.repin();
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        for last in &mut self.0 {
            let last = std::mem::replace(&mut **last, Atomic::null());
            // SAFETY: no thread has taken it, and no thread is left.
            drop(unsafe { last.into_owned() });
        }
    }
}
