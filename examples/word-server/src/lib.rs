//! A server that counts the words of texts. Connections are tokio tasks; the words are counted on a
//! pool-std pool, so that a long text does not delay other connections.
//!
//! A client sends the length of a text in bytes, as a big-endian `u32`, and then the text. It
//! receives the number of words as a `u64`, and may then send the next text. A client is
//! disconnected if it sends something else, if it sends more data or closes its sending side before
//! it has its answer, or if it is silent for too long, because such clients would otherwise keep
//! others out.

pub mod words;

use std::{io, sync::Arc, time::Duration};

use pool_std::{JoinError, ThreadPool};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::timeout,
};

/// The length of a text at most, in bytes.
pub const MAX_LENGTH: u32 = 64 << 20;

/// For how long a client may be silent when the server waits for it, by default.
pub const MAX_SILENCE: Duration = Duration::from_secs(60);

/// A server, which many tasks share.
#[derive(Debug)]
pub struct Server {
    pool: ThreadPool,
    /// One permit for each job that may be queued or running.
    permits: Arc<Semaphore>,
    max_silence: Duration,
}

impl Server {
    /// Creates a server that counts on a pool, with a number of jobs in flight at most. That is at
    /// least one, and no more than a semaphore has permits.
    #[must_use]
    pub fn new(pool: ThreadPool, max_jobs: usize) -> Arc<Self> {
        Self::with_max_silence(pool, max_jobs, MAX_SILENCE)
    }

    /// Creates a server as [`new`](Self::new) does, with a time for which clients may be silent.
    #[must_use]
    pub fn with_max_silence(pool: ThreadPool, max_jobs: usize, max_silence: Duration) -> Arc<Self> {
        let permits = max_jobs.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            pool,
            permits: Arc::new(Semaphore::new(permits)),
            max_silence,
        })
    }

    /// Accepts connections until that fails. If the future is dropped, all clients are
    /// disconnected.
    ///
    /// When there are too many clients, as when no more files can be open, the next one is accepted
    /// when another one has left.
    ///
    /// # Errors
    /// That of the listener, if it fails while there is no client.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> io::Result<()> {
        let mut clients = JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((connection, _)) => {
                    let server = self.clone();
                    clients.spawn(async move {
                        // A client that breaks the connection, or the protocol, harms no other one.
                        _ = server.serve_client(connection).await;
                    });
                }
                Err(error) if concerns_one_client(&error) => {}
                // Liveness: a client that leaves ends its task, which closes its connection.
                Err(error) if clients.join_next().await.is_none() => return Err(error),
                Err(_) => {}
            }
            while clients.try_join_next().is_some() {}
        }
    }

    /// Answers one client until it leaves.
    async fn serve_client(&self, mut connection: TcpStream) -> io::Result<()> {
        loop {
            let text = self.read_text(&mut connection).await?;
            let mut next = [0];
            let count = tokio::select! {
                count = self.count(text) => count.map_err(io::Error::other)?,
                // A client that leaves, or sends more, before it has its answer. This drops the
                // future above.
                _ = connection.peek(&mut next) => return Ok(()),
            };
            timeout(self.max_silence, connection.write_u64(count)).await??;
        }
    }

    /// Reads a text. A client may take any time for a long one, but must not pause for too long.
    async fn read_text(&self, connection: &mut TcpStream) -> io::Result<String> {
        let length = timeout(self.max_silence, connection.read_u32()).await??;
        if length > MAX_LENGTH {
            return Err(io::Error::other("the text is too long"));
        }
        let mut text = vec![0; length as usize];
        let mut received = 0;
        while received < text.len() {
            let read = connection.read(&mut text[received..]);
            match timeout(self.max_silence, read).await?? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => received += more,
            }
        }
        String::from_utf8(text).map_err(io::Error::other)
    }

    /// Counts the words of a text on the pool.
    ///
    /// At most so many texts are on the pool as the server was told; the others wait here, where
    /// they cost a task each and no place in a queue. If the future is dropped, the job is aborted
    /// unless it has begun.
    ///
    /// # Errors
    /// [`JoinError`] if the pool is shut down meanwhile.
    pub async fn count(&self, text: String) -> Result<u64, JoinError> {
        let permits = self.permits.clone();
        let permit = permits.acquire_owned().await.expect("never closed");
        let job = self.pool.spawn_handle(move || {
            // Back when the job has ended, or is dropped.
            let _permit = permit;
            words::count(&text)
        });
        job.abort_on_drop().await
    }

    /// Returns how many more jobs may be in flight.
    #[must_use]
    pub fn permits(&self) -> usize {
        self.permits.available_permits()
    }
}

/// Whether a client has left before it was accepted, or its network has failed, which Linux reports
/// when the client is accepted. The next one may be accepted all the same.
fn concerns_one_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NetworkUnreachable
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproduces a bug: such an error ended the server while it had no other client, and else the
    /// server accepted no client until one had left.
    #[test]
    fn a_client_whose_network_fails_ends_no_server() {
        for kind in [
            io::ErrorKind::ConnectionAborted,
            io::ErrorKind::HostUnreachable,
            io::ErrorKind::NetworkDown,
            io::ErrorKind::NetworkUnreachable,
        ] {
            assert!(concerns_one_client(&kind.into()), "{kind}");
        }
        // What is scarce comes back when a client leaves.
        assert!(!concerns_one_client(&io::ErrorKind::OutOfMemory.into()));
    }
}
