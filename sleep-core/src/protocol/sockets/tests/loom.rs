//! Workers in sockets of their own, which sleep as early as they may, against posters; and two in
//! one socket. A worker that is not woken in time is a deadlock, which loom reports.
//!
//! What fails if something were missing:
//! - `a_post_that_misses_a_bit_is_made_up_for`: the fence of a poster; that poster wakes the
//!   workers which it sees then.
//! - `a_job_is_not_overlooked_while_a_guest_comes_and_goes`: the fence of a worker that sets the
//!   bit of its socket.
//! - `a_poster_that_clears_the_bit_wakes_a_worker_that_comes_back`: the fence of a poster that
//!   clears a bit, or its second look.
//! - `a_searcher_passes_on_a_job_to_another_socket`: the fence of a worker that has found a job in
//!   a socket without sleepers.
//! - `a_worker_that_is_left_out`: the fence of a worker that sets the bit, for searches that leave
//!   sleepers out.
//! - `a_bit_that_another_worker_has_set_announces_both`: the fence of a worker that finds the bit
//!   set.
//! - `a_guest_that_gives_its_place_back_sees_that_the_bit_is_clear`: a guest that gives its place
//!   back looks at the bit.

use ::loom::{
    model::Builder,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use super::super::*;
use crate::testing::{
    TestJec, TestProtocol, TestSockets,
    guests::{check_guests, come_and_go, post, set_latch},
    model::{Scene, check_pool, check_process_fence, check_sleepers},
};

#[test]
fn one_worker_one_poster() {
    check_pool::<TestSockets>(3, 1, &[1]);
}

/// With one forced switch of threads less. It shows what posting again adds: that the poster which
/// has cleared the bit sees it again.
#[test]
fn one_worker_two_posts() {
    check_pool::<TestSockets>(2, 1, &[1, 1]);
}

#[test]
fn two_sockets_one_poster() {
    check_pool::<TestSockets>(1, 2, &[1]);
}

#[test]
fn two_sockets_two_jobs_at_once() {
    check_pool::<TestSockets>(1, 2, &[2]);
}

#[test]
fn a_job_for_one_worker_is_not_overlooked() {
    check_sleepers::<TestSockets>(3, 1, |scene| {
        scene.sleep.announce_for([scene.sleep.worker(0).unwrap()]);
    });
}

#[test]
fn jobs_for_workers_of_two_sockets_are_not_overlooked() {
    check_sleepers::<TestSockets>(2, 2, |scene| {
        let worker = |index| scene.sleep.worker(index).unwrap();
        scene.sleep.announce_for([worker(0), worker(1)]);
    });
}

#[test]
fn a_process_fence_in_the_last_look_leaves_no_job_overlooked() {
    check_process_fence::<TestSockets>(3);
}

fn play(scene: &Arc<Scene<TestSockets>>, part: fn(&Scene<TestSockets>)) -> thread::JoinHandle<()> {
    let scene = scene.clone();
    thread::spawn(move || part(&scene))
}

/// Models a poster that wakes the worker of a socket for its first job, clears the bit, and posts
/// again, while the worker falls asleep again.
#[test]
fn a_poster_that_clears_the_bit_wakes_a_worker_that_comes_back() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let scene = Scene::<TestSockets>::new(1);
        let worker = play(&scene, |scene| {
            scene.run_until(0, |scene| scene.holds_job(0));
            scene.run_until(0, |scene| scene.holds_job(1));
        });
        for queue in [0, 1] {
            scene.queue(queue);
            scene.sleep.announce(NewJobs::injected(1, true));
        }
        worker.join().unwrap();
    });
}

/// Models the same, but another thread posts the second job. It may look while the bit is clear
/// though the worker sleeps again.
#[test]
fn a_post_that_misses_a_bit_is_made_up_for() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let scene = Scene::<TestSockets>::new(1);
        let worker = play(&scene, |scene| {
            scene.run_until(0, |scene| scene.holds_job(0));
            scene.run_until(0, |scene| scene.holds_job(1));
        });
        let second = play(&scene, |scene| {
            scene.queue(1);
            scene.sleep.announce(NewJobs::injected(1, true));
        });
        scene.queue(0);
        scene.sleep.announce(NewJobs::injected(1, true));
        worker.join().unwrap();
        second.join().unwrap();
    });
}

/// Models a sleeper in the second socket, a searcher in the first, and a poster. The searcher finds
/// a job in the first queue and leaves, while the poster puts a job into the second queue and
/// counts on the searcher if it reads the counters early enough. One of the two must wake the
/// sleeper.
#[test]
fn a_searcher_passes_on_a_job_to_another_socket() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let scene = Scene::<TestSockets>::new(2);
        let latch = CoreLatch::new();
        let [searcher, sleeper] = [0, 1].map(|index| scene.sleep.worker(index).unwrap());
        let searching = scene.sleep.start_looking(searcher, Purpose::Job);
        let mut idle = scene.sleep.start_looking(sleeper, Purpose::Job);
        scene.sleep.no_work_found(&mut idle, &latch, || false);
        scene.sleep.no_work_found(&mut idle, &latch, || {
            let searcher = {
                let scene = scene.clone();
                thread::spawn(move || scene.sleep.work_found(searching, || scene.has_work()))
            };
            scene.queue(1);
            scene.sleep.announce(NewJobs::injected(1, true));
            searcher.join().unwrap();
            assert_eq!(scene.sleep.num_sleeping(), 0);
            true
        });
        scene.sleep.work_found(idle, || false);
    });
}

#[test]
fn a_job_is_not_overlooked_while_a_guest_comes_and_goes() {
    check_guests::<TestSockets>(3, &[come_and_go, post]);
}

/// The same, with a poster that clears the bit of the socket while the guest has the place.
#[test]
fn a_guest_that_gives_its_place_back_sees_that_the_bit_is_clear() {
    check_guests::<TestSockets>(
        3,
        &[come_and_go, |house| {
            house.scene.sleep.announce(NewJobs::injected(0, true));
            post(house);
        }],
    );
}

#[test]
fn a_latch_is_not_overlooked_while_a_guest_comes_and_goes() {
    check_guests::<TestSockets>(2, &[come_and_go, set_latch]);
}

/// Models a worker of the first socket that is woken, queues a job, executes a fence, and asks
/// whether all are awake; and a worker of the second one that falls asleep, and leaves the first
/// one's queue out while that is registered. If the first one takes all for awake, the second one
/// must see the job.
#[test]
fn a_worker_that_is_left_out() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let sleep = Arc::new(<TestSockets as TestProtocol>::new(2, IdlePolicy::IMMEDIATE));
        let job = Arc::new(AtomicBool::new(false));
        let end = Arc::new(CoreLatch::new());
        let [owner, sleeper] = [0, 1].map(|index| sleep.worker(index).unwrap());
        let never = CoreLatch::new();
        let mut idle = sleep.start_looking(owner, Purpose::Job);
        sleep.no_work_found(&mut idle, &never, || false);
        let mut threads = std::vec::Vec::new();
        sleep.no_work_found(&mut idle, &never, || {
            // As if a poster had found the first socket awake. The owner asks after it has left.
            sleep.words.clear_asleep(0);
            let (sleep, job, end) = (sleep.clone(), job.clone(), end.clone());
            let other = sleep.clone();
            threads.push(thread::spawn(move || {
                let holds = |worker: WorkerIndex| worker == owner && job.load(Relaxed);
                let mut idle = sleep.start_looking(sleeper, Purpose::Job);
                while !end.probe() && !sleep.any_awake(Some(sleeper), 0, holds) {
                    sleep.no_work_found(&mut idle, &end, || sleep.any_awake(None, 0, holds));
                }
                sleep.work_found(idle, || false);
            }));
            threads.push(thread::spawn(move || _ = other.wake_worker(owner)));
            false
        });
        sleep.work_found(idle, || false);
        job.store(true, Relaxed);
        fence(Ordering::SeqCst);
        if !sleep.all_are_awake() {
            // SAFETY: 1. and 3. this function holds both; 2. the sleeper alone waits; 4. it waits
            // for nothing else.
            unsafe { crate::set_latch(&*sleep, &raw const *end, sleeper) };
        }
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Models two workers of one socket that register and look for a job, and a third thread that
/// queues one and sees no bit. The bit that one of the two sets must stand for both.
#[test]
fn a_bit_that_another_worker_has_set_announces_both() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let shared = Arc::new((Words::new(), AtomicBool::new(false)));
        let sleepers = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (words, job) = &*shared;
                fence(Ordering::SeqCst);
                words.note_sleeper(0);
                job.load(Relaxed)
            })
        });
        let (words, job) = &*shared;
        job.store(true, Relaxed);
        fence(Ordering::SeqCst);
        let all_are_awake = words.none_may_sleep();
        for sleeper in sleepers {
            let sees_job = sleeper.join().unwrap();
            assert!(!all_are_awake || sees_job, "the job is overlooked");
        }
    });
}

/// Models two workers of one socket, each of which passes on what it leaves, and a poster of two
/// jobs.
#[test]
fn two_workers_of_one_socket() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let jec = TestProtocol::new(2, IdlePolicy::IMMEDIATE);
        let sockets: std::boxed::Box<[TestJec]> = std::boxed::Box::from([jec]);
        let sleep = Sockets::new(sockets).unwrap();
        let pool = Arc::new((sleep, AtomicUsize::new(0)));
        let workers = [0, 1].map(|index| {
            let pool = pool.clone();
            thread::spawn(move || {
                let (sleep, job) = &*pool;
                let latch = CoreLatch::new();
                let worker = sleep.worker(index).unwrap();
                let mut idle = sleep.start_looking(worker, Purpose::Job);
                while job.load(Relaxed) == 0 {
                    sleep.no_work_found(&mut idle, &latch, || job.load(Relaxed) > 0);
                }
                sleep.work_found(idle, || true);
            })
        });
        let (sleep, job) = &*pool;
        job.store(1, Relaxed);
        sleep.announce(NewJobs::injected(2, true));
        for worker in workers {
            worker.join().unwrap();
        }
    });
}
