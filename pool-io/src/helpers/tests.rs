//! What the helpers and the poller of a pool do.

use std::{net::UdpSocket, os::fd::AsRawFd as _, thread, time::Duration};

use pool_std::{ThreadPoolBuilder, driver};

use super::*;
use crate::{
    ThreadPoolBuilderExt as _,
    backend::{Backend, IoBackend, PoolIo},
    file::File,
};

/// A socket that keeps errors in a queue, with one in it that no read returns.
fn noisy_socket() -> UdpSocket {
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let on: libc::c_int = 1;
    // SAFETY: the number lives during the call, which gets its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_RECVERR,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    assert_eq!(result, 0);
    // A limit for a system that reports no error.
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket.connect(address).unwrap();
    socket.send(b"to a port that is closed").unwrap();
    // The first one returns the error once; the queue keeps it.
    assert!(socket.recv(&mut [0]).is_err());
    socket
}

/// `poll` reports its error without end.
#[test]
fn a_socket_with_a_queue_of_errors_is_tried_from_time_to_time() {
    let pool = ThreadPoolBuilder::new().num_threads(1);
    let pool = pool.io(IoBackend::HelperThreads).build().unwrap();
    let socket = File::new(noisy_socket()).unwrap();
    pool.install(|| {
        let taken = || {
            driver::with(PoolIo::default, |_, io| match io.existing() {
                Some(Backend::Helpers(helpers)) => lock(&helpers.state).taken,
                _ => unreachable!("the builder has started helpers"),
            })
        };
        let read = crate::read(&socket, vec![0; 8]);
        let (begin, before) = (Instant::now(), taken());
        thread::sleep(Duration::from_millis(200));
        let tries = taken() - before;
        // One for each pause that has ended, and those by which the socket is found noisy.
        let most = begin.elapsed().as_millis() as usize + 20;
        assert!(tries <= most, "{tries} tries in {most} ms");
        assert!(!read.is_finished());
        read.cancel();
        assert!(read.wait().is_err());
    });
}
