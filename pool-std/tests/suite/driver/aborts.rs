//! Panics where a frame must not be left.

use pool_std::{
    IdlePolicy, SleepKind,
    driver::{ChannelFull, Hint},
};

use super::*;
use crate::handlers::child_aborts;

const PARKER: &str = "pool-std: the parker of a driver panicked; aborting";

/// Panics in one of its methods.
struct Panics(&'static str);

impl Panics {
    fn call(&self, method: &str) {
        assert_ne!(self.0, method, "by design");
    }
}

impl Driver for Panics {
    fn parker(&self, _worker: usize) -> Option<Box<dyn WorkerParker>> {
        Some(Box::new(Self(self.0)))
    }

    fn end(&self) {
        self.call("end");
    }
}

impl WorkerParker for Panics {
    fn park(&self) {
        self.call("park");
        thread::yield_now();
    }

    fn unpark(&self) {
        self.call("unpark");
    }

    fn send(&self, _hint: Hint) -> Result<(), ChannelFull> {
        self.call("send");
        Err(ChannelFull)
    }

    fn receive(&self) -> Option<Hint> {
        self.call("receive");
        None
    }
}

fn use_pool(method: &'static str) {
    let builder = builder(2)
        .idle_policy(IdlePolicy::IMMEDIATE)
        .sleep(SleepKind::Hints);
    let pool = builder.driver(move |_| Ok(Panics(method))).build().unwrap();
    if method != "end" {
        // Until it is called.
        loop {
            pool.install(|| ());
        }
    }
    pool.shutdown().unwrap();
}

#[test]
fn a_park_that_panics_aborts() {
    let name = "driver::aborts::a_park_that_panics_aborts";
    child_aborts(name, PARKER, || use_pool("park"));
}

#[test]
fn an_unpark_that_panics_aborts() {
    let name = "driver::aborts::an_unpark_that_panics_aborts";
    child_aborts(name, PARKER, || use_pool("unpark"));
}

#[test]
fn a_send_that_panics_aborts() {
    let name = "driver::aborts::a_send_that_panics_aborts";
    child_aborts(name, PARKER, || use_pool("send"));
}

#[test]
fn a_receive_that_panics_aborts() {
    let name = "driver::aborts::a_receive_that_panics_aborts";
    child_aborts(name, PARKER, || use_pool("receive"));
}

#[test]
fn an_end_that_panics_aborts() {
    let name = "driver::aborts::an_end_that_panics_aborts";
    let message = "pool-std: the end of a driver panicked; aborting";
    child_aborts(name, message, || use_pool("end"));
}
