//! Small scenes in every interleaving. What readers look at is a loom cell, so that freeing it too
//! early is a race which loom reports; waiting for ever is a deadlock, which it reports as well.

use ::loom::{
    cell::UnsafeCell,
    model::Builder,
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::*;
use sleep_primitives::Ordering::Relaxed;

fn model(preemptions: usize, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(scene);
}

/// A structure of one element, which is replaced once.
struct Scene {
    progress: TestProgress,
    /// Which of the elements is in reach.
    reachable: AtomicUsize,
    elements: [UnsafeCell<usize>; 2],
}

impl Scene {
    fn new(participants: usize) -> Arc<Self> {
        Arc::new(Self {
            progress: progress(participants),
            reachable: AtomicUsize::new(0),
            elements: [UnsafeCell::new(1), UnsafeCell::new(1)],
        })
    }

    /// Reads the element that is in reach. Under protection.
    fn read(&self) {
        let index = self.reachable.load(Relaxed);
        // SAFETY: it is freed only when progress has been made.
        self.elements[index].with(|element| assert_eq!(unsafe { *element }, 1));
    }

    /// Puts the other element in reach.
    fn replace(&self) {
        self.reachable.store(1, Relaxed);
    }

    /// Frees the first element.
    fn free(&self) {
        // SAFETY: it is out of reach, and progress has been made.
        self.elements[0].with_mut(|element| unsafe { *element = 0 });
    }

    fn run(this: &Arc<Self>, body: fn(&Self)) -> thread::JoinHandle<()> {
        let scene = this.clone();
        thread::spawn(move || body(&scene))
    }

    fn run_with(this: &Arc<Self>, body: fn(&Arc<Self>)) -> thread::JoinHandle<()> {
        let scene = this.clone();
        thread::spawn(move || body(&scene))
    }

    fn replace_and_free(&self) {
        let mut this = self.progress.register().unwrap();
        self.replace();
        let value = self.progress.later();
        this.wait_for(value);
        self.free();
    }
}

#[test]
fn an_active_reader() {
    model(3, || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register().unwrap();
            let _active = this.activate();
            scene.read();
        });
        scene.replace_and_free();
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_that_updates() {
    model(2, || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register().unwrap();
            let mut active = this.activate();
            scene.read();
            active.tick();
            scene.read();
        });
        scene.replace_and_free();
        reader.join().unwrap();
    });
}

#[test]
fn a_reader_that_delays() {
    model(3, || {
        let scene = Scene::new(1);
        let reader = Scene::run(&scene, |scene| {
            let _delay = scene.progress.delay();
            scene.read();
        });
        scene.replace_and_free();
        reader.join().unwrap();
    });
}

#[test]
fn a_reader() {
    model(3, || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register_reader().unwrap();
            let _reading = this.delay();
            scene.read();
        });
        scene.replace_and_free();
        reader.join().unwrap();
    });
}

/// A reader comes and goes while a managed thread blocks: it is not waited for, and nobody who
/// blocks mistakes its line for one that must be waited for.
#[test]
fn blocking_passes_readers_by() {
    model(3, || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register_reader().unwrap();
            drop(this.delay());
            drop(this);
            drop(scene.progress.register().unwrap());
        });
        let mut this = scene.progress.register().unwrap();
        drop(this.block());
        reader.join().unwrap();
    });
}

/// Two managed threads and one that delays.
#[test]
fn two_managed_and_one_unmanaged() {
    model(2, || {
        let scene = Scene::new(2);
        let delaying = Scene::run(&scene, |scene| {
            let _delay = scene.progress.delay();
            scene.read();
        });
        let managed = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register().unwrap();
            let active = this.activate();
            scene.read();
            drop(active);
            // Its drop would only make the model larger.
            core::mem::forget(this);
        });
        scene.replace_and_free();
        delaying.join().unwrap();
        managed.join().unwrap();
    });
}

/// Who frees is active and leads, and asks by what it has itself confirmed.
#[test]
fn a_writer_that_leads() {
    model(2, || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register().unwrap();
            let mut active = this.activate();
            scene.read();
            active.tick();
            scene.read();
        });
        let mut this = scene.progress.register().unwrap();
        let mut active = this.activate();
        scene.replace();
        let value = active.later();
        active.tick();
        active.tick();
        drop(active);
        this.wait_for(value);
        scene.free();
        reader.join().unwrap();
    });
}

/// One thread frees, another one leads, a third one begins to read meanwhile. It takes four
/// preemptions to go wrong.
fn one_frees_and_another_leads(preemptions: usize, read: fn(&Scene), lead: fn(&Scene)) {
    static FREED: Tally = Tally::new(0);
    model(preemptions, move || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, read);
        let leader = Scene::run(&scene, lead);
        scene.replace();
        let value = scene.progress.later();
        leader.join().unwrap();
        if scene.progress.has_reached(value) {
            FREED.fetch_add(1, SeqCst);
            scene.free();
        }
        reader.join().unwrap();
    });
    assert!(FREED.load(SeqCst) > 0);
}

fn wait_once(scene: &Scene) {
    let mut this = scene.progress.register().unwrap();
    let value = scene.progress.later();
    this.wait_for(value);
}

#[test]
fn a_leader_that_does_not_free_and_a_reader() {
    one_frees_and_another_leads(
        4,
        |scene| {
            let mut this = scene.progress.register_reader().unwrap();
            let reading = this.delay();
            scene.read();
            drop(reading);
            // Its drop would only make the model larger.
            core::mem::forget(this);
        },
        wait_once,
    );
}

#[test]
fn a_leader_that_does_not_free_and_a_delay() {
    one_frees_and_another_leads(
        4,
        |scene| {
            let _delay = scene.progress.delay();
            scene.read();
        },
        wait_once,
    );
}

/// A delay looks at the value a second time after two advances: its count is not where the third
/// advance looks. The leader makes all three; another thread frees.
#[test]
fn a_delay_that_two_advances_overtake() {
    static FREED: Tally = Tally::new(0);
    model(4, || {
        let scene = Scene::new(0);
        let reader = Scene::run(&scene, |scene| {
            let _delay = scene.progress.delay();
            scene.read();
        });
        let leader = Scene::run(&scene, |scene| {
            assert!(scene.progress.try_lead());
            for _ in 0..3 {
                scene.progress.try_advance();
            }
            scene.progress.stop_leading();
        });
        scene.replace();
        let value = scene.progress.later();
        leader.join().unwrap();
        if scene.progress.has_reached(value) {
            FREED.fetch_add(1, SeqCst);
            scene.free();
        }
        reader.join().unwrap();
    });
    assert!(FREED.load(SeqCst) > 0);
}

/// What was read during a delay lies before the freeing, though the thread that frees has only seen
/// the value: the leader may not have come to its fence. The orderings of the delay's end and of the
/// leader's look at the counter do that, and nothing else.
#[test]
fn the_end_of_a_delay_is_received_with_the_value() {
    static FREED: Tally = Tally::new(0);
    model(3, || {
        let scene = Scene::new(0);
        let delay = scene.progress.delay();
        let writer = Scene::run_with(&scene, |scene| {
            scene.replace();
            let value = scene.progress.later();
            let leader = Scene::run(scene, |scene| {
                assert!(scene.progress.try_lead());
                for _ in 0..2 {
                    scene.progress.try_advance();
                }
            });
            // So that the leader comes first, without a preemption.
            thread::yield_now();
            if is_reached(scene.progress.current(), value.raw) {
                FREED.fetch_add(1, SeqCst);
                scene.free();
            }
            leader.join().unwrap();
        });
        scene.read();
        drop(delay);
        writer.join().unwrap();
    });
    assert!(FREED.load(SeqCst) > 0);
}

/// OTP-16870: all go to sleep at once, each with an operation that waits for progress.
#[test]
fn all_threads_sleep_at_once() {
    model(2, || {
        let scene = Scene::new(2);
        fn sleep(scene: &Scene) {
            let tally = StdArc::new(Tally::new(0));
            let mut this = scene.progress.register().unwrap();
            this.activate().schedule(counting(&tally));
            while this.pending() > 0 {
                this.wait();
            }
            assert_eq!(tally.load(SeqCst), 1);
        }
        let other = Scene::run(&scene, sleep);
        sleep(&scene);
        other.join().unwrap();
    });
}

/// A leader goes to wait while another thread relies on it.
#[test]
fn leader_hand_over() {
    model(2, || {
        let scene = Scene::new(2);
        let leader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register().unwrap();
            let mut active = this.activate();
            if active.update() {
                active.leader_update();
            }
        });
        let mut this = scene.progress.register().unwrap();
        let value = this.activate().later();
        this.wait_for(value);
        leader.join().unwrap();
    });
}

/// A delay ends while a thread waits for what it delayed.
#[test]
fn the_end_of_a_delay_wakes() {
    model(3, || {
        let scene = Scene::new(1);
        let delaying = Scene::run(&scene, |scene| drop(scene.progress.delay()));
        let mut this = scene.progress.register().unwrap();
        let value = scene.progress.later();
        this.wait_for(value);
        delaying.join().unwrap();
    });
}

/// A thread that is not managed waits for what another one delays.
#[test]
fn any_thread_waits() {
    model(3, || {
        let scene = Scene::new(0);
        let delaying = Scene::run(&scene, |scene| drop(scene.progress.delay()));
        let value = scene.progress.later();
        scene.progress.wait_for(value, &TestParker::new());
        delaying.join().unwrap();
    });
}

/// Two threads that are not managed wait, each perhaps while the other one leads.
#[test]
fn two_threads_that_are_not_managed_wait() {
    model(2, || {
        let scene = Scene::new(0);
        fn wait(scene: &Scene) {
            let value = scene.progress.later();
            scene.progress.wait_for(value, &TestParker::new());
        }
        let other = Scene::run(&scene, wait);
        wait(&scene);
        other.join().unwrap();
    });
}

/// A thread that is not managed schedules while another one stands in the way, or leads to poll a
/// value. When both are through, the operation is due: whichever was the last has made progress.
fn an_operation_is_due_in_the_end(preemptions: usize, participants: usize, other: fn(&Scene)) {
    model(preemptions, move || {
        let scene = Scene::new(participants);
        let tally = StdArc::new(Tally::new(0));
        let other = Scene::run(&scene, other);
        scene.progress.schedule(counting(&tally));
        other.join().unwrap();
        scene.progress.run_reached();
        assert_eq!(tally.load(SeqCst), 1);
    });
}

#[test]
fn an_operation_and_a_delay() {
    an_operation_is_due_in_the_end(3, 0, |scene| drop(scene.progress.delay()));
}

#[test]
fn an_operation_and_an_active_thread() {
    an_operation_is_due_in_the_end(2, 1, |scene| {
        let mut this = scene.progress.register().unwrap();
        let mut active = this.activate();
        let _ = active.update();
        active.leader_update();
    });
}

#[test]
fn an_operation_and_a_thread_that_polls() {
    an_operation_is_due_in_the_end(2, 0, |scene| {
        let value = scene.progress.later();
        scene.progress.has_reached(value);
    });
}

#[test]
fn two_operations() {
    static RUNS: Tally = Tally::new(0);
    model(2, || {
        RUNS.store(0, SeqCst);
        let scene = Scene::new(0);
        fn schedule(scene: &Scene) {
            scene.progress.defer(|| {
                RUNS.fetch_add(1, SeqCst);
            });
        }
        let other = Scene::run(&scene, schedule);
        schedule(&scene);
        other.join().unwrap();
        scene.progress.run_reached();
        assert_eq!(RUNS.load(SeqCst), 2);
    });
}

/// The second event: each thread that reads has executed a full fence between `later` and the
/// moment. So what is published after that needs neither release nor acquire.
#[test]
fn what_is_published_after_progress_is_seen_whole() {
    model(3, || {
        let words = Arc::new(core::array::from_fn::<_, 3, _>(|_| AtomicUsize::new(0)));
        let scene = Scene::new(2);
        let reader = {
            let (scene, words) = (scene.clone(), words.clone());
            thread::spawn(move || {
                let mut this = scene.progress.register().unwrap();
                let active = this.activate();
                let [is_published, first, second] = &*words;
                if is_published.load(Relaxed) == 1 {
                    assert_eq!((first.load(Relaxed), second.load(Relaxed)), (1, 1));
                }
                drop(active);
                // Its drop would only make the model larger.
                core::mem::forget(this);
            })
        };
        let [is_published, first, second] = &*words;
        first.store(1, Relaxed);
        second.store(1, Relaxed);
        let value = scene.progress.later();
        if scene.progress.has_reached(value) {
            is_published.store(1, Relaxed);
        }
        reader.join().unwrap();
    });
}

/// A thread goes, with an operation, while the other one waits for its own.
#[test]
fn operations_are_left_behind() {
    model(2, || {
        let scene = Scene::new(2);
        let tally = StdArc::new(Tally::new(0));
        let mut this = scene.progress.register().unwrap();
        let leaver = {
            let (scene, tally) = (scene.clone(), tally.clone());
            thread::spawn(move || {
                let mut this = scene.progress.register().unwrap();
                this.schedule(counting(&tally));
            })
        };
        while tally.load(SeqCst) == 0 {
            this.wait();
            thread::yield_now();
        }
        leaver.join().unwrap();
    });
}

#[test]
fn blocking_excludes_readers() {
    model(2, || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, |scene| {
            let mut this = scene.progress.register().unwrap();
            let mut active = this.activate();
            scene.read();
            let _ = active.update();
        });
        let mut this = scene.progress.register().unwrap();
        let blocked = this.block();
        scene.replace();
        scene.free();
        drop(blocked);
        reader.join().unwrap();
    });
}
