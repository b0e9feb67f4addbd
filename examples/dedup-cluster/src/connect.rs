//! The connections between processes, made here rather than by timely.
//!
//! A process listens before it says its address, so no other program can take the port between
//! choice and use. A peer that does not answer, or belongs to another run, is an error, where
//! timely tries forever.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use timely::communication::allocator::zero_copy::stream;

use crate::ClusterError;

#[cfg(test)]
mod tests;

/// What both sides say first, so that a stranger is not taken for a process.
const MAGIC: [u8; 8] = *b"dedup/1\n";

/// How often a process looks for a peer that is not there yet.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How long a connection may take to say what it is. A peer that is slower than this tries again.
const TIME_FOR_HELLO: Duration = Duration::from_secs(5);

/// The bytes that went over all connections of a process.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
}

/// A connection to another process, which counts what goes over it.
#[derive(Debug)]
pub(crate) struct Stream {
    stream: TcpStream,
    traffic: Arc<Traffic>,
}

impl Stream {
    pub(crate) fn new(stream: TcpStream, traffic: &Arc<Traffic>) -> Self {
        Self {
            stream,
            traffic: Arc::clone(traffic),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        // A plain counter.
        self.traffic
            .received
            .fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(buffer)?;
        // A plain counter.
        self.traffic
            .sent
            .fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl stream::Stream for Stream {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self::new(self.stream.try_clone()?, &self.traffic))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }
}

/// Listens on an address. Port 0 is a free one, chosen by the system.
pub(crate) fn listen(address: &str) -> Result<TcpListener, ClusterError> {
    TcpListener::bind(address).map_err(|source| ClusterError::Address {
        address: address.to_owned(),
        source,
    })
}

/// Connects a process with all others: calls those before it, and answers those after it. Returns a
/// connection for each process, and None for this one.
///
/// All processes of a run give the same number `run`.
///
/// # Errors
/// If a process does not answer or call within the time limit, or was started for another number of
/// processes.
pub(crate) fn connect(
    listener: &TcpListener,
    addresses: &[String],
    process: usize,
    run: u64,
    limit: Duration,
) -> Result<Vec<Option<TcpStream>>, ClusterError> {
    let deadline = Instant::now() + limit;
    let us = Hello {
        run,
        processes: addresses.len(),
        process,
    };
    let mut streams: Vec<_> = addresses.iter().map(|_| None).collect();
    for (peer, address) in addresses.iter().enumerate().take(process) {
        streams[peer] = Some(call(&us, peer, address, deadline)?);
    }
    listener.set_nonblocking(true)?;
    // Liveness: the processes after this one call it, or the deadline passes.
    while let Some(missing) = (process + 1..addresses.len()).find(|&peer| streams[peer].is_none()) {
        match listener.accept() {
            // Looked at here too: strangers that call again and again would keep it from being
            // seen.
            Ok((stream, _)) if Instant::now() < deadline => {
                // A connection that is no peer ends here. A peer whose connection broke calls
                // again.
                if let Ok(Some((peer, stream))) = answer(&us, stream) {
                    streams[peer] = Some(stream);
                }
            }
            Err(_) if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
            _ => {
                return Err(ClusterError::NoConnection {
                    process: missing,
                    address: addresses[missing].clone(),
                    reason: format!("it did not call within {limit:?}"),
                });
            }
        }
    }
    for stream in streams.iter().flatten() {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
    }
    Ok(streams)
}

/// What a process says to a peer.
struct Hello {
    run: u64,
    processes: usize,
    process: usize,
}

impl Hello {
    const LENGTH: usize = 32;

    fn to_bytes(&self) -> [u8; Self::LENGTH] {
        let numbers = [self.run, self.processes as u64, self.process as u64];
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Returns None for what no process of ours has said.
    fn from_bytes(bytes: &[u8; Self::LENGTH]) -> Option<Self> {
        let number = |index: usize| {
            let place = bytes.get(8 * index..8 * index + 8)?;
            Some(u64::from_le_bytes(place.try_into().ok()?))
        };
        bytes.starts_with(&MAGIC).then_some(())?;
        Some(Self {
            run: number(1)?,
            processes: usize::try_from(number(2)?).ok()?,
            process: usize::try_from(number(3)?).ok()?,
        })
    }

    fn send(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.write_all(&self.to_bytes())
    }

    /// Reads until the deadline. A limit for each read alone would let a stranger send byte by
    /// byte.
    fn receive(mut stream: &TcpStream, deadline: Instant) -> io::Result<Option<Self>> {
        let mut bytes = [0; Self::LENGTH];
        let mut length = 0;
        while length < bytes.len() {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.set_read_timeout(Some(remaining))?;
            match stream.read(&mut bytes[length..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self::from_bytes(&bytes))
    }
}

/// Calls a process that may not listen yet, until it answers.
fn call(
    us: &Hello,
    peer: usize,
    address: &str,
    deadline: Instant,
) -> Result<TcpStream, ClusterError> {
    loop {
        let reason = match call_once(us, address, deadline) {
            Ok((stream, Some(them))) if them.process == peer && them.run == us.run => {
                if them.processes == us.processes {
                    return Ok(stream);
                }
                return Err(ClusterError::Disagreement {
                    process: peer,
                    theirs: them.processes,
                    ours: us.processes,
                });
            }
            Ok(_) => "another program answers there".to_owned(),
            Err(error) => error.to_string(),
        };
        if Instant::now() >= deadline {
            return Err(ClusterError::NoConnection {
                process: peer,
                address: address.to_owned(),
                reason,
            });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn call_once(
    us: &Hello,
    address: &str,
    deadline: Instant,
) -> io::Result<(TcpStream, Option<Hello>)> {
    let remaining = || {
        let remaining = deadline.saturating_duration_since(Instant::now());
        remaining.max(POLL_INTERVAL)
    };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        let stream = match TcpStream::connect_timeout(&address, remaining()) {
            Ok(stream) => stream,
            Err(error) => {
                last = error;
                continue;
            }
        };
        // The peer answers when it has called those before it.
        stream.set_write_timeout(Some(remaining()))?;
        us.send(&stream)?;
        let them = Hello::receive(&stream, Instant::now() + remaining())?;
        return Ok((stream, them));
    }
    Err(last)
}

/// Answers a call. Returns None if it is from another run, or from a process that is not expected
/// to call.
fn answer(us: &Hello, stream: TcpStream) -> io::Result<Option<(usize, TcpStream)>> {
    // On some systems it is as its listener is.
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(TIME_FOR_HELLO))?;
    let Some(them) = Hello::receive(&stream, Instant::now() + TIME_FOR_HELLO)? else {
        return Ok(None);
    };
    // The caller learns also from a refusal what we are.
    us.send(&stream)?;
    let is_peer = them.run == us.run
        && them.processes == us.processes
        && (us.process + 1..us.processes).contains(&them.process);
    Ok(is_peer.then_some((them.process, stream)))
}
