//! The drop-in for rustc's fork of rayon-core does what both originals document.

extern crate rustc_rayon as rayon_core;

mod documented;
