//! A worker whose thread the kernel keeps.

use std::{
    env,
    ffi::CString,
    fs::{self, OpenOptions},
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    process, ptr,
    sync::mpsc,
    thread,
};

use super::*;

/// Runs `true` with a file as its input, and waits for it. While the child opens the file, the
/// kernel keeps this thread: the child still uses its memory.
fn run_true_reading(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    let mut actions = MaybeUninit::uninit();
    let mut child = 0;
    let arguments = [c"true".as_ptr().cast_mut(), ptr::null_mut()];
    let environment = [ptr::null_mut()];
    // SAFETY: All pointers lead to values that live until the calls have returned. The strings end
    // with zero, and the lists with null. The first call initializes the actions.
    unsafe {
        let result = libc::posix_spawn_file_actions_init(actions.as_mut_ptr());
        assert_eq!(result, 0);
        let actions = actions.assume_init_mut();
        let path = path.as_ptr();
        let result = libc::posix_spawn_file_actions_addopen(actions, 0, path, libc::O_RDONLY, 0);
        assert_eq!(result, 0);
        let program = arguments[0];
        let (arguments, environment) = (arguments.as_ptr(), environment.as_ptr());
        let none = ptr::null();
        let result = libc::posix_spawnp(
            &raw mut child,
            program,
            actions,
            none,
            arguments,
            environment,
        );
        assert_eq!(result, 0);
        libc::posix_spawn_file_actions_destroy(actions);
        libc::waitpid(child, ptr::null_mut(), 0);
    }
}

/// Reproduces a bug: a worker that was not asleep lost its turn only by using processor time, and a
/// worker that the kernel keeps uses none. If it waited for another worker, both waited forever.
#[test]
fn a_worker_that_the_kernel_keeps_loses_its_turn() {
    let pipe = env::temp_dir().join(format!("pool-std-kept-{}", process::id()));
    let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
    // SAFETY: The name is a string that ends with zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let (send, receive) = mpsc::channel();
    let path = pipe.clone();
    let spawner = thread::spawn(move || {
        send.send(SystemThread::current()).unwrap();
        run_true_reading(&path);
    });
    let mut looks = Looks::new(receive.recv().unwrap(), 1);
    // On a busy machine, the looks take longer.
    let mut many = 0..10_000;
    let loses_turn = many.any(|_| {
        thread::sleep(LOOK);
        looks.look()
    });
    drop(OpenOptions::new().write(true).open(&pipe).unwrap());
    spawner.join().unwrap();
    fs::remove_file(&pipe).unwrap();
    assert!(loses_turn);
}
