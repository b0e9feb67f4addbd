//! The types that one instance is made of.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;

use sleep_core::Parker;

use crate::{AsymmetricFence, FullFences, Participant};

/// The types that a [`Progress`](crate::Progress) is made of, chosen by the program.
///
/// Tuples are domains: `(P, S)` has the parker `P`, the storage `S` and full fences, and
/// `(P, S, F)` has the fences `F` in addition. A program that names its instance in many places
/// defines a type of its own.
///
/// # Examples
/// ```
/// use progress_core::{Domain, FullFences, Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// enum Cores {}
///
/// impl Domain for Cores {
///     type Parker = Core;
///     type Participants = [Participant<Core>; 2];
///     type Fence = FullFences;
/// }
///
/// static PROGRESS: Progress<Cores> = Progress::new([const { Participant::new(Core) }; 2]);
/// ```
#[doc(alias = "Collector")]
pub trait Domain: Sized {
    /// The way in which a managed thread waits.
    ///
    /// Its methods should not panic. If one does, the panic continues in the thread that called it,
    /// after that thread has completed its step: guards still protect, and other threads are woken.
    /// A second panic before that ends the process.
    type Parker: Parker;
    /// The storage of the participants.
    type Participants: ParticipantStorage<Self::Parker>;
    /// The fences of readers and of the leader.
    type Fence: AsymmetricFence;
}

impl<P: Parker, S: ParticipantStorage<P>> Domain for (P, S) {
    type Parker = P;
    type Participants = S;
    type Fence = FullFences;
}

impl<P: Parker, S: ParticipantStorage<P>, F: AsymmetricFence> Domain for (P, S, F) {
    type Parker = P;
    type Participants = S;
    type Fence = F;
}

/// A place for the [`Participant`]s of one [`Progress`](crate::Progress).
///
/// Implemented by an array, a box with a slice, and a slice that is borrowed exclusively. A shared
/// slice is not enough, because two instances must not share participants.
///
/// # Safety
/// 1. `as_ref` returns the same participants each time. This includes calls after the value was
///    moved, except that participants which are part of the value move with it.
/// 2. As long as the value lives, no other instance uses any of these participants.
///
/// # Examples
/// See [`Progress`](crate::Progress), which is created with each kind of storage.
#[doc(alias = "Lines")]
pub unsafe trait ParticipantStorage<P>: AsRef<[Participant<P>]> {}

// SAFETY: obligation 1: an array returns itself and moves with its participants; an instance that
// is in use does not move. Obligation 2: the array owns the participants.
unsafe impl<P, const N: usize> ParticipantStorage<P> for [Participant<P>; N] {}

// SAFETY: obligation 1: the box leads to the same memory wherever the box is. Obligation 2: the box
// owns the participants.
#[cfg(feature = "alloc")]
unsafe impl<P> ParticipantStorage<P> for Box<[Participant<P>]> {}

// SAFETY: obligation 1: the reference leads to the same memory wherever the reference is.
// Obligation 2: the reference is exclusive.
unsafe impl<P> ParticipantStorage<P> for &mut [Participant<P>] {}
