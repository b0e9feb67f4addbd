//! What both originals document. The library is `rayon_core` here, whichever it is.

mod broadcast;
mod join;
mod pool;
mod programs;
mod scope;
mod spawn;
