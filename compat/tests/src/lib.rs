//! What rayon-core documents, and rustc's fork of it documents too, as tests.
//!
//! The module `documented` has the tests. The programs `for_rayon` and `for_rustc` run it on our
//! drop-ins, and the lane `rayon` on the originals. What must not compile is a macro, for the
//! drop-ins' own documentation tests.

mod must_not_compile;
