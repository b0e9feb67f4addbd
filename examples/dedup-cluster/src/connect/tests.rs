use super::*;

const LIMIT: Duration = Duration::from_secs(120);

fn listeners(count: usize) -> (Vec<TcpListener>, Vec<String>) {
    let listeners: Vec<_> = (0..count).map(|_| listen("127.0.0.1:0").unwrap()).collect();
    let address = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
    let addresses = listeners.iter().map(address).collect();
    (listeners, addresses)
}

#[test]
fn all_processes_are_connected_with_all_others() {
    let (listeners, addresses) = listeners(4);
    let connected: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|process| {
                let (listener, addresses) = (&listeners[process], &addresses);
                scope.spawn(move || connect(listener, addresses, process, 7, LIMIT).unwrap())
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for (process, streams) in connected.iter().enumerate() {
        for (peer, stream) in streams.iter().enumerate() {
            assert_eq!(stream.is_none(), peer == process);
            if let Some(mut stream) = stream.as_ref() {
                stream.write_all(&[process as u8]).unwrap();
            }
        }
    }
    for streams in &connected {
        for (peer, stream) in streams.iter().enumerate() {
            if let Some(mut stream) = stream.as_ref() {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                assert_eq!(usize::from(byte[0]), peer);
            }
        }
    }
}

// Another program that calls the port, and a process of another run, are not taken for a peer.
#[test]
fn strangers_are_turned_away() {
    let (listeners, addresses) = listeners(2);
    let strange = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(&addresses[0]).unwrap();
        stream.write_all(bytes).unwrap();
    };
    let hello = |run, processes, process| Hello {
        run,
        processes,
        process,
    };
    strange(b"GET / HTTP/1.1\r\nHost: a-name-that-is-long\r\n");
    strange(b"");
    for other in [
        hello(8, 2, 1),
        hello(7, 3, 1),
        hello(7, 2, 0),
        hello(7, 2, 2),
    ] {
        strange(&other.to_bytes());
    }
    let [first, second] = thread::scope(|scope| {
        let threads = [0, 1].map(|process| {
            let (listener, addresses) = (&listeners[process], &addresses);
            scope.spawn(move || connect(listener, addresses, process, 7, LIMIT).unwrap())
        });
        threads.map(|thread| thread.join().unwrap())
    });
    let ends = [first[1].as_ref().unwrap(), second[0].as_ref().unwrap()];
    assert_eq!(ends[0].peer_addr().unwrap(), ends[1].local_addr().unwrap());
}

#[test]
fn a_process_of_another_number_of_processes_is_an_error() {
    let (listeners, addresses) = listeners(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let first = Hello {
                run: 7,
                processes: 3,
                process: 0,
            };
            let (stream, _) = listeners[0].accept().unwrap();
            assert!(answer(&first, stream).unwrap().is_none());
        });
        let error = connect(&listeners[1], &addresses, 1, 7, LIMIT).unwrap_err();
        assert!(
            matches!(
                error,
                ClusterError::Disagreement {
                    process: 0,
                    theirs: 3,
                    ours: 2
                }
            ),
            "{error}"
        );
    });
}

#[test]
fn a_peer_that_is_not_there_is_named() {
    let (mut listeners, addresses) = listeners(2);
    drop(listeners.remove(0));
    let limit = Duration::from_millis(50);
    let error = connect(&listeners[0], &addresses, 1, 7, limit).unwrap_err();
    let ClusterError::NoConnection {
        process: 0,
        address,
        ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(address, addresses[0]);
}

#[test]
fn a_taken_port_is_named() {
    let taken = listen("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = listen(&address).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot listen on {address}: ")),
        "{error}"
    );
}
