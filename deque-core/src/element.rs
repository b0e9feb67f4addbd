//! Elements as machine words, so that a slot can be read by a thief while its owner writes it.

/// Calls a macro with the type names of each tuple that can be an element, of one to twelve.
macro_rules! for_each_tuple {
    ($tuples:ident) => {
        $tuples!(A);
        $tuples!(A B);
        $tuples!(A B C);
        $tuples!(A B C D);
        $tuples!(A B C D E);
        $tuples!(A B C D E F);
        $tuples!(A B C D E F G);
        $tuples!(A B C D E F G H);
        $tuples!(A B C D E F G H I);
        $tuples!(A B C D E F G H I J);
        $tuples!(A B C D E F G H I J K);
        $tuples!(A B C D E F G H I J K L);
    };
}

mod compound;
mod function;
mod number;
mod option;
#[cfg(feature = "alloc")]
mod owned;
mod pointer;
mod structure;
mod words;

#[cfg(all(test, not(loom), feature = "alloc"))]
mod tests;

pub use pointer::PointerWords;
pub(crate) use words::Slot;
pub use words::Words;

/// A value that can be taken apart into machine words and put together again.
///
/// A thief copies an element before it knows whether the element is its own; only the
/// compare-exchange that follows decides. Such a copy may be torn. So slots hold atomic words, in
/// which a torn copy is harmless, and an element is put together only after the decision. Words
/// are pointers, not integers, so that they keep their provenance.
///
/// | implemented for | words |
/// | --- | --- |
/// | integers, floats, `bool`, `char`, `NonZero` | as many as their bytes need |
/// | raw pointers, references, `NonNull`, functions | one; two to slices and trait objects |
/// | `Box`, `Rc`, `Arc`, their `Weak`s (`alloc`) | one; two to slices and trait objects |
/// | `Vec`, `String` (`alloc`) | three |
/// | `Waker` | two |
/// | tuples of up to twelve, arrays | the sum |
/// | `Option` of a pointer, and of every type with a [`Niche`] | no more |
/// | `Option` of a number or a raw pointer | one more |
/// | `()`, `PhantomData` | none |
///
/// [`impl_element!`](crate::impl_element) implements it for a struct whose fields are elements.
/// Anything else goes into a box: the bytes of an arbitrary type cannot be copied word by word,
/// because its padding is uninitialized memory and its pointers may lie across two words.
///
/// Each further word costs push, pop and steal one load or store. Elements that are queued in large
/// numbers are best one word.
///
/// # Safety
/// 1. `from_words(value.into_words())` returns `value`, also on another thread if the type is
///    `Send`.
/// 2. `into_words` gives up ownership: it drops nothing, and what the words refer to stays valid.
///    Neither function moves what a pointer leads to, since the pointer may be in a `Pin`.
///
/// # Examples
/// ```
/// use deque_core::{Element, Worker};
///
/// /// A job of two words, one of which is a mark.
/// #[derive(Debug, PartialEq)]
/// struct Job(Box<u32>, bool);
///
/// // SAFETY: 1. and 2. hold for the tuple.
/// unsafe impl Element for Job {
///     type Words = <(Box<u32>, bool) as Element>::Words;
///
///     fn into_words(self) -> Self::Words {
///         (self.0, self.1).into_words()
///     }
///
///     unsafe fn from_words(words: Self::Words) -> Self {
///         // SAFETY: both obligations are forwarded to the caller.
///         let (number, mark) = unsafe { Element::from_words(words) };
///         Self(number, mark)
///     }
/// }
///
/// let worker = Worker::new_lifo();
/// worker.push(Job(Box::new(7), true));
/// assert_eq!(worker.pop(), Some(Job(Box::new(7), true)));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be queued word by word",
    label = "not an `Element`",
    note = "queue a `Box<{Self}>`; or use `impl_element!(Job(run: Box<Work>))` for a struct `Job(Box<Work>)` of elements"
)]
pub unsafe trait Element: Sized {
    /// The words that the element takes: `[*mut (); N]`, or the words of other elements.
    type Words: Words;

    /// Takes the value apart.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Element;
    ///
    /// let words = (7_u8, true).into_words();
    /// // SAFETY: 1. these are its words; 2. they are used once.
    /// assert_eq!(unsafe { <(u8, bool)>::from_words(words) }, (7, true));
    /// ```
    fn into_words(self) -> Self::Words;

    /// Puts the value together.
    ///
    /// # Safety
    /// 1. `words` come from `into_words` of the same type.
    /// 2. They are put together at most once.
    ///
    /// # Examples
    /// See [`into_words`](Self::into_words).
    unsafe fn from_words(words: Self::Words) -> Self;
}

/// An element whose words are never all null, so that null words can stand for `None`.
///
/// # Safety
/// 1. [`into_words`](Element::into_words) never returns words that are all null.
///
/// # Examples
/// ```
/// use deque_core::{Element, Niche};
///
/// fn words<T: Element>() -> usize {
///     size_of::<T::Words>() / size_of::<*mut ()>()
/// }
///
/// fn takes_no_more_words<T: Niche>() -> bool {
///     words::<Option<T>>() == words::<T>()
/// }
///
/// assert!(takes_no_more_words::<Box<u32>>());
/// assert!(takes_no_more_words::<&dyn std::fmt::Debug>());
/// ```
pub unsafe trait Niche: Element {}

/// The slot type of an element type.
pub(crate) type SlotOf<T> = <<T as Element>::Words as Words>::Slot;

/// Drops what `take` returns until that is `None`. If a destructor panics, the others still run.
pub(crate) fn drop_all<T>(take: impl FnMut() -> Option<T>) {
    struct Rest<T, F: FnMut() -> Option<T>>(F);

    impl<T, F: FnMut() -> Option<T>> Drop for Rest<T, F> {
        fn drop(&mut self) {
            while let Some(element) = (self.0)() {
                drop(element);
            }
        }
    }

    let mut rest = Rest(take);
    while let Some(element) = (rest.0)() {
        drop(element);
    }
}
