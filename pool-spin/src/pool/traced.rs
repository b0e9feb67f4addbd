//! A parker that notes which worker unparks it.

use core::{fmt, marker::PhantomData};

use pool_core::Parker;

use crate::machine::{CoreParker, Machine};

/// A parker that also notes who unparks it, for the traces of the feature `trace`.
///
/// Workers sleep as with `P`. `M` is the machine that names this type as its
/// [`Parker`](Machine::Parker). When a worker wakes, the event in its trace names the worker that
/// has woken it, and the [time](Machine::nanoseconds) of that. Each wake-up reads the clock once
/// more. Without the feature `trace`, this is the same as `P`.
///
/// The number of the waker is its index in the pool plus one. It is zero for a core that is not a
/// worker at that moment. An interrupt handler counts as the worker that it has interrupted. If
/// pools share their cores, the waker may be a worker of another one.
///
/// # Examples
/// ```
/// use pool_spin::{CoreNumber, CorePointer, Cores, Machine, Numbered, Spin, SpinPool, Traced};
///
/// struct Board;
///
/// // SAFETY: 1. The pointer is null at first, and only pools use it. 2. There are no handlers.
/// unsafe impl Machine for Board {
///     type Local = Numbered<Self>;
///     type Parker = Traced<Spin, Self>;
/// }
/// #
/// # // SAFETY: 1. There is one core, with number 0, and one pointer. 2. A static stays the same.
/// # unsafe impl CoreNumber for Board {
/// #     fn number() -> usize {
/// #         0
/// #     }
/// #
/// #     fn pointers() -> &'static [CorePointer] {
/// #         static POINTERS: [CorePointer; 1] = [CorePointer::new()];
/// #         &POINTERS
/// #     }
/// # }
///
/// static POOL: SpinPool<Cores<Board, 1, 16>> = SpinPool::new();
/// assert_eq!(POOL.run_with(0, |core| core.join(|_| 1, |_| 2)), Ok((1, 2)));
/// ```
pub struct Traced<P, M> {
    parker: P,
    #[cfg(feature = "trace")]
    note: pool_core::trace::WakeNote,
    machine: PhantomData<fn() -> M>,
}

impl<P: CoreParker, M: Machine> CoreParker for Traced<P, M> {
    const NEW: Self = Self {
        parker: P::NEW,
        #[cfg(feature = "trace")]
        note: pool_core::trace::WakeNote::new(),
        machine: PhantomData,
    };

    #[cfg(feature = "trace")]
    fn woken_by(&self) -> pool_core::WokenBy {
        self.note.take()
    }
}

impl<P: Parker, M: Machine> Parker for Traced<P, M> {
    fn park(&self) {
        self.parker.park();
    }

    fn unpark(&self) {
        #[cfg(feature = "trace")]
        self.note.set(caller::<M>());
        self.parker.unpark();
    }

    fn relax(&self) {
        self.parker.relax();
    }

    fn now(&self) -> Option<u64> {
        self.parker.now()
    }

    fn park_guest(&self) {
        self.parker.park_guest();
    }

    fn unpark_guest(&self) {
        self.parker.unpark_guest();
    }
}

/// Returns the number of the worker that the calling core is, and the time.
#[cfg(feature = "trace")]
fn caller<M: Machine>() -> pool_core::WokenBy {
    use crate::machine::CoreLocal as _;
    use pool_core::trace::{TraceClock as _, index_of};

    use super::observer::kept::MachineClock;

    // SAFETY: 1. Only pools set the pointer: to null, or to a worker that stays in place until the
    // pointer is set again.
    let index = unsafe { index_of(M::Local::get()) };
    pool_core::WokenBy {
        // There are at most 65,535 workers.
        waker: index.map_or(0, |index| index.get() as u32 + 1),
        at: MachineClock::<M>::now(),
    }
}

impl<P: fmt::Debug, M> fmt::Debug for Traced<P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Traced");
        debug.field("parker", &self.parker);
        #[cfg(feature = "trace")]
        debug.field("note", &self.note);
        debug.finish()
    }
}
