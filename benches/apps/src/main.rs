//! Programs of rayon's iterators, to be measured on one rayon-core and on another.

mod facade;
mod input;
#[cfg(feature = "orx")]
mod orx;
mod programs;

use std::{env, io, rc::Rc};

use protocol::{Case, Unit, serve, thread_counts};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Whose rayon-core this was built with. The manifests see to it that it is true.
const SYSTEM: &str = match env!("CARGO_PKG_NAME").as_bytes() {
    b"apps-ours" => "ours",
    _ => "rayon-core",
};

/// The environment variable that keeps threads outside the global pool from taking the place of a
/// worker.
const GUESTS: &str = "RAYON_CORE_GUESTS";

fn main() -> io::Result<()> {
    let mut cases = Vec::new();
    let most = thread_counts().into_iter().max().unwrap_or(1);
    let has_guests = SYSTEM == "ours" && env::var_os(GUESTS).is_none_or(|value| value != *"0");
    let system = if has_guests { "ours-guests" } else { SYSTEM };
    cases.extend(facade::cases(most, system, SYSTEM == "rayon-core"));
    for threads in thread_counts() {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Rc::new(pool.map_err(io::Error::other)?);
        for program in programs::all() {
            cases.push(case(program, threads, &pool));
        }
        #[cfg(feature = "orx")]
        cases.extend(orx::cases(threads)?);
    }
    serve(cases)
}

fn case(mut program: programs::Program, threads: usize, pool: &Rc<ThreadPool>) -> Case {
    let pool = pool.clone();
    let unit = Unit::Microseconds;
    let run = move || unit.of((program.run)(&pool, program.repeats)) / f64::from(program.repeats);
    // With three threads on two processors, chance has its say.
    Case::new("apps", program.name, threads, SYSTEM, unit, run).repetitions(31)
}
