//! Steps of the protocol one by one, in one thread: what others do while workers sleep is done in
//! the last look of one of them.

use std::{boxed::Box, vec::Vec};

use super::super::*;
use crate::{
    Hint, Slot,
    testing::{TestParker, TestProtocol, TestSockets},
};

fn sockets(workers: usize) -> TestSockets {
    TestProtocol::new(workers, IdlePolicy::IMMEDIATE)
}

/// Plays workers that fall asleep one after the other. The look of the last one is `then`. All of
/// them see work in their looks.
fn while_asleep(sleep: &TestSockets, workers: &[usize], then: &dyn Fn()) {
    let Some((&worker, others)) = workers.split_first() else {
        return then();
    };
    let mut idle = sleep.start_looking(sleep.worker(worker).unwrap(), Purpose::Job);
    let mut has_looked = false;
    while !has_looked {
        sleep.no_work_found(&mut idle, &CoreLatch::new(), || {
            has_looked = true;
            while_asleep(sleep, others, then);
            true
        });
    }
    sleep.work_found(idle, || false);
}

fn post(sleep: &TestSockets, worker: usize, count: usize) {
    let worker = sleep.worker(worker).unwrap();
    sleep.announce(NewJobs::injected(count, true).at(Hint::worker(worker)));
}

#[test]
fn a_poster_forgets_a_socket_whose_workers_are_awake() {
    let sleep = sockets(2);
    assert!(sleep.all_are_awake());
    while_asleep(&sleep, &[1], &|| assert!(!sleep.all_are_awake()));
    assert!(
        !sleep.all_are_awake(),
        "a worker that wakes up leaves the bit"
    );
    post(&sleep, 0, 1);
    assert!(sleep.all_are_awake());
}

#[test]
fn a_poster_goes_on_to_another_socket_if_its_own_is_busy() {
    let sleep = sockets(8);
    while_asleep(&sleep, &[4, 5, 6], &|| {
        post(&sleep, 0, 1);
        assert_eq!(sleep.num_sleeping(), 2);
        let searching = sleep.start_looking(sleep.worker(1).unwrap(), Purpose::Job);
        post(&sleep, 0, 2);
        assert_eq!(sleep.num_sleeping(), 2, "a worker of each socket is idle");
        sleep.work_found(searching, || false);
        post(&sleep, 0, 2);
        assert_eq!(sleep.num_sleeping(), 1);
    });
}

#[test]
fn a_poster_begins_where_the_jobs_are() {
    let sleep = sockets(8);
    let asleep = || [0, 1].map(|socket| sleep.sockets()[socket].num_sleeping());
    while_asleep(&sleep, &[0, 1, 4, 5], &|| {
        post(&sleep, 7, 1);
        assert_eq!(asleep(), [2, 1]);
        sleep.announce(NewJobs::injected(1, true).at(Hint::Injector));
        assert_eq!(asleep(), [1, 1]);
        // There is no such worker. One of the first socket is idle by now.
        sleep.announce(NewJobs::injected(2, true).at(Hint::Worker(u16::MAX)));
        assert_eq!(asleep(), [0, 1]);
    });
}

#[test]
fn a_backlog_wakes_workers_though_some_are_idle() {
    let sleep = sockets(8);
    while_asleep(&sleep, &[4, 5], &|| {
        let searching = sleep.start_looking(sleep.worker(1).unwrap(), Purpose::Job);
        post(&sleep, 0, 1);
        assert_eq!(sleep.num_sleeping(), 2);
        let worker = Hint::worker(sleep.worker(0).unwrap());
        sleep.announce(NewJobs::injected(1, false).at(worker));
        assert_eq!(sleep.num_sleeping(), 1);
        sleep.work_found(searching, || false);
    });
}

#[test]
fn jobs_for_single_workers_wake_them_alone() {
    let sleep = sockets(8);
    while_asleep(&sleep, &[0, 1, 2, 4, 5, 7], &|| {
        let workers = [1, 2, 5, 7].map(|index| sleep.worker(index).unwrap());
        sleep.announce_for(workers);
        assert_eq!(sleep.num_sleeping(), 2);
        assert!(sleep.wake_worker(sleep.worker(0).unwrap()));
        assert!(sleep.wake_worker(sleep.worker(4).unwrap()));
    });
}

#[test]
fn a_poster_wakes_two_workers_of_each_other_socket() {
    let sleep = sockets(8);
    while_asleep(&sleep, &[0, 4, 5, 6, 7], &|| {
        post(&sleep, 0, 8);
        assert_eq!(sleep.sockets()[0].num_sleeping(), 0);
        assert_eq!(sleep.sockets()[1].num_sleeping(), 2);
    });
}

#[test]
fn a_worker_passes_on_to_another_socket_once_its_own_is_busy() {
    let sleep = sockets(16);
    let start = |worker| sleep.start_looking(sleep.worker(worker).unwrap(), Purpose::Job);
    while_asleep(&sleep, &[8, 9, 10], &|| {
        let mut idle: Vec<_> = (0..8).map(start).collect();
        sleep.work_found(idle.pop().unwrap(), || {
            unreachable!("seven others are idle")
        });
        assert_eq!(sleep.num_sleeping(), 3);
        sleep.work_found(idle.pop().unwrap(), || true);
        assert_eq!(sleep.num_sleeping(), 1, "two of eight are active");
        for idle in idle {
            sleep.work_found(idle, || false);
        }
    });
}

#[test]
fn a_worker_with_eight_idle_ones_beside_it_wakes_none_elsewhere() {
    let sleep = sockets(24);
    let start = |worker| sleep.start_looking(sleep.worker(worker).unwrap(), Purpose::Job);
    while_asleep(&sleep, &[12], &|| {
        let mut idle: Vec<_> = (0..9).map(start).collect();
        sleep.work_found(idle.pop().unwrap(), || {
            unreachable!("eight others are idle")
        });
        sleep.work_found(idle.pop().unwrap(), || true);
        assert_eq!(sleep.num_sleeping(), 0);
        for idle in idle {
            sleep.work_found(idle, || false);
        }
    });
}

#[test]
fn a_worker_without_more_work_wakes_none() {
    let sleep = sockets(4);
    while_asleep(&sleep, &[2, 3], &|| {
        let idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
        sleep.work_found(idle, || false);
        assert_eq!(sleep.num_sleeping(), 2);
    });
}

#[test]
fn a_search_leaves_out_sleepers_of_a_socket_that_is_not_crowded() {
    let sleep = sockets(32);
    let seen = |caller| {
        let mut seen = Vec::new();
        sleep.any_awake(caller, 20, |worker| {
            seen.push(worker.get());
            false
        });
        seen
    };
    let caller = sleep.worker(3).unwrap();
    let all: Vec<usize> = (20..32).chain(16..20).chain(4..16).chain(0..4).collect();
    assert_eq!(seen(None), all);
    while_asleep(&sleep, &Vec::from_iter(16..32), &|| {
        let others: Vec<usize> = (4..16).chain(0..3).collect();
        assert_eq!(seen(Some(caller)), others);
    });
}

#[test]
fn a_guest_has_the_place_of_a_worker_of_any_socket() {
    let sleep = sockets(4);
    while_asleep(&sleep, &[3], &|| {
        let worker = sleep.borrow_sleeper(|_| true).unwrap();
        assert_eq!(worker.get(), 3);
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (0, 0));
        assert_eq!(sleep.borrow_sleeper(|_| true), None);
        assert!(!sleep.give_back(worker, || false));
        assert_eq!((sleep.num_inactive(), sleep.num_sleeping()), (1, 1));
        assert!(sleep.wake_worker(worker));
    });
}

#[test]
fn sockets_of_other_sizes_are_typed_errors() {
    let make = |sizes: &[usize]| {
        let jec = |&size| TestProtocol::new(size, IdlePolicy::DEFAULT);
        Sockets::new(
            sizes
                .iter()
                .map(jec)
                .collect::<Box<[Jec<Box<[Slot<TestParker>]>>]>>(),
        )
    };
    for sizes in [&[][..], &[0], &[3], &[3, 3, 1], &[2, 2]] {
        let sleep = make(sizes).unwrap();
        assert_eq!(sleep.num_workers(), sizes.iter().sum());
        assert!(!sleep.any_awake(None, 7, |_| false));
        sleep.announce(NewJobs::injected(1, true));
    }
    let uneven = |socket, workers| UnusableSockets::Uneven {
        socket,
        workers,
        expected: 3,
    };
    assert_eq!(make(&[3, 4]).unwrap_err(), uneven(1, 4));
    assert_eq!(make(&[3, 2, 3]).unwrap_err(), uneven(1, 2));
    assert_eq!(make(&[3, 3, 0]).unwrap_err(), uneven(2, 0));
    let error = make(&[1; usize::BITS as usize + 1]).unwrap_err();
    let text = std::format!(
        "{0} sockets, at most {1} are possible",
        usize::BITS + 1,
        usize::BITS
    );
    assert_eq!(std::string::ToString::to_string(&error), text);
}
