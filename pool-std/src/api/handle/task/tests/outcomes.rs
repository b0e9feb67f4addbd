//! The outcomes of jobs in random sequences.

use super::*;

/// Ends a handle in one of many ways, which `number` selects.
fn end(mut handle: JoinHandle<Counted>, number: u32, counts: &Counts) {
    let waker = Waker::from(Arc::<Counts>::default());
    let mut context = Context::from_waker(&waker);
    if number & 1 != 0 && Pin::new(&mut handle).poll(&mut context).is_ready() {
        return;
    }
    if number & 2 != 0 {
        handle.wait_timeout(Duration::from_micros(u64::from(number % 50)));
    }
    if number & 4 != 0 {
        let has_aborted = handle.abort();
        assert!(!has_aborted || handle.is_finished());
        counts.aborted.fetch_add(usize::from(has_aborted), SeqCst);
    }
    if number >> 3 & 3 == 0 {
        drop(handle);
    } else if let Err(error) = handle.join() {
        assert!(error.is_aborted() || error.into_payload().is::<Expected>());
    }
}

/// Random sequences of joins, aborts, panics, drops, time limits and polls, from outside and on
/// workers. Nothing leaks, and each job either has run or was aborted.
#[test]
fn each_job_has_one_outcome_and_nothing_leaks() {
    let rounds = match std::env::var("STRESS_CYCLES") {
        _ if cfg!(miri) => 3,
        Ok(cycles) => cycles.parse::<u32>().unwrap() / 100,
        Err(_) => 100,
    };
    const JOBS: usize = if cfg!(miri) { 8 } else { 100 };
    for threads in [1, 2, 4] {
        let counts = Arc::<Counts>::default();
        let pool = pool(threads, &counts);
        let mut seed = 0x9e37_79b9_u32 | 1;
        let mut random = move || {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            seed
        };
        for round in 0..rounds {
            let numbers: Vec<_> = (0..JOBS).map(|_| random()).collect();
            let body = || {
                let spawn =
                    |&number: &u32| (pool.spawn_handle(job(&counts, number & 64 != 0)), number);
                let mut handles: Vec<_> = numbers.iter().map(spawn).collect();
                while !handles.is_empty() {
                    let next = numbers[handles.len() - 1] as usize % handles.len();
                    let (handle, number) = handles.swap_remove(next);
                    end(handle, number >> 7, &counts);
                }
            };
            match round % 3 {
                0 => body(),
                1 => pool.install(body),
                _ => pool.call(|| crate::isolate(body)),
            }
        }
        pool.wait_idle().unwrap();
        assert_eq!(Counts::get(&counts.alive), 0);
        let outcomes = Counts::get(&counts.run) + Counts::get(&counts.aborted);
        assert_eq!(outcomes, rounds as usize * JOBS);
    }
}
