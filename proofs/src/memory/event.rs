//! What a thread does to memory in one step.

use crate::litmus::{Location, Order, Value};

/// What a thread does to memory in one step. An update is one event, which reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Read(Location, Value, Order),
    Write(Location, Value, Order),
    /// The value that is read, and the one that is written.
    Update(Location, Value, Value, Order),
    Fence(Order),
    /// The begin and the end of a process fence. Both are sequentially consistent fences, and so is
    /// the [part](Self::RemoteFence) of each other thread.
    ProcessFenceBegins,
    ProcessFenceEnds,
    /// The part of the process fence with this number that another thread executes.
    RemoteFence(usize),
}

impl Event {
    pub(super) fn location(self) -> Option<Location> {
        match self {
            Self::Read(location, ..) | Self::Write(location, ..) | Self::Update(location, ..) => {
                Some(location)
            }
            _ => None,
        }
    }

    pub(super) fn read(self) -> Option<Value> {
        match self {
            Self::Read(_, value, _) | Self::Update(_, value, ..) => Some(value),
            _ => None,
        }
    }

    pub(super) fn written(self) -> Option<Value> {
        match self {
            Self::Write(_, value, _) | Self::Update(_, _, value, _) => Some(value),
            _ => None,
        }
    }

    pub(super) fn is_update(self) -> bool {
        matches!(self, Self::Update(..))
    }

    pub(super) fn order(self) -> Order {
        match self {
            Self::Read(.., order)
            | Self::Write(.., order)
            | Self::Update(.., order)
            | Self::Fence(order) => order,
            Self::ProcessFenceBegins | Self::ProcessFenceEnds | Self::RemoteFence(_) => {
                Order::SeqCst
            }
        }
    }

    pub(super) fn is_fence(self) -> bool {
        self.location().is_none()
    }

    pub(super) fn is_atomic(self) -> bool {
        !self.is_fence() && self.order() != Order::Plain
    }
}
