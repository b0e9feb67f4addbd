//! Functions that are constant except in models.

/// Defines a function that is `const` except under loom, whose atomics cannot be created in a
/// constant.
#[macro_export]
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
    ($(#[$meta:meta])* $vis:vis unsafe fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const unsafe fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis unsafe fn $($rest)*
    };
}
