//! The traits that connect a pool to the machine on which it runs.

#[cfg(any(
    target_arch = "aarch64",
    all(target_arch = "arm", target_os = "none"),
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "x86_64"
))]
pub mod arch;
#[cfg(not(loom))]
mod core_local;
#[cfg(any(feature = "deadlock", loom))]
mod lock;
mod parker;

#[cfg(target_arch = "aarch64")]
pub use core_local::TpidrEl1;
#[cfg(not(loom))]
pub use core_local::{CoreLocal, CoreNumber, CorePointer, Numbered};
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
pub use core_local::{Mscratch, Sscratch};
#[cfg(any(feature = "deadlock", loom))]
pub use lock::InterruptLock;
pub use parker::{HltIpi, Spin, Wfe, WfiIpi};

#[cfg(not(loom))]
use pool_core::Parker;

/// A machine: how a core learns which worker it is, and how it sleeps.
///
/// A firmware has one such type, without a value; see the boards in the repository.
///
/// # Safety
/// 1. The requirements of [`Local`](Self::Local) hold. As a rule: a register holds null when the
///    core first uses a pool, and belongs to the pools from then on.
/// 2. While a core is a worker, the code that made it one does not move to another core. Code that
///    pre-empts it, such as an interrupt handler, uses the pool only as handlers may: it may have
///    interrupted the worker in the middle of an operation.
///
/// # Examples
/// A machine of one core, for a first program on a new board:
/// ```
/// use pool_spin::{CoreNumber, CorePointer, Cores, Machine, Numbered, Spin, SpinPool};
///
/// struct Board;
///
/// // SAFETY: 1. The pointer is null at first, and only pools use it. 2. There are no handlers.
/// unsafe impl Machine for Board {
///     type Local = Numbered<Self>;
///     type Parker = Spin;
/// }
///
/// // SAFETY: 1. There is one core, with number 0, and one pointer. 2. A static is always the same.
/// unsafe impl CoreNumber for Board {
///     fn number() -> usize {
///         0
///     }
///
///     fn pointers() -> &'static [CorePointer] {
///         static POINTERS: [CorePointer; 1] = [CorePointer::new()];
///         &POINTERS
///     }
/// }
///
/// static POOL: SpinPool<Cores<Board, 1, 16>> = SpinPool::new();
/// assert_eq!(POOL.run_with(0, |core| core.join(|_| 1, |_| 2)), Ok((1, 2)));
/// ```
#[cfg(not(loom))]
pub unsafe trait Machine: 'static {
    /// One pointer for each core.
    type Local: CoreLocal;
    /// How a worker sleeps. A pool has two parkers per worker: one for its jobs and one for its
    /// thread progress.
    type Parker: CoreParker;

    /// Returns the time in nanoseconds since some moment, on a clock that all cores share, or None
    /// if there is no such clock: for the times in [`WorkerMetrics`](crate::WorkerMetrics) and in
    /// traces. It must not panic.
    ///
    /// An [`IdlePolicy`](crate::IdlePolicy) with a time limit asks the parker
    /// ([`Parker::now`]). Those of this crate have no clock.
    fn nanoseconds() -> Option<u64> {
        None
    }
}

/// A parker that a `static` can hold.
///
/// # Examples
/// ```
/// use core::sync::atomic::{AtomicBool, Ordering};
///
/// use pool_spin::{CoreParker, Parker};
///
/// /// Spins until the token is there, as `Spin` does.
/// struct Spinning(AtomicBool);
///
/// impl Parker for Spinning {
///     fn park(&self) {
///         // Ordering: Acquire pairs with `unpark`.
///         while !self.0.swap(false, Ordering::Acquire) {
///             core::hint::spin_loop();
///         }
///     }
///
///     fn unpark(&self) {
///         // Ordering: Release pairs with `park`. An exchange, so that the tokens of two callers
///         // publish what both have written.
///         self.0.swap(true, Ordering::AcqRel);
///     }
/// }
///
/// impl CoreParker for Spinning {
///     const NEW: Self = Self(AtomicBool::new(false));
/// }
/// ```
#[cfg(not(loom))]
pub trait CoreParker: Parker + Send + Sync + 'static {
    /// A parker without a token.
    const NEW: Self;

    /// Returns what the parker knows about the last wake-up of its worker, for traces. A worker
    /// calls this once when it has been woken. By default, nothing is known; see
    /// [`Traced`](crate::Traced).
    #[cfg(feature = "trace")]
    fn woken_by(&self) -> pool_core::WokenBy {
        pool_core::WokenBy::UNKNOWN
    }
}

/// The interrupts of the calling core: masks them all, and halts until one is pending.
///
/// Implemented for the usual architectures in `pool_spin::arch`.
///
/// # Critical sections of other code
///
/// A pool does not know of sections in which other code has masked interrupts, such as those of the
/// crates `critical-section` and `cortex-m`. Handlers may run in the middle of such a section if
/// the code in it calls [`restore`](Self::restore), releases an `InterruptLock` that was locked
/// before the section, or waits as a worker. So it must do none of these, although no type prevents
/// it.
///
/// # Examples
/// See [`Ipi`], whose example has a board without interrupts.
pub trait Interrupts: 'static {
    /// The mask as it was before.
    type State: Copy;

    /// Masks all interrupts of this core, so that they stay pending. Returns the previous mask.
    ///
    /// A barrier to the compiler, like the other functions.
    fn mask() -> Self::State;

    /// Restores a mask. Handlers of interrupts that are pending and no longer masked run now.
    fn restore(state: Self::State);

    /// Halts until an interrupt is pending for this core. Called with interrupts masked.
    ///
    /// Returns at once if an interrupt is already pending, even since before the call. May return
    /// spuriously. Interrupts are masked on return as they were on entry.
    fn halt();
}

/// Interrupts from core to core (inter-processor interrupts).
///
/// The implementation knows the interrupt controller. It numbers the cores as it likes, below
/// `usize::MAX - 1`; these need not be the numbers of workers.
///
/// # Examples
/// A mailbox with one register per core, which interrupts the core while it is not zero. Here the
/// registers and the core's interrupts are stand-ins:
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst, fence};
///
/// use pool_spin::{Interrupts, Ipi, Parker, WfiIpi};
///
/// static MAILBOXES: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
/// # struct Board;
/// # impl Interrupts for Board {
/// #     type State = ();
/// #     fn mask() {}
/// #     fn restore(_: ()) {}
/// #     fn halt() {}
/// # }
/// # fn identity_register() -> usize { 0 }
///
/// struct Mailbox;
///
/// impl Ipi for Mailbox {
///     type Interrupts = Board;
///
///     fn this_core() -> usize {
///         identity_register()
///     }
///
///     fn send(core: usize) {
///         fence(SeqCst); // on a board: a barrier before the write to a device
///         MAILBOXES[core].store(1, SeqCst);
///     }
///
///     fn clear() {
///         MAILBOXES[Self::this_core()].store(0, SeqCst);
///         fence(SeqCst); // on a board: a barrier after the write to a device
///     }
/// }
///
/// let parker: WfiIpi<Mailbox> = WfiIpi::new();
/// parker.unpark();
/// parker.park(); // returns at once, and takes the token
/// ```
#[doc(alias = "SGI")]
pub trait Ipi: 'static {
    /// The interrupts of a core.
    type Interrupts: Interrupts;

    /// Returns the number of the calling core.
    fn this_core() -> usize;

    /// Makes the interrupt pending on a core, which may be the calling one. Interrupt handlers may
    /// call this, and several cores at the same time.
    ///
    /// Everything that this core wrote to memory before must be visible to the other core when the
    /// interrupt is. As a rule, that takes a barrier before the write to the controller.
    fn send(core: usize);

    /// Clears the interrupt on the calling core: it is no longer pending. Does nothing if it was
    /// not.
    ///
    /// [`WfiIpi`] calls this after each halt, and so does the firmware's own handler for the
    /// interrupt. If only a handler can do it, as on x86, only the handler calls it.
    ///
    /// Reads of memory that follow must not be performed before the interrupt is cleared. As a
    /// rule, that takes a barrier after the write to the controller. An interrupt that is sent
    /// later becomes pending again.
    fn clear();
}

/// Events between cores, as on Arm: each core has an event register of one bit.
///
/// Implemented for Arm's architectures in `pool_spin::arch`.
///
/// # Examples
/// ```
/// use core::hint::spin_loop;
///
/// use pool_spin::Events;
///
/// /// A core without events: it looks again and again.
/// struct NoEvents;
///
/// impl Events for NoEvents {
///     fn send() {}
///
///     fn wait() {
///         spin_loop();
///     }
/// }
/// ```
pub trait Events: 'static {
    /// Sets every core's event register, after everything that this core wrote before has become
    /// visible. Interrupt handlers may call this.
    fn send();

    /// Halts until this core's event register is set, and clears it. May return spuriously.
    ///
    /// Reads of memory that follow must not be performed before the register is cleared: a read
    /// that is performed earlier misses what another core wrote before the event.
    fn wait();
}
