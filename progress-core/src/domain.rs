//! The types that one instance is made of.

use sleep_core::Parker;

use crate::{AsymmetricFence, FullFences, Lines};

/// The types that a [`Progress`](crate::Progress) is made of, chosen by the program.
///
/// Tuples are domains: `(P, S)` has the parker `P`, the storage `S` and full fences, and `(P, S, F)`
/// has the fences `F` too. A program that names its instance in many places defines a type of its own:
///
/// ```
/// use progress_core::{Domain, FullFences, Line, Progress};
/// # use sleep_core::Parker;
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// enum Cores {}
///
/// impl Domain for Cores {
///     type Parker = Core;
///     type Participants = [Line<Core>; 2];
///     type Fence = FullFences;
/// }
///
/// static PROGRESS: Progress<Cores> = Progress::new([const { Line::new(Core) }; 2]);
/// ```
pub trait Domain: Sized {
    /// The way in which a managed thread waits.
    type Parker: Parker;
    /// The storage of the threads' places: an array, a box, or a slice that is borrowed exclusively.
    type Participants: Lines<Self::Parker>;
    /// The fences of readers and of the leader.
    type Fence: AsymmetricFence;
}

impl<P: Parker, S: Lines<P>> Domain for (P, S) {
    type Parker = P;
    type Participants = S;
    type Fence = FullFences;
}

impl<P: Parker, S: Lines<P>, F: AsymmetricFence> Domain for (P, S, F) {
    type Parker = P;
    type Participants = S;
    type Fence = F;
}
