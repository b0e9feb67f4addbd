//! The word server as a program.

use std::{net::SocketAddr, process::ExitCode, time::Duration};

use clap::Parser;
use pool_std::ThreadPoolBuilder;
use tokio::net::TcpListener;
use word_server::{MAX_SILENCE, Server};

/// Counts the words of texts that clients send.
#[derive(Parser)]
struct Options {
    /// Where to listen.
    #[arg(default_value = "127.0.0.1:7878")]
    address: SocketAddr,
    /// The number of workers; 0 is one per processor.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// The number of texts that are on the pool at a time, at most.
    #[arg(long, default_value_t = 64)]
    max_jobs: usize,
    /// After how many seconds of silence a client is disconnected.
    #[arg(long, default_value_t = MAX_SILENCE.as_secs())]
    max_silence: u64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let pool = ThreadPoolBuilder::new().num_threads(options.threads);
    let max_silence = Duration::from_secs(options.max_silence);
    let server = Server::with_max_silence(pool.build()?, options.max_jobs, max_silence);
    // One thread is enough for tasks that only wait: the work is on the pool.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(async {
        let listener = TcpListener::bind(options.address).await;
        let listener =
            listener.map_err(|error| format!("cannot listen on {}: {error}", options.address))?;
        println!("listening on {}", listener.local_addr()?);
        server.serve(listener).await?;
        Ok(())
    })
}
