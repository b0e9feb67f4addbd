//! Locks for the threads of a browser. One that must not wait spins instead.

use std::{
    hint,
    ops::{Deref, DerefMut},
    sync::{self, LockResult, PoisonError, TryLockError, TryLockResult},
    time::Duration,
};

use js_sys::{Atomics, Int32Array, SharedArrayBuffer};

use super::lock;

/// Whether this thread may wait. A page's main thread may not, nor may a worklet.
fn may_wait() -> bool {
    thread_local! {
        // Such a thread gets an exception from this call. The call returns at once in others,
        // because the word has another value.
        static MAY_WAIT: bool =
            Atomics::wait(&Int32Array::new(&SharedArrayBuffer::new(4)), 0, 1).is_ok();
    }
    MAY_WAIT.with(|may_wait| *may_wait)
}

/// A mutex for which a thread that must not wait spins.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(sync::Mutex<T>);

/// Access to what is in a [`Mutex`], until it is dropped.
#[derive(Debug)]
pub(crate) struct MutexGuard<'m, T> {
    mutex: &'m Mutex<T>,
    locked: sync::MutexGuard<'m, T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        if may_wait() {
            return self.guard(self.0.lock());
        }
        loop {
            match self.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(error)) => return Err(error),
                // Liveness: no thread keeps a lock of this crate while it waits for another one.
                Err(TryLockError::WouldBlock) => hint::spin_loop(),
            }
        }
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(locked) => Ok(self.guard(Ok(locked))?),
            Err(TryLockError::Poisoned(error)) => Ok(self.guard(Err(error))?),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        }
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }

    fn guard<'m>(
        &'m self,
        locked: LockResult<sync::MutexGuard<'m, T>>,
    ) -> LockResult<MutexGuard<'m, T>> {
        let guard = |locked| MutexGuard {
            mutex: self,
            locked,
        };
        match locked {
            Ok(locked) => Ok(guard(locked)),
            Err(error) => Err(PoisonError::new(guard(error.into_inner()))),
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.locked
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.locked
    }
}

/// A condition. A thread that must not wait gives the lock back, and looks again.
#[derive(Debug, Default)]
pub(crate) struct Condvar(sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut holds: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'m, T>> {
        // Liveness: that of the caller, who says which thread ends the condition.
        while holds(&mut guard) {
            guard = self.wait_once(guard, None);
        }
        Ok(guard)
    }

    /// May return early, since the standard library has no clock here: callers look again.
    pub(crate) fn wait_timeout_while<'m, T>(
        &self,
        mut guard: MutexGuard<'m, T>,
        limit: Duration,
        holds: impl FnOnce(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'m, T>, ())> {
        if holds(&mut guard) {
            guard = self.wait_once(guard, Some(limit));
        }
        Ok((guard, ()))
    }

    /// Waits until it is notified, until the limit, or for no reason.
    fn wait_once<'m, T>(
        &self,
        guard: MutexGuard<'m, T>,
        limit: Option<Duration>,
    ) -> MutexGuard<'m, T> {
        let MutexGuard { mutex, locked } = guard;
        if !may_wait() {
            drop(locked);
            hint::spin_loop();
            return lock(mutex);
        }
        let locked = match limit {
            None => self.0.wait(locked).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                let waited = self.0.wait_timeout(locked, limit);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        MutexGuard { mutex, locked }
    }
}

/// A value that is written once. A thread that must not wait spins while another one makes it.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    value: sync::OnceLock<T>,
    /// Held by the thread that writes the value, so that the standard library finds no other one.
    writing: Mutex<()>,
}

impl<T> OnceLock<T> {
    pub(crate) const fn new() -> Self {
        Self {
            value: sync::OnceLock::new(),
            writing: Mutex::new(()),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut()
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let _writing = lock(&self.writing);
        self.value.set(value)
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.value.get() {
            return value;
        }
        let _writing = lock(&self.writing);
        self.value.get_or_init(make)
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        Self {
            value: value.into(),
            writing: Mutex::new(()),
        }
    }
}
