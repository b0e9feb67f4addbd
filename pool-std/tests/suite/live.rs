//! What viewers are told. Each test runs itself once more, as a process of its own.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, SystemTime},
};

use pool_std::{SleepKind, ThreadPoolBuilder, blocking, live};
use serde_json::Value;

use crate::again::{self, EndOnDrop};

mod sockets;

const LIVE: &str = "POOL_STD_LIVE";
/// Where the sockets are, in a directory of their own.
const DIRECTORY: &str = "XDG_RUNTIME_DIR";

/// A directory for the sockets of one test. Its path is short, as that of a socket must be.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("live-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn sockets(&self) -> PathBuf {
        self.0.join("pool-std")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn child(name: &str, directory: &Directory) -> Command {
    let mut child = again::child(&format!("live::{name}"));
    child.env(DIRECTORY, &directory.0);
    child
}

fn ask(socket: &Path) -> Value {
    let mut answer = String::new();
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("}\n"), "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// Runs the test as a child, which must pass.
fn passes(name: &str, directory: &Directory) {
    let output = child(name, directory).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
fn a_program_that_hangs_answers() {
    if again::is_child() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        other.install(|| ());
        let (_sender, receiver) = mpsc::channel::<()>();
        pool.install(move || {
            pool_std::labeled(&"a \"part\"", || {
                blocking("a \"message\"", |_| {
                    eprintln!("hangs now");
                    receiver.recv().unwrap();
                });
            });
        });
    }
    let directory = Directory::new("hangs");
    let mut child = child("a_program_that_hangs_answers", &directory);
    child.env(LIVE, "1").stdout(Stdio::null());
    let mut child = EndOnDrop(child.stderr(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "hangs now"));

    let socket = directory.sockets().join(child.0.id().to_string());
    let first = ask(&socket);
    let answer = ask(&socket);
    assert_eq!(answer["process"], child.0.id());
    assert!(answer["program"].as_str().unwrap().starts_with("suite-"));
    assert!(answer["time_ns"].as_u64() > first["time_ns"].as_u64());
    let pools = answer["pools"].as_array().unwrap();
    let numbers: Vec<_> = pools.iter().map(|pool| &pool["number"]).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(pools[1]["workers"].as_array().unwrap().len(), 1);

    let workers = pools[0]["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    let is_blocked = |worker: &&Value| worker["state"] == "blocked";
    let blocked = workers.iter().find(is_blocked).unwrap();
    assert_eq!(blocked["label"], "a \"message\"");
    assert_eq!(blocked["job"]["depth"], 0);
    assert_eq!(blocked["job"]["part"], "a \"part\"");
    let name = blocked["job"]["name"].as_str().unwrap();
    assert!(name.contains("a_program_that_hangs_answers"), "{name}");
    let since = |answer: &Value| {
        let mut workers = answer["pools"][0]["workers"].as_array().unwrap().iter();
        let worker = workers.find(is_blocked).unwrap();
        [&worker["job"]["for_ns"], &worker["blocked_ns"]].map(|time| time.as_u64().unwrap())
    };
    assert!(since(&answer) > since(&first));
    let jobs: u64 = workers
        .iter()
        .map(|worker| worker["jobs"].as_u64().unwrap())
        .sum();
    assert_eq!(jobs, if cfg!(feature = "metrics") { 1 } else { 0 });
    let idle = workers
        .iter()
        .find(|worker| worker["state"] != "blocked")
        .unwrap();
    assert!(idle["job"].is_null() && idle["label"].is_null(), "{idle}");
}

#[test]
fn a_program_that_does_not_ask_is_not_seen() {
    if again::is_child() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| ());
        let directory = PathBuf::from(env::var_os(DIRECTORY).unwrap());
        assert!(!directory.join("pool-std").exists());
        return;
    }
    passes(
        "a_program_that_does_not_ask_is_not_seen",
        &Directory::new("unseen"),
    );
}

#[test]
fn serves_once_and_forgets_pools_that_are_gone() {
    if again::is_child() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let socket = live::serve().unwrap();
        assert_eq!(live::serve().unwrap(), socket);
        let answer = ask(&socket);
        let worker = &answer["pools"][0]["workers"][0];
        assert!(worker["job"].is_null(), "the pool is older: {worker}");

        pool.shutdown().unwrap();
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let answer = pool.install(|| ask(&socket));
        // A thread that has just ended may hold the first pool for a moment.
        let pools = answer["pools"].as_array().unwrap();
        let pool = pools.iter().find(|pool| pool["number"] == 2).unwrap();
        assert!(!pool["workers"][0]["job"].is_null(), "{pool}");
        return;
    }
    passes(
        "serves_once_and_forgets_pools_that_are_gone",
        &Directory::new("once"),
    );
}

#[test]
fn only_the_user_can_reach_the_socket() {
    if again::is_child() {
        let socket = live::serve().unwrap();
        let directory = fs::metadata(socket.parent().unwrap()).unwrap();
        assert_eq!(directory.mode() & 0o777, 0o700);
        return;
    }
    passes(
        "only_the_user_can_reach_the_socket",
        &Directory::new("private"),
    );
}

/// A directory that others can write to may hold a trap, so nothing is served from there.
#[test]
fn a_directory_that_is_open_to_others_is_refused() {
    if again::is_child() {
        let error = live::serve().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("only this user"), "{error}");
        // The pool is built all the same.
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| 1), 1);
        return;
    }
    let directory = Directory::new("open");
    fs::create_dir(directory.sockets()).unwrap();
    fs::set_permissions(directory.sockets(), fs::Permissions::from_mode(0o770)).unwrap();
    passes("a_directory_that_is_open_to_others_is_refused", &directory);
}

/// A child of `fork` that goes on, such as one that becomes a daemon, does not answer.
#[test]
fn a_child_does_not_keep_the_socket_of_a_parent_that_has_ended() {
    const NAME: &str = "a_child_does_not_keep_the_socket_of_a_parent_that_has_ended";
    if again::is_child() {
        live::serve().unwrap();
        // SAFETY: the child calls the system alone.
        if unsafe { libc::fork() } == 0 {
            // The child says it, because the parent may have ended before the child begins.
            const LINE: &str = "has forked\n";
            let mut byte = 0_u8;
            // SAFETY: so many bytes are there, and one byte may be written to the other place.
            unsafe {
                libc::write(libc::STDERR_FILENO, LINE.as_ptr().cast(), LINE.len());
                // It lives until the test has ended its input.
                libc::read(libc::STDIN_FILENO, (&raw mut byte).cast(), 1);
                libc::_exit(0)
            }
        }
        // SAFETY: the call has no requirements.
        unsafe { libc::_exit(0) }
    }
    let directory = Directory::new("forked");
    let mut child = child(NAME, &directory);
    child.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = EndOnDrop(child.stderr(Stdio::piped()).spawn().unwrap());
    let _input = child.0.stdin.take();
    let lines = BufReader::new(child.0.stderr.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "has forked"));
    assert!(child.0.wait().unwrap().success());

    let socket = directory.sockets().join(child.0.id().to_string());
    let error = UnixStream::connect(&socket).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}

/// A thread outside that has the place of a worker runs no job.
#[test]
fn the_part_that_a_guest_runs_has_its_name() {
    if again::is_child() {
        let socket = live::serve().unwrap();
        // The classic protocol has no guests.
        let builder = ThreadPoolBuilder::new()
            .num_threads(1)
            .sleep(SleepKind::Jec);
        let builder = builder.guests(true);
        let pool = builder.build().unwrap();
        let job = || ask(&socket)["pools"][0]["workers"][0]["job"].clone();
        let this_thread = std::thread::current().id();
        // The worker is asleep a moment before it lends its seat.
        let (before, part, inner) = loop {
            while pool.state().asleep().count() == 0 {
                std::thread::yield_now();
            }
            let seen = pool.call(|| {
                (std::thread::current().id() == this_thread).then(|| {
                    let before = job();
                    pool_std::labeled(&"a part", || {
                        pool_std::spawn(|| ());
                        (before, job(), pool_std::join(job, || ()).0)
                    })
                })
            });
            if let Some(seen) = seen {
                break seen;
            }
        };
        assert_eq!(
            (&before["name"], &before["part"]),
            (&"guest".into(), &Value::Null)
        );
        for job in [part, inner] {
            assert_eq!(
                (&job["name"], &job["part"]),
                (&"guest".into(), &"a part".into())
            );
            assert_eq!(job["depth"], 0);
        }
        return;
    }
    passes(
        "the_part_that_a_guest_runs_has_its_name",
        &Directory::new("guest"),
    );
}

/// Programs that are written in other languages, and tools for pipes, leave that signal as it is:
/// it ends the process.
#[test]
fn a_viewer_that_goes_away_does_not_end_the_program() {
    if again::is_child() {
        // SAFETY: the default action is no function.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let socket = live::serve().unwrap();
        for _ in 0..10 {
            drop(UnixStream::connect(&socket).unwrap());
        }
        // The others have had their answers by then.
        ask(&socket);
        return;
    }
    passes(
        "a_viewer_that_goes_away_does_not_end_the_program",
        &Directory::new("pipe"),
    );
}

/// The environment asks for answers, which is not possible.
#[cfg(target_os = "linux")]
#[test]
fn a_pool_is_built_although_a_warning_cannot_be_printed() {
    if again::is_child() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| 1), 1);
        return;
    }
    let mut child = again::child("live::a_pool_is_built_although_a_warning_cannot_be_printed");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    child.env(LIVE, "1").env(DIRECTORY, "/no/such/directory");
    let status = child.stderr(full).stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{status}");
}
