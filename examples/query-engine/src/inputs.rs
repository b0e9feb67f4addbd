//! What queries read but do not compute.

use std::collections::HashMap;

use crate::rules::Rules;

/// Counts the changes of inputs. The first is 1; an input that was never set has "changed" at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Revision(u64);

/// The inputs, each with the revision of its last change.
pub(crate) struct Inputs<R: Rules> {
    revision: Revision,
    values: HashMap<R::Input, Input<R>>,
}

struct Input<R: Rules> {
    /// None if it was removed.
    value: Option<R::InputValue>,
    changed: Revision,
}

impl<R: Rules> Inputs<R> {
    pub(crate) fn new() -> Self {
        Self {
            revision: Revision(1),
            values: HashMap::new(),
        }
    }

    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Sets or removes an input. Returns whether that is a change; if not, the revision stays.
    pub(crate) fn set(&mut self, key: R::Input, value: Option<R::InputValue>) -> bool {
        if self.get(&key) == value.as_ref() {
            return false;
        }
        self.revision.0 += 1;
        let changed = self.revision;
        self.values.insert(key, Input { value, changed });
        true
    }

    pub(crate) fn get(&self, key: &R::Input) -> Option<&R::InputValue> {
        self.values.get(key)?.value.as_ref()
    }

    /// Whether an input has changed since a revision.
    pub(crate) fn changed_since(&self, key: &R::Input, revision: Revision) -> bool {
        self.values
            .get(key)
            .is_some_and(|input| input.changed > revision)
    }
}
