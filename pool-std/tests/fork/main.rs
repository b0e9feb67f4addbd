//! Processes that fork while they have pools. In a program of its own, and each test in a process
//! of its own.

#![cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]

mod children;
#[path = "../support/fork.rs"]
mod support;
