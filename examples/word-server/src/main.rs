//! The word server as a program.

use std::{net::SocketAddr, process::ExitCode};

use clap::Parser;
use pool_std::ThreadPoolBuilder;
use tokio::net::TcpListener;
use word_server::Server;

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
    let server = Server::new(pool.build()?, options.max_jobs);
    // One thread is enough for tasks that only wait: the work is on the pool.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_io().build()?.block_on(async {
        let listener = TcpListener::bind(options.address).await;
        let listener =
            listener.map_err(|error| format!("cannot listen on {}: {error}", options.address))?;
        println!("listening on {}", listener.local_addr()?);
        server.serve(listener).await?;
        Ok(())
    })
}
