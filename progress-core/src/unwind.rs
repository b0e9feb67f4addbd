//! Steps that are completed although code of the program panics in the middle of them.
//!
//! A parker, a wake-up and an operation are code of the program, and may panic. The caller of such
//! code leaves nothing half done: the panic goes on only after the rest of the step. If the rest
//! panics too, the process ends, as it does whenever a drop panics while another panic unwinds.

/// Calls a closure when it is dropped, unless it was disarmed.
struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    #[inline]
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            call();
        }
    }
}

/// Calls `step` and then `last`, which is called even if `step` panics.
#[inline]
pub(crate) fn finally<R>(step: impl FnOnce() -> R, last: impl FnOnce()) -> R {
    let _last = OnDrop(Some(last));
    step()
}

/// Calls `step`. If it panics, calls `repair` before the panic goes on.
#[inline]
pub(crate) fn on_unwind<R>(step: impl FnOnce() -> R, repair: impl FnOnce()) -> R {
    let mut repair = OnDrop(Some(repair));
    let result = step();
    repair.0 = None;
    result
}

/// Calls a closure for each item. If a call panics, calls it for the other items before the panic
/// goes on.
pub(crate) fn for_each<T>(items: impl IntoIterator<Item = T>, call: impl FnMut(T)) {
    // The drop finds no items if no call panics.
    let items = items.into_iter().fuse();
    ForEach { items, call }.run();
}

struct ForEach<T, I: Iterator<Item = T>, F: FnMut(T)> {
    items: I,
    call: F,
}

impl<T, I: Iterator<Item = T>, F: FnMut(T)> ForEach<T, I, F> {
    fn run(&mut self) {
        for item in self.items.by_ref() {
            (self.call)(item);
        }
    }
}

impl<T, I: Iterator<Item = T>, F: FnMut(T)> Drop for ForEach<T, I, F> {
    fn drop(&mut self) {
        self.run();
    }
}
