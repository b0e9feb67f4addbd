//! The server as a program, in a process of its own.

#![cfg(unix)]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// How many files the server may have open. More clients than that connect.
const MAX_OPEN_FILES: usize = 40;

/// Only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);

/// A server that ends with the value.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let program = env!("CARGO_BIN_EXE_word-server");
        let script = format!("ulimit -n {MAX_OPEN_FILES} && exec \"$0\" 127.0.0.1:0 --threads 1");
        let mut command = Command::new("sh");
        command.args(["-c", &script, program]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        let address = address.to_owned();
        Self { process, address }
    }

    fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(&self.address).unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

fn ask(client: &mut TcpStream, text: &str) -> u64 {
    let length = u32::try_from(text.len()).unwrap();
    client.write_all(&length.to_be_bytes()).unwrap();
    client.write_all(text.as_bytes()).unwrap();
    let mut count = [0; 8];
    client.read_exact(&mut count).unwrap();
    u64::from_be_bytes(count)
}

/// `accept` fails when no file is left. The server used to end then, with all its connections.
#[test]
fn more_clients_than_open_files_end_no_server() {
    let server = Server::start();
    let mut first = server.connect();
    assert_eq!(ask(&mut first, "before the crowd"), 3);
    // Those for which the server has no file wait in the backlog of its socket.
    let crowd: Vec<_> = (0..MAX_OPEN_FILES + 20).map(|_| server.connect()).collect();
    assert_eq!(ask(&mut first, "in the crowd"), 3);
    drop(crowd);
    let mut last = server.connect();
    assert_eq!(ask(&mut last, "after"), 1);
    assert_eq!(ask(&mut first, "it"), 1);
}
