//! No reader is overtaken.

use super::*;

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

/// Runs a scene in which one thread reads, and another one frees.
fn one_reads_and_another_frees(read: fn(&Scene)) {
    model(3, move || {
        let scene = Scene::new(1);
        let reader = Scene::run(&scene, read);
        scene.replace_and_free();
        reader.join().unwrap();
    });
}

fn read_during_delay(scene: &Scene) {
    let _delay = scene.progress.delay();
    scene.read();
}

fn read_during_counted_delay(scene: &Scene) {
    let _delay = scene.progress.delay_counted();
    scene.read();
}

#[test]
fn a_reader_that_delays() {
    one_reads_and_another_frees(read_during_delay);
}

#[test]
fn a_reader_that_delays_by_a_counter() {
    one_reads_and_another_frees(read_during_counted_delay);
}

/// Lets two threads delay in the same line. The second one may find the word taken, or have it
/// after the first one.
#[test]
fn two_readers_that_delay() {
    model(3, || {
        let scene = Scene::new(0);
        let readers = [(); 2].map(|()| Scene::run(&scene, read_during_delay));
        scene.replace();
        let value = scene.progress.later();
        lead(&scene);
        if scene.progress.has_reached(value) {
            scene.free();
        }
        for reader in readers {
            reader.join().unwrap();
        }
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

/// Registers and drops a reader while a managed thread blocks. The blocker does not wait for the
/// reader, and does not mistake its participant for that of a managed thread.
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

/// Reads on a managed thread, which is active meanwhile.
fn read_while_active(scene: &Scene) {
    let mut this = scene.progress.register().unwrap();
    let active = this.activate();
    scene.read();
    drop(active);
    // Its drop would only make the model larger.
    core::mem::forget(this);
}

/// Explores a thread that leads and frees, another managed one, and one that delays.
#[test]
fn two_managed_and_one_unmanaged() {
    static FREED: Tally = Tally::new(0);
    model(2, || {
        let scene = Scene::new(2);
        let delaying = Scene::run(&scene, read_during_delay);
        let managed = Scene::run(&scene, read_while_active);
        scene.replace();
        let value = scene.progress.later();
        lead(&scene);
        if scene.progress.has_reached(value) {
            FREED.fetch_add(1, SeqCst);
            scene.free();
        }
        delaying.join().unwrap();
        managed.join().unwrap();
    });
    assert!(FREED.load(SeqCst) > 0);
}

/// Frees on an active thread that leads, and that requests a moment by what it has confirmed
/// itself.
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

/// Leads for as many advances as a moment needs to be reached, without the waiting around them,
/// which would only make a model larger.
fn lead(scene: &Scene) {
    if scene.progress.try_lead() {
        for _ in 0..2 {
            scene.progress.try_advance();
        }
        scene.progress.stop_leading();
    }
}

/// Runs a scene in which one thread frees, another one leads, and a third one begins to read. It
/// takes four preemptions to go wrong.
fn one_frees_and_another_leads(read: fn(&Scene)) {
    static FREED: Tally = Tally::new(0);
    model(4, move || {
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

/// Lets two threads lead, one after the other, without anything else between the two than the
/// leadership. The second one goes on where the first one has stopped to scan: if it began behind a
/// participant, it would overtake that reader.
#[test]
fn two_leaders_in_turn() {
    static FREED: Tally = Tally::new(0);
    model(3, || {
        let scene = Scene::new(2);
        let reader = Scene::run(&scene, read_while_active);
        let leader = Scene::run(&scene, |scene| {
            if scene.progress.try_lead() {
                scene.progress.try_advance();
                scene.progress.stop_leading();
            }
        });
        scene.replace();
        let value = scene.progress.later();
        lead(&scene);
        if is_reached(scene.progress.current(), value.raw) {
            FREED.fetch_add(1, SeqCst);
            scene.free();
        }
        leader.join().unwrap();
        reader.join().unwrap();
    });
    assert!(FREED.load(SeqCst) > 0);
}

#[test]
fn a_leader_that_does_not_free_and_a_reader() {
    one_frees_and_another_leads(|scene| {
        let mut this = scene.progress.register_reader().unwrap();
        let reading = this.delay();
        scene.read();
        drop(reading);
        // Its drop would only make the model larger.
        core::mem::forget(this);
    });
}

#[test]
fn a_leader_that_does_not_free_and_a_delay() {
    one_frees_and_another_leads(read_during_delay);
}

#[test]
fn a_leader_that_does_not_free_and_a_counted_delay() {
    one_frees_and_another_leads(read_during_counted_delay);
}

/// Lets a delay look at the value a second time after two advances: its count is not where the
/// third advance looks. The leader makes all three, and another thread frees.
#[test]
fn a_counted_delay_that_two_advances_overtake() {
    two_advances_overtake(read_during_counted_delay);
}

/// Lets a delay confirm a value that was passed, and then one that the leader may not have seen.
#[test]
fn a_delay_that_two_advances_overtake() {
    two_advances_overtake(read_during_delay);
}

fn two_advances_overtake(read: fn(&Scene)) {
    static FREED: Tally = Tally::new(0);
    model(4, move || {
        let scene = Scene::new(0);
        let reader = Scene::run(&scene, read);
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

/// Starts a thread that frees when it has only seen the value, to which yet another thread leads:
/// the leader may not have come to its fence.
fn free_behind_a_leader(scene: &Arc<Scene>, freed: &'static Tally) -> thread::JoinHandle<()> {
    let scene = scene.clone();
    thread::spawn(move || {
        scene.replace();
        let value = scene.progress.later();
        let leader = Scene::run(&scene, |scene| {
            assert!(scene.progress.try_lead());
            for _ in 0..2 {
                scene.progress.try_advance();
            }
        });
        // So that the leader comes first, without a preemption.
        thread::yield_now();
        if is_reached(scene.progress.current(), value.raw) {
            freed.fetch_add(1, SeqCst);
            scene.free();
        }
        leader.join().unwrap();
    })
}

/// Checks that what was read during a delay happens before the freeing. Only the orderings of the
/// delay's end and of the leader's look at it see to that.
#[test]
fn the_end_of_a_delay_is_received_with_the_value() {
    the_end_is_received(TestProgress::delay);
}

#[test]
fn the_end_of_a_counted_delay_is_received_with_the_value() {
    the_end_is_received(TestProgress::delay_counted);
}

fn the_end_is_received(begin: fn(&TestProgress) -> Delay<'_, TestDomain>) {
    static FREED: Tally = Tally::new(0);
    model(3, move || {
        let scene = Scene::new(0);
        let delay = begin(&scene.progress);
        let writer = free_behind_a_leader(&scene, &FREED);
        scene.read();
        drop(delay);
        writer.join().unwrap();
    });
    assert!(FREED.load(SeqCst) > 0);
}

/// Checks the same of a participant. The reader's fence comes after its store, and does not help.
#[test]
fn the_end_of_reading_is_received_with_the_value() {
    static FREED: Tally = Tally::new(0);
    model(3, || {
        let scene = Scene::new(1);
        let mut this = scene.progress.register_reader().unwrap();
        let reading = this.delay();
        let writer = free_behind_a_leader(&scene, &FREED);
        scene.read();
        drop(reading);
        writer.join().unwrap();
        // Its drop would only make the model larger.
        core::mem::forget(this);
    });
    assert!(FREED.load(SeqCst) > 0);
}

/// Checks the second event: each thread that reads has executed a full fence between `later` and
/// the moment. So what is published afterwards needs neither release nor acquire.
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

/// Lets two threads block, each of which writes what the other one does.
#[test]
fn two_blockers_exclude_each_other() {
    model(2, || {
        let scene = Scene::new(2);
        fn block_and_write(scene: &Scene) {
            let mut this = scene.progress.register().unwrap();
            let blocked = this.block();
            scene.free();
            drop(blocked);
        }
        let other = Scene::run(&scene, block_and_write);
        block_and_write(&scene);
        other.join().unwrap();
    });
}
