//! The socket, and the thread that answers.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Write},
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd as _, RawFd},
        unix::{
            fs::{DirBuilderExt, FileTypeExt, MetadataExt},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    process, ptr,
    sync::atomic::{AtomicI32, Ordering},
    thread,
    time::Duration,
};

use super::snapshot;
use crate::{
    fork::PerProcess,
    sync::{Mutex, lock},
    system,
};

/// How long a viewer may leave an answer unread before the thread turns to the next one.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the thread waits if the system refuses a connection, for lack of descriptors perhaps.
const PAUSE: Duration = Duration::from_millis(100);
/// How old a socket without a listener is at least before it is removed. A younger one may be that
/// of a process which is about to listen.
const MIN_AGE: Duration = Duration::from_secs(10);

/// Where the process answers, once it does. A child of it has no thread that answers.
static SERVED: PerProcess<Mutex<Option<PathBuf>>> = PerProcess::new();

/// What the process listens to, which a child of it does not keep: a viewer of a parent that has
/// ended would wait for the child.
static LISTENER: AtomicI32 = AtomicI32::new(NEVER);
/// [`LISTENER`] without a listener: neither this process nor a parent has had one.
const NEVER: RawFd = -2;
/// [`LISTENER`] without a listener: a parent had one.
const LEFT: RawFd = -1;

pub(super) fn is_serving() -> bool {
    lock(SERVED.here()).is_some()
}

pub(super) fn serve() -> io::Result<PathBuf> {
    let mut served = lock(SERVED.here());
    if let Some(socket) = &*served {
        return Ok(socket.clone());
    }
    let directory = private_directory()?;
    remove_leftovers(&directory);
    let socket = directory.join(process::id().to_string());
    // An earlier process may have had the same number.
    match fs::remove_file(&socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&socket)?;
    let descriptor = listener.as_raw_fd();
    let thread = thread::Builder::new().name("pool-std-live".to_owned());
    thread.spawn(move || answer_all(&listener))?;
    // Ordering: Relaxed. A child finds what its parent has had at the fork. The lock keeps out
    // another thread that begins to serve.
    if LISTENER.swap(descriptor, Ordering::Relaxed) == NEVER {
        // A child inherits the handler. If there is no memory for it, the child keeps the socket.
        _ = system::call_in_children(close_in_child);
    }
    *served = Some(socket.clone());
    Ok(socket)
}

/// Runs in a child. It takes no lock and allocates nothing.
unsafe extern "C" fn close_in_child() {
    // Ordering: Relaxed. The child has no other thread yet.
    let listener = LISTENER.swap(LEFT, Ordering::Relaxed);
    if listener >= 0 {
        // SAFETY: the thread that owns the listener never drops it, and is not in this process.
        unsafe { libc::close(listener) };
    }
}

fn answer_all(listener: &UnixListener) {
    block_sigpipe();
    for viewer in listener.incoming() {
        match viewer {
            // A viewer that goes away gets no answer.
            Ok(viewer) => _ = answer(viewer),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// Makes an answer to a viewer that has gone away an error on this thread, and not a signal, whose
/// default action ends the program. Not all versions of the standard library see to that.
fn block_sigpipe() {
    let mut signals = MaybeUninit::uninit();
    // SAFETY: the first call initializes the set, and the others read it. The last one changes the
    // mask of this thread alone, and is told to return no mask.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), ptr::null_mut());
    }
}

fn answer(mut viewer: UnixStream) -> io::Result<()> {
    viewer.set_write_timeout(Some(PATIENCE))?;
    viewer.write_all(snapshot::take().as_bytes())
}

/// Makes the directory of this user's sockets, unless it exists; returns its path.
///
/// # Errors
/// Those of the system, and `PermissionDenied` if another user can reach what is in it.
fn private_directory() -> io::Result<PathBuf> {
    // SAFETY: the call has no requirements.
    let user = unsafe { libc::geteuid() };
    let directory = match env::var_os("XDG_RUNTIME_DIR").filter(|it| !it.is_empty()) {
        Some(directory) => PathBuf::from(directory).join("pool-std"),
        None => env::temp_dir().join(format!("pool-std-{user}")),
    };
    match fs::DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Not that of a link's target.
    let metadata = fs::symlink_metadata(&directory)?;
    if metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o077 == 0 {
        return Ok(directory);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{} is not a directory that only this user can open",
            directory.display()
        ),
    ))
}

/// Removes the sockets of processes that have ended. One that cannot be removed stays.
fn remove_leftovers(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let is_old_socket = || {
            let metadata = entry.metadata()?;
            let age = metadata.modified()?.elapsed();
            let is_old = age.is_ok_and(|age| age > MIN_AGE);
            io::Result::Ok(is_old && metadata.file_type().is_socket())
        };
        let has_no_listener = || {
            let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
            UnixStream::connect(entry.path()).is_err_and(refused)
        };
        // A process that lives is not asked whether it listens: it would answer, or, if it has been
        // stopped and many have asked, let this one wait.
        let may_remove = is_old_socket().unwrap_or(false) && !names_process(&entry.path());
        if may_remove && has_no_listener() {
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether the name of a socket is the number of a process that lives. It need not be the process
/// that created the socket; and a process that is not known here may live in another container.
fn names_process(socket: &Path) -> bool {
    let name = socket.file_name().and_then(OsStr::to_str);
    let number = name.and_then(|name| name.parse().ok());
    let Some(number) = number.filter(|&number: &libc::pid_t| number > 0) else {
        return false;
    };
    // SAFETY: the call has no requirements. The signal 0 is not sent.
    let is_allowed = unsafe { libc::kill(number, 0) } == 0;
    is_allowed || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}
