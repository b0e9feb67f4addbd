//! Two closures, potentially in parallel, with the caller's value of [`TLV`](crate::tlv::TLV).

use pool_std::FnContext;
use rayon_names::guests::WITHOUT_GUESTS;

use crate::tlv::Value;

/// Runs two closures, potentially in parallel, and returns both results: [`pool_std::join()`].
///
/// # Panics
/// Continues the panic of a closure, the first's if both panic.
///
/// # Examples
/// ```
/// assert_eq!(rayon_core::join(|| 1 + 2, || 3 + 4), (3, 7));
/// ```
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let value = Value::current();
    WITHOUT_GUESTS.join(move || value.with(oper_a), move || value.with(oper_b))
}

/// Runs two closures as [`join`] does, and tells each whether another thread than its caller's runs
/// it: [`pool_std::join_context`].
///
/// # Panics
/// As [`join`].
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let value = Value::current();
    WITHOUT_GUESTS.join_context(
        move |context| value.with(|| oper_a(context)),
        move |context| value.with(|| oper_b(context)),
    )
}
