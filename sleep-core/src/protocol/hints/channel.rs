//! How a hint reaches the worker that it is for.

use core::fmt;

use crate::{
    parker::Parker,
    primitive::{AtomicU32, Ordering},
    protocol::hint::Hint,
};

#[cfg(test)]
mod tests;

/// Carries hints to a sleeping worker: tells not only that there is work, but also where.
///
/// It is a [`Parker`] whose token carries a hint, or it belongs to one.
///
/// # Implementing one
/// 1. [`send`](Self::send) that succeeds makes the parker's token available too, as
///    [`unpark`](Parker::unpark) does. The token must not become available before the hint, or the
///    worker wakes up without it.
/// 2. `send` is called by any thread, possibly by several at once and from interrupts; it neither
///    blocks nor allocates nor panics, and a channel that has no room returns [`ChannelFull`].
/// 3. [`receive`](Self::receive) is called by the worker alone. It takes no token.
///
/// [`ArrayChannel`] makes one for any parker. A parker that carries hints itself:
/// ```
/// use sleep_core::{ChannelFull, Hint, HintChannel, Parker};
/// use std::{io::{PipeReader, PipeWriter, Read as _, Write as _}, sync::Mutex};
///
/// /// The token is a hint in a pipe.
/// struct Pipe { reader: PipeReader, writer: PipeWriter, newest: Mutex<Option<Hint>> }
///
/// impl Parker for Pipe {
///     fn park(&self) {
///         let mut raw = [0; 4];
///         (&self.reader).read_exact(&mut raw).expect("the writer is open");
///         *self.newest.lock().unwrap() = Hint::from_raw(u32::from_ne_bytes(raw));
///     }
///     fn unpark(&self) {
///         let _ = self.send(Hint::Unknown);
///     }
/// }
///
/// impl HintChannel for Pipe {
///     type Parker = Self;
///     fn parker(&self) -> &Self { self }
///     fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
///         // A real one does not block: a pipe that is full holds a token already.
///         let sent = (&self.writer).write_all(&hint.to_raw().to_ne_bytes());
///         sent.map_err(|_| ChannelFull)
///     }
///     fn receive(&self) -> Option<Hint> { self.newest.lock().unwrap().take() }
/// }
///
/// let (reader, writer) = std::io::pipe()?;
/// let pipe = Pipe { reader, writer, newest: Mutex::new(None) };
/// pipe.send(Hint::Injector)?;
/// pipe.park();
/// assert_eq!(pipe.receive(), Some(Hint::Injector));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait HintChannel {
    /// Blocks the worker.
    type Parker: Parker;

    /// Returns the worker's parker.
    fn parker(&self) -> &Self::Parker;

    /// Queues a hint and makes the token available.
    ///
    /// # Errors
    /// [`ChannelFull`] if there is no room. The hint is dropped, and the token may not have been
    /// made available: the caller unparks.
    fn send(&self, hint: Hint) -> Result<(), ChannelFull>;

    /// Takes the oldest hint out of the channel, if it holds one.
    fn receive(&self) -> Option<Hint>;
}

/// A [`HintChannel`] has no room for one more hint.
///
/// # Examples
/// ```
/// assert_eq!(sleep_core::ChannelFull.to_string(), "the hint channel is full");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelFull;

impl fmt::Display for ChannelFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the hint channel is full")
    }
}

impl core::error::Error for ChannelFull {}

/// The number in a cell that holds no hint.
const EMPTY: u32 = 0;

/// A parker with a queue of up to `N` hints beside it, in a value of fixed size.
///
/// For bare metal, and wherever the parker itself cannot carry a hint. `N` must be a power of two.
/// A worker is sent one hint for each time that a notifier claims it, so a few are enough.
///
/// # Examples
/// ```
/// use sleep_core::{ArrayChannel, ChannelFull, Hint, HintChannel, Parker};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { /* WFE */ }
///     fn unpark(&self) { /* SEV */ }
/// }
///
/// static CHANNEL: ArrayChannel<Core, 2> = ArrayChannel::new(Core);
/// CHANNEL.send(Hint::Injector)?;
/// CHANNEL.send(Hint::Worker(3))?;
/// assert_eq!(CHANNEL.send(Hint::Unknown), Err(ChannelFull));
/// assert_eq!(CHANNEL.receive(), Some(Hint::Injector));
/// # Ok::<(), ChannelFull>(())
/// ```
pub struct ArrayChannel<P, const N: usize = 4> {
    /// The number of hints that were received. Changed by the worker alone. Like `reserved`, it
    /// wraps.
    received: AtomicU32,
    /// The number of cells that senders have reserved.
    reserved: AtomicU32,
    cells: [AtomicU32; N],
    parker: P,
}

impl<P, const N: usize> ArrayChannel<P, N> {
    /// `N` as a counter.
    const CAPACITY: u32 = {
        assert!(N.is_power_of_two(), "the capacity must be a power of two");
        assert!(N <= 1 << 16, "the capacity must be at most 65,536");
        // No bit is lost.
        #[allow(clippy::cast_possible_truncation)]
        let capacity = N as u32;
        capacity
    };

    const_unless_loom! {
        /// Creates an empty channel that unparks by this parker.
        ///
        /// That `N` is a power of two is checked when the program is compiled.
        #[must_use]
        pub fn new(parker: P) -> Self {
            const { assert!(Self::CAPACITY > 0) };
            Self {
                received: AtomicU32::new(0),
                reserved: AtomicU32::new(0),
                cells: empty_cells(),
                parker,
            }
        }
    }

    /// Creates an empty channel that has carried `hints` hints before.
    #[cfg(test)]
    pub(crate) fn after(hints: u32, parker: P) -> Self {
        Self {
            received: AtomicU32::new(hints),
            reserved: AtomicU32::new(hints),
            ..Self::new(parker)
        }
    }

    /// Fills the channel, without unparking.
    #[cfg(test)]
    pub(crate) fn jam(&self) {
        while self.push(Hint::Unknown).is_ok() {}
    }

    fn cell(&self, count: u32) -> &AtomicU32 {
        &self.cells[(count % Self::CAPACITY) as usize]
    }

    /// Queues a hint, without unparking.
    fn push(&self, hint: Hint) -> Result<(), ChannelFull> {
        // Ordering: Acquire on `received` pairs with the Release of `receive`: the cell that is
        // reserved again has been emptied before, so our store below comes after that one.
        // Relaxed on `reserved`: it only gives each sender a cell of its own.
        //
        // If our number is out of date, more hints may have been received than it says were sent.
        // That is not a full channel: then the exchange fails, and this is tried again.
        let reserved =
            self.reserved
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |reserved| {
                    let received = self.received.load(Ordering::Acquire);
                    let held = reserved.wrapping_sub(received).cast_signed();
                    (held < Self::CAPACITY.cast_signed()).then(|| reserved.wrapping_add(1))
                });
        match reserved {
            // Ordering: Relaxed: the number is all that is sent; the token orders the rest.
            Ok(count) => self.cell(count).store(hint.to_raw(), Ordering::Relaxed),
            Err(_) => return Err(ChannelFull),
        }
        Ok(())
    }
}

#[cfg(not(loom))]
const fn empty_cells<const N: usize>() -> [AtomicU32; N] {
    [const { AtomicU32::new(EMPTY) }; N]
}

#[cfg(loom)]
fn empty_cells<const N: usize>() -> [AtomicU32; N] {
    core::array::from_fn(|_| AtomicU32::new(EMPTY))
}

impl<P: Parker, const N: usize> HintChannel for ArrayChannel<P, N> {
    type Parker = P;

    fn parker(&self) -> &P {
        &self.parker
    }

    fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        self.push(hint)?;
        self.parker.unpark();
        Ok(())
    }

    /// Takes the oldest hint. If its sender has reserved a cell and not filled it yet, returns
    /// `None`; a later call returns the hint.
    fn receive(&self) -> Option<Hint> {
        // Ordering: Relaxed: only the worker changes it.
        let received = self.received.load(Ordering::Relaxed);
        // Ordering: Relaxed: the number is all that is received. The token says that it is there.
        let cell = self.cell(received);
        let raw = cell.load(Ordering::Relaxed);
        if raw == EMPTY {
            return None;
        }
        // No sender fills the cell until `received` says that it is free.
        //
        // Ordering: Relaxed, before the Release below.
        cell.store(EMPTY, Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire of `push`.
        self.received
            .store(received.wrapping_add(1), Ordering::Release);
        Hint::from_raw(raw)
    }
}

impl<P: fmt::Debug, const N: usize> fmt::Debug for ArrayChannel<P, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        let received = self.received.load(Ordering::Relaxed);
        let reserved = self.reserved.load(Ordering::Relaxed);
        f.debug_struct("ArrayChannel")
            .field("held", &reserved.wrapping_sub(received))
            .field("parker", &self.parker)
            .finish()
    }
}
