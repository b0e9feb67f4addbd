//! Systems that are not asked for anything.

use std::time::Duration;

use super::Stack;

pub(crate) const fn process_time() -> Option<Duration> {
    None
}

pub(crate) const fn stack_of_this_thread() -> Option<Stack> {
    None
}

pub(crate) const fn register_process_fence() -> bool {
    false
}

pub(crate) const fn process_fence() -> bool {
    false
}

pub(crate) const fn registers_at_once() -> bool {
    true
}
