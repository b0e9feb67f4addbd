//! Sockets that other programs have left.

use super::*;

#[test]
fn removes_the_sockets_of_programs_that_have_ended() {
    if again::is_child() {
        live::serve().unwrap();
        return;
    }
    let directory = Directory::new("leftovers");
    passes(
        "sockets::removes_the_sockets_of_programs_that_have_ended",
        &directory,
    );
    let sockets = || {
        let entries = fs::read_dir(directory.sockets()).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let [left] = &*sockets() else {
        panic!("the child leaves its socket: {:?}", sockets());
    };
    // One that listens, one that is young, and one that is neither.
    let listening = directory.sockets().join("listening");
    let _listener = UnixListener::bind(&listening).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    for path in [left, &listening] {
        set_modified(path, long_ago);
    }
    let young = directory.sockets().join("young");
    drop(UnixListener::bind(&young).unwrap());
    passes(
        "sockets::removes_the_sockets_of_programs_that_have_ended",
        &directory,
    );
    let sockets = sockets();
    assert!(!sockets.contains(left), "{sockets:?}");
    assert!(
        sockets.contains(&listening) && sockets.contains(&young),
        "{sockets:?}"
    );
}

/// It may be stopped, and then it answers none of those who ask.
#[test]
fn a_program_that_is_alive_is_not_asked_by_others() {
    if again::is_child() {
        live::serve().unwrap();
        return;
    }
    let directory = Directory::new("alive");
    fs::create_dir(directory.sockets()).unwrap();
    fs::set_permissions(directory.sockets(), fs::Permissions::from_mode(0o700)).unwrap();
    let own = directory.sockets().join(std::process::id().to_string());
    let listener = UnixListener::bind(&own).unwrap();
    set_modified(&own, SystemTime::now() - Duration::from_secs(60));
    passes(
        "sockets::a_program_that_is_alive_is_not_asked_by_others",
        &directory,
    );
    assert!(own.exists());
    listener.set_nonblocking(true).unwrap();
    let asked = listener.accept();
    let is_none = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
    assert!(asked.as_ref().is_err_and(is_none), "{asked:?}");
}

#[test]
fn leaves_files_that_are_no_sockets() {
    if again::is_child() {
        live::serve().unwrap();
        return;
    }
    let directory = Directory::new("files");
    fs::create_dir(directory.sockets()).unwrap();
    fs::set_permissions(directory.sockets(), fs::Permissions::from_mode(0o700)).unwrap();
    let file = directory.sockets().join("notes");
    fs::write(&file, "of the user").unwrap();
    set_modified(&file, SystemTime::now() - Duration::from_secs(60));
    passes("sockets::leaves_files_that_are_no_sockets", &directory);
    assert!(file.exists());
}

/// Sets the time of a socket, which cannot be opened as a file.
fn set_modified(path: &Path, time: SystemTime) {
    use std::{ffi::CString, os::unix::ffi::OsStrExt as _};

    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let time = libc::timeval {
        tv_sec: libc::time_t::try_from(seconds).unwrap(),
        tv_usec: 0,
    };
    let times = [time; 2];
    // SAFETY: the path ends with a zero, and there are two times.
    assert_eq!(unsafe { libc::utimes(path.as_ptr(), times.as_ptr()) }, 0);
}
