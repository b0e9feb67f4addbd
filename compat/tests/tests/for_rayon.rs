//! The drop-in for rayon-core does what the original documents.

extern crate rayon as rayon_core;

mod documented;
