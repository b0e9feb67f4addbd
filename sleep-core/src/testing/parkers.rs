//! The check of a parker.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

use crate::Parker;

/// A park that lasts so long has lost its token. A check that passes does not wait for time.
const PATIENCE: Duration = Duration::from_secs(30);
const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
/// After so many looks in vain, a thread that waits for an answer pauses.
const MANY_LOOKS: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(1);

/// Checks that a parker keeps what [`Parker`] promises.
///
/// `make` creates a parker for the thread that calls it, which alone parks. A guest is another
/// thread.
///
/// The first part runs in one thread, and so in the same way each time. It checks that a token that
/// comes before `park` is kept; that `park` still returns after two calls of `unpark`; that the
/// worker and its guest have separate tokens; that `relax` returns; and that `now` does not
/// decrease. Then two threads pass numbers to each other. This finds a token that is lost in
/// between, or a number that is not visible after the `park`. These are races, so it may not find
/// them each time. The same is done with a guest, while the worker's own thread is in `park`.
///
/// # Examples
/// ```
/// use sleep_core::{Parker, testing::check_parker};
///
/// struct Thread(std::thread::Thread);
/// impl Parker for Thread {
///     fn park(&self) { std::thread::park() }
///     fn unpark(&self) { self.0.unpark() }
/// }
///
/// check_parker(|| Thread(std::thread::current()));
/// ```
///
/// # Panics
/// If a park does not return within half a minute although the token is there, or the parker breaks
/// another promise. The thread that hangs is left alone.
pub fn check_parker<P: Parker + Send + Sync + 'static>(make: impl Fn() -> P + Send + 'static) {
    check_within(PATIENCE, make);
}

/// Does what [`check_parker`] does, with another patience.
pub(super) fn check_within<P: Parker + Send + Sync + 'static>(
    patience: Duration,
    make: impl Fn() -> P + Send + 'static,
) {
    let (step, steps) = mpsc::channel();
    let thread = thread::spawn(move || {
        in_one_thread(&make(), &step);
        in_two_threads(&Arc::new(make()), &step);
        in_three_threads(&Arc::new(make()), &step);
    });
    let mut last = "";
    loop {
        match steps.recv_timeout(patience) {
            Ok("") => {}
            Ok(step) => last = step,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("the parker has lost a token, or does not return: {last}");
            }
            // The thread has ended.
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(payload) = thread.join() {
        resume_unwind(payload);
    }
}

fn in_one_thread<P: Parker>(parker: &P, step: &mpsc::Sender<&'static str>) {
    let begin = |what| step.send(what).expect("the check receives the steps");
    for _ in 0..3 {
        begin("`unpark`, then `park`");
        parker.unpark();
        parker.park();
    }
    begin("`unpark` twice, then `park`");
    parker.unpark();
    parker.unpark();
    parker.park();
    begin("`relax`");
    parker.relax();
    begin("`unpark`, `relax`, then `park`");
    parker.unpark();
    parker.relax();
    parker.park();
    begin("`unpark` and `unpark_guest`, then `park_guest` and `park`");
    parker.unpark();
    parker.unpark_guest();
    parker.park_guest();
    parker.park();
    begin("`unpark` and `unpark_guest`, then `park` and `park_guest`");
    parker.unpark();
    parker.unpark_guest();
    parker.park();
    parker.park_guest();
    begin("`now`");
    let mut last = None;
    for _ in 0..100 {
        let now = parker.now();
        assert!(now >= last, "the parker's clock goes backwards");
        last = now;
    }
}

/// Passes numbers from another thread to this one, which answers each.
fn in_two_threads<P: Parker + Send + Sync + 'static>(
    parker: &Arc<P>,
    step: &mpsc::Sender<&'static str>,
) {
    step.send("`park`, while another thread unparks")
        .expect("the check receives the steps");
    pass_numbers(parker, P::park, P::unpark, step);
}

/// Passes numbers to a guest, while the thread of the worker waits in `park`, as it does when it
/// has lent its seat.
fn in_three_threads<P: Parker + Send + Sync + 'static>(
    parker: &Arc<P>,
    step: &mpsc::Sender<&'static str>,
) {
    step.send("`park_guest`, while another thread unparks")
        .expect("the check receives the steps");
    let has_left = Arc::new(AtomicBool::new(false));
    let guest = {
        let (parker, has_left, step) = (parker.clone(), has_left.clone(), step.clone());
        thread::spawn(move || {
            pass_numbers(&parker, P::park_guest, P::unpark_guest, &step);
            has_left.store(true, Relaxed);
            parker.unpark();
        })
    };
    // Liveness: the guest gives the token when it has seen all numbers. If the parker has lost a
    // token, it does not, and the check fails.
    while !has_left.load(Relaxed) {
        parker.park();
        thread::yield_now();
    }
    if let Err(payload) = guest.join() {
        resume_unwind(payload);
    }
}

/// Passes numbers from another thread to this one, which parks by `park` and answers each.
fn pass_numbers<P: Parker + Send + Sync + 'static>(
    parker: &Arc<P>,
    park: fn(&P),
    unpark: fn(&P),
    step: &mpsc::Sender<&'static str>,
) {
    let numbers = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let other = {
        let (parker, numbers) = (parker.clone(), numbers.clone());
        thread::spawn(move || {
            for round in 1..=ROUNDS {
                numbers[0].store(round, Relaxed);
                unpark(&parker);
                // Liveness: the other thread answers when it has seen the number. If its parker has
                // lost the token, it does not, and the check fails.
                let mut looks = 0_u32;
                while numbers[1].load(Relaxed) < round {
                    thread::yield_now();
                    looks += 1;
                    if looks > MANY_LOOKS {
                        // A check that has failed leaves this thread behind, which must not keep a
                        // processor busy.
                        looks = 0;
                        thread::sleep(PAUSE);
                    }
                }
            }
        })
    };
    for round in 1..=ROUNDS {
        // Liveness: the token comes after the number. A park may return without it.
        while numbers[0].load(Relaxed) < round {
            park(parker);
        }
        numbers[1].store(round, Relaxed);
        step.send("").expect("the check receives the steps");
    }
    if let Err(payload) = other.join() {
        resume_unwind(payload);
    }
}
