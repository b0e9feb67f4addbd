//! What must not compile, as examples of documentation that name the library `rayon_core`.

/// Defines a module whose documentation is what must not compile. For a crate with the library
/// `rayon_core`.
#[macro_export]
macro_rules! must_not_compile {
    () => {
        mod must_not_compile {
            //! What must not compile, with the errors that say why.
            //!
            //! A value that may stay on its thread only, captured:
            //! ```compile_fail,E0277
            //! let counter = std::rc::Rc::new(22);
            //! rayon_core::join(|| counter.clone(), || ());
            //! ```
            //! returned:
            //! ```compile_fail,E0277
            //! rayon_core::join(|| std::rc::Rc::new(22), || ());
            //! ```
            //! ```compile_fail,E0277
            //! rayon_core::join(|| (), || std::rc::Rc::new(22));
            //! ```
            //! ```compile_fail,E0277
            //! rayon_core::scope(|_| std::rc::Rc::new(22));
            //! ```
            //! ```compile_fail,E0277
            //! rayon_core::broadcast(|_| std::rc::Rc::new(22));
            //! ```
            //! in a spawned job:
            //! ```compile_fail,E0277
            //! let counter = std::rc::Rc::new(22);
            //! rayon_core::spawn(move || drop(counter));
            //! ```
            //! ```compile_fail,E0277
            //! let counter = std::rc::Rc::new(22);
            //! rayon_core::in_place_scope(|scope| scope.spawn(|_| drop(counter)));
            //! ```
            //!
            //! The same slice in both halves of a join:
            //! ```compile_fail,E0524
            //! fn halves(values: &mut [u32]) {
            //!     rayon_core::join(|| values.sort(), || values.sort());
            //! }
            //! ```
            //! ```compile_fail,E0500
            //! fn halves(values: &mut [u32]) {
            //!     let (low, _) = values.split_at_mut(1);
            //!     rayon_core::join(|| low.sort(), || values.sort());
            //! }
            //! ```
            //! read in one while it is written in the other:
            //! ```compile_fail,E0502
            //! let mut count = 0;
            //! rayon_core::join(|| count += 1, || println!("{count}"));
            //! ```
            //!
            //! A job that borrows what ends with the scope's body:
            //! ```compile_fail,E0373
            //! rayon_core::scope(|scope| {
            //!     let short = 22;
            //!     scope.spawn(|_| println!("{short}"));
            //! });
            //! ```
            //! ```compile_fail,E0373
            //! rayon_core::scope_fifo(|scope| {
            //!     let short = 22;
            //!     scope.spawn_fifo(|_| println!("{short}"));
            //! });
            //! ```
            //! a spawned job that borrows anything:
            //! ```compile_fail,E0373
            //! let short = 22;
            //! rayon_core::spawn(|| println!("{short}"));
            //! ```
            //! a scope that leaves its scope:
            //! ```compile_fail,E0521
            //! let mut kept = None;
            //! rayon_core::in_place_scope(|scope| kept = Some(scope));
            //! ```
            //!
            //! What is true on one thread, used on another:
            //! ```compile_fail,E0277
            //! use rayon_core::{join_context, spawn};
            //! join_context(|context| spawn(move || drop(context)), |_| ());
            //! ```
            //! ```compile_fail,E0277
            //! rayon_core::broadcast(|context| rayon_core::join(|| context.index(), || ()).0);
            //! ```
            //! a builder, whose closure for names may stay on its thread only:
            //! ```compile_fail,E0277
            //! let builder = rayon_core::ThreadPoolBuilder::new();
            //! std::thread::spawn(move || drop(builder));
            //! ```
        }
    };
}
