//! The file to which a process writes its trace when it exits.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{self, Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    recorded::Trace,
    rings::{PoolRings, WorkerRing},
};
use crate::{
    fork::PerProcess,
    sync::{Mutex, MutexGuard, lock},
};

/// The number of workers of ended pools whose rings are kept: 128 MiB of events.
const MAX_ENDED: usize = 64;

/// The rings for the file. They outlive their pools.
static KEPT: PerProcess<Mutex<Option<Kept>>> = PerProcess::new();

struct Kept {
    file: PathBuf,
    rings: Vec<Arc<WorkerRing>>,
}

/// Returns the kept rings, or `None` in a child of a process that keeps some: the file is the
/// parent's.
fn kept() -> Option<MutexGuard<'static, Option<Kept>>> {
    Some(lock(KEPT.here_unless_inherited()?))
}

/// Keeps the rings of a pool for the file.
pub(super) fn keep(file: PathBuf, rings: &PoolRings) {
    let Some(mut kept) = kept() else { return };
    let kept = kept.get_or_insert_with(|| {
        register();
        // The program may change its current directory.
        let file = path::absolute(&file).unwrap_or(file);
        let rings = Vec::new();
        Kept { file, rings }
    });
    let all = &mut kept.rings;
    all.extend(rings.iter().cloned());
    // A ring that only this list references belongs to a pool that has ended. The oldest are
    // dropped first.
    let has_ended = |ring: &Arc<WorkerRing>| Arc::strong_count(ring) == 1;
    let ended = all.iter().filter(|ring| has_ended(ring)).count();
    let mut too_many = ended.saturating_sub(MAX_ENDED);
    all.retain(|ring| {
        let is_dropped = too_many > 0 && has_ended(ring);
        too_many -= usize::from(is_dropped);
        !is_dropped
    });
}

/// Writes the events that all pools of the process have kept so far to the file that the
/// environment variable `POOL_STD_TRACE` names. Does nothing if the variable is not set, or if no
/// pool has been built yet.
///
/// On Unix, this happens automatically when the process exits. Call it for a program that is killed
/// or does not end.
///
/// A reader of the file finds either the complete trace or the previous one: the trace is first
/// written to a file in the same directory, whose name ends with the process number, and which then
/// replaces the target. If that is not possible, or if the target is a pipe or a device, the trace
/// is written to it directly.
///
/// # Errors
/// The error of the file.
///
/// # Examples
/// ```
/// pool_std::join(|| (), || ());
/// pool_std::trace::write_now()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn write_now() -> io::Result<()> {
    let (file, trace) = {
        let kept = kept();
        let Some(kept) = kept.as_ref().and_then(|kept| kept.as_ref()) else {
            return Ok(());
        };
        (kept.file.clone(), Trace::of(&kept.rings))
    };
    write(&file, &trace).map_err(|error| {
        let file = file.display();
        io::Error::new(error.kind(), format!("{file}: {error}"))
    })
}

/// Writes a trace to a file, or to a pipe or device of that name. Other threads and processes may
/// do the same, and this process may end meanwhile.
fn write(file: &Path, trace: &Trace) -> io::Result<()> {
    // If the path is a link, the link stays in place.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let is_other = fs::metadata(&file).is_ok_and(|it| !it.is_file());
    let beside = (!is_other).then(|| beside(&file));
    let new = beside.and_then(|beside| Some((File::create_new(&beside).ok()?, beside)));
    let Some((new, beside)) = new else {
        return write_to(File::create(&file)?, trace);
    };
    let written = write_to(new, trace).and_then(|()| fs::rename(&beside, &file));
    if written.is_err() {
        // The function returns the error of the write, not of this call.
        _ = fs::remove_file(&beside);
    }
    written
}

/// Returns the name of another file in the same directory. No other call returns the same name.
fn beside(file: &Path) -> PathBuf {
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    // Ordering: Relaxed; only the number matters.
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{call}.{}", process::id()));
    name.into()
}

fn write_to(file: File, trace: &Trace) -> io::Result<()> {
    let mut writer = BufWriter::new(file);
    trace.write_chrome(&mut writer)?;
    writer.flush()
}

/// Makes the process write the file when it exits.
#[cfg(all(unix, not(miri)))]
fn register() {
    use crate::panics::print_error;

    extern "C" fn write_at_exit() {
        let result = std::panic::catch_unwind(write_now);
        if let Ok(Err(error)) = result {
            print_error(&format!(
                "pool-std: the trace could not be written: {error}\n"
            ));
        }
    }

    unsafe extern "C" {
        fn atexit(handler: extern "C" fn()) -> std::ffi::c_int;
    }

    // SAFETY: this is how the C library declares it, and the handler does not unwind.
    if unsafe { atexit(write_at_exit) } != 0 {
        print_error(
            "pool-std: no trace will be written, since the system has no room for a handler\n",
        );
    }
}

#[cfg(not(all(unix, not(miri))))]
fn register() {}
