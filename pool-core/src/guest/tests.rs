use super::*;

#[cfg(not(loom))]
mod liar;
#[cfg(loom)]
mod loom;
#[cfg(not(loom))]
mod threads;

impl<P: Platform> Registry<P> {
    /// Runs a closure as a guest, or else on a worker.
    pub(crate) fn call<R: Send>(
        &self,
        closure: impl FnOnce(&WorkerThread<P>, bool) -> R + Send,
    ) -> R {
        let mut closure = Some(closure);
        let mut run = |worker: &WorkerThread<P>, migrated| {
            let closure = closure.take().expect("it is run once");
            closure(worker, migrated)
        };
        match self.try_call(|worker| run(worker, false)) {
            Ok(result) => result,
            Err(_) => self.in_worker(run),
        }
    }
}
