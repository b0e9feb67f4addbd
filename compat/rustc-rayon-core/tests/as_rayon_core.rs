//! What both rayon-core and rustc's fork document: rayon-core's tests. Those of spawned jobs are a target
//! of their own, because they run themselves again by name.

#[path = "../../rayon-core/tests/broadcast.rs"]
mod broadcast;
#[path = "../../rayon-core/tests/join.rs"]
mod join;
#[path = "../../rayon-core/tests/pool.rs"]
mod pool;
#[path = "../../rayon-core/tests/scope.rs"]
mod scope;
