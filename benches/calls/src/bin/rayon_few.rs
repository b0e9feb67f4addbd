//! One call of rayon-core of each kind.

calls::program!(rayon_core);
