//! Structs of elements.

/// Implements [`Element`](crate::Element) for a struct whose fields are elements, up to twelve.
///
/// List all fields with their types, in the order in which the struct has them. The struct may
/// implement `Drop`; it is dropped once, wherever it is then.
///
/// # Examples
/// ```
/// use deque_core::{Worker, impl_element};
///
/// struct Task {
///     number: u32,
///     run: Box<dyn FnOnce(u32) -> u32 + Send>,
/// }
/// impl_element!(Task { number: u32, run: Box<dyn FnOnce(u32) -> u32 + Send> });
///
/// struct Range(usize, usize);
/// impl_element!(Range(from: usize, to: usize));
///
/// let worker = Worker::new_lifo();
/// worker.push(Task { number: 6, run: Box::new(|number| 7 * number) });
/// let task = worker.pop().expect("there is a task");
/// assert_eq!((task.run)(task.number), 42);
///
/// let worker = Worker::new_fifo();
/// worker.push(Range(0, 10));
/// assert!(matches!(worker.pop(), Some(Range(0, 10))));
/// ```
///
/// A field that is left out is an error:
/// ```compile_fail,E0023
/// struct Range(usize, usize);
/// deque_core::impl_element!(Range(from: usize));
/// ```
#[macro_export]
macro_rules! impl_element {
    ($type:ident { $($field:ident: $field_type:ty),* $(,)? }) => {
        $crate::impl_element!(@ $type, ($type { $($field),* }), $($field: $field_type),*);
    };
    ($type:ident ( $($field:ident: $field_type:ty),* $(,)? )) => {
        $crate::impl_element!(@ $type, ($type($($field),*)), $($field: $field_type),*);
    };
    (@ $type:ident, ($($all:tt)*), $($field:ident: $field_type:ty),*) => {
        // SAFETY: 1. and 2. hold for each field, and these are all: the pattern has no rest.
        unsafe impl $crate::Element for $type {
            type Words = <($($field_type,)*) as $crate::Element>::Words;

            #[inline]
            fn into_words(self) -> Self::Words {
                let this = ::core::mem::ManuallyDrop::new(self);
                let $($all)* = &*this;
                // SAFETY: each field is moved out once, and the struct is not dropped.
                let fields: ($($field_type,)*) = unsafe { ($(::core::ptr::read($field),)*) };
                $crate::Element::into_words(fields)
            }

            #[inline]
            unsafe fn from_words(words: Self::Words) -> Self {
                // SAFETY: both obligations are forwarded to the caller.
                let ($($field,)*) = unsafe {
                    <($($field_type,)*) as $crate::Element>::from_words(words)
                };
                $($all)*
            }
        }
    };
}
