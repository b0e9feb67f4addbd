#![doc = include_str!("../README.md")]
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

#[macro_use]
extern crate sleep_primitives;

mod primitive;

mod batch;
mod deque;
mod element;
mod injector;
mod steal;

#[cfg(feature = "alloc")]
pub use deque::Growable;
pub use deque::{
    AlreadyOwned, Deque, FastPush, FencePrice, Fixed, Full, Handle, IS_MULTI_COPY_ATOMIC, Order,
    Position, Stealer, Storage, TakeBack, Worker,
};
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
pub use deque::{ArcStealer, ArcWorker};
pub use element::{Element, Niche, PointerWords, Words};
#[cfg(feature = "alloc")]
pub use injector::Injector;
pub use injector::{IntrusiveInjector, Node};
pub use sleep_primitives::AsymmetricFence;
pub use steal::Steal;

#[cfg(test)]
mod testing;
