//! How a program is found, and asked.

use std::{
    env, fs,
    io::{ErrorKind, Read as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use nix::unistd::geteuid;

use super::program::Answer;

/// How long a program may take for an answer. One that has been stopped gives none.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to do if no program can be seen.
const HOW_TO_SERVE: &str = "build a program with the feature `live` of pool-std, and run it with \
                            POOL_STD_LIVE=1, as the page \"A live view\" of the book shows";

/// The socket of a program.
pub(super) struct Socket(PathBuf);

impl Socket {
    /// Finds the socket of a process, or of the only one that can be seen.
    pub(super) fn find(process: Option<u32>) -> Result<Self> {
        Self::find_in(&directory(), process)
    }

    pub(super) fn find_in(directory: &Path, process: Option<u32>) -> Result<Self> {
        if let Some(process) = process {
            let socket = Self(directory.join(process.to_string()));
            if !socket.0.exists() {
                bail!("process {process} cannot be seen; {HOW_TO_SERVE}");
            }
            return Ok(socket);
        }
        let mut answers = Vec::new();
        let mut failure = None;
        for socket in sockets(directory)? {
            match socket.ask() {
                Ok(answer) => answers.push((answer, socket)),
                Err(error) => failure = Some((error, socket)),
            }
        }
        match (<[_; 1]>::try_from(answers), failure) {
            (Ok([(_, socket)]), _) => Ok(socket),
            (Err(answers), Some((error, Self(path)))) if answers.is_empty() => {
                let path = path.display();
                Err(error.context(format!("no program answers, as the one of {path}")))
            }
            (Err(answers), None) if answers.is_empty() => {
                bail!("no program can be seen; {HOW_TO_SERVE}")
            }
            (Err(answers), _) => {
                let names = answers
                    .iter()
                    .map(|(answer, _)| format!("\n{:>10} {}", answer.process, answer.program));
                bail!(
                    "several programs can be seen; give the number of one:{}",
                    names.collect::<String>()
                )
            }
        }
    }

    /// Asks the program what its workers do.
    pub(super) fn ask(&self) -> Result<Answer> {
        let Self(path) = self;
        let mut stream = UnixStream::connect(path)
            .with_context(|| format!("no program listens at {}", path.display()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        if let Err(error) = &read
            && matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        {
            bail!("it gives no answer within {PATIENCE:?}: perhaps it was stopped");
        }
        read?;
        serde_json::from_str(&answer)
            .context("the answer is not what this version of `top` expects")
    }
}

/// Returns where the sockets of this user are.
fn directory() -> PathBuf {
    match env::var_os("XDG_RUNTIME_DIR").filter(|it| !it.is_empty()) {
        Some(directory) => PathBuf::from(directory).join("pool-std"),
        None => env::temp_dir().join(format!("pool-std-{}", geteuid())),
    }
}

fn sockets(directory: &Path) -> Result<Vec<Socket>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("{} cannot be read", directory.display()))?,
    };
    let sockets = entries.map(|entry| Ok(Socket(entry?.path())));
    sockets.collect()
}
