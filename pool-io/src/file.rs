//! Files, which operations share, and how they are opened.

use std::{
    fmt, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    sync::Arc,
};

use libc::c_int;

use crate::{call::Direction, system};

/// A file, pipe, socket or terminal on which operations run.
///
/// Cloning is cheap and shares the descriptor. The descriptor is closed when the last clone is
/// dropped and no operation uses it any more.
///
/// # Examples
/// ```
/// use pool_io::File;
///
/// let file = File::new(std::fs::File::open("Cargo.toml")?)?;
/// let read = pool_io::read_at(&file, vec![0; 100], 0);
/// // The operation keeps the descriptor open.
/// drop(file);
/// assert_eq!(read.wait()?.bytes, 100);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct File(Arc<Inner>);

struct Inner {
    descriptor: OwnedFd,
    is_stream: bool,
    is_direct: bool,
}

impl File {
    /// Takes a descriptor: of a [`std::fs::File`], a [`PipeReader`](std::io::PipeReader), a socket.
    ///
    /// # Errors
    /// If the system does not say what kind of file it is.
    pub fn new(descriptor: impl Into<OwnedFd>) -> io::Result<Self> {
        let descriptor = descriptor.into();
        let is_stream = system::is_stream(descriptor.as_fd())?;
        let flags = system::flags(descriptor.as_fd());
        let is_direct = flags.is_some_and(|flags| flags & libc::O_DIRECT != 0);
        let inner = Inner {
            descriptor,
            is_stream,
            is_direct,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Whether reads and writes may wait for another process or a device, so that there are no
    /// positions: a pipe, a socket, a terminal.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.0.is_stream
    }

    /// Whether reads bypass the page cache, by a flag that was set when this was created.
    pub(super) fn is_direct(&self) -> bool {
        self.0.is_direct
    }

    /// Whether the descriptor was opened for transfers in this direction, as far as the system
    /// tells.
    pub(super) fn permits(&self, direction: Direction) -> bool {
        let other_way = match direction {
            Direction::Read => libc::O_WRONLY,
            Direction::Write => libc::O_RDONLY,
        };
        let flags = system::flags(self.as_fd());
        flags.is_none_or(|flags| flags & libc::O_ACCMODE != other_way)
    }

    pub(super) fn raw(&self) -> RawFd {
        self.0.descriptor.as_raw_fd()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.descriptor.as_fd()
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("descriptor", &self.raw())
            .field("is_stream", &self.is_stream())
            .finish()
    }
}

/// How [`open`](super::open) opens a file, as [`std::fs::OpenOptions`].
///
/// # Examples
/// ```
/// use pool_io::OpenOptions;
///
/// let options = OpenOptions::new().read(true);
/// assert!(pool_io::open("Cargo.toml", &options).wait().is_ok());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
    flags: c_int,
    mode: u32,
}

impl OpenOptions {
    /// Creates options that allow nothing; a new file gets the mode 0o666, less the process' mask.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            read: false,
            write: false,
            append: false,
            truncate: false,
            create: false,
            create_new: false,
            flags: 0,
            mode: 0o666,
        }
    }

    /// Sets whether the file can be read.
    #[must_use]
    pub const fn read(mut self, read: bool) -> Self {
        self.read = read;
        self
    }

    /// Sets whether the file can be written.
    #[must_use]
    pub const fn write(mut self, write: bool) -> Self {
        self.write = write;
        self
    }

    /// Sets whether each write goes to the end of the file.
    #[must_use]
    pub const fn append(mut self, append: bool) -> Self {
        self.append = append;
        self
    }

    /// Sets whether the file loses its contents. It must be writable then, and not by `append`.
    #[must_use]
    pub const fn truncate(mut self, truncate: bool) -> Self {
        self.truncate = truncate;
        self
    }

    /// Sets whether the file is created if there is none. It must be writable then.
    #[must_use]
    pub const fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether the file is created, and must not exist before, whatever
    /// [`create`](Self::create) and [`truncate`](Self::truncate) say. It must be writable then.
    #[must_use]
    pub const fn create_new(mut self, create_new: bool) -> Self {
        self.create_new = create_new;
        self
    }

    /// Sets flags of the system, such as `O_DIRECT`, beside those that the other options set, and
    /// instead of those that an earlier call of this has set. Flags that say whether the file can
    /// be read or written have no effect.
    #[must_use]
    pub const fn custom_flags(mut self, flags: c_int) -> Self {
        self.flags = flags & !libc::O_ACCMODE;
        self
    }

    /// Sets the mode of a file that is created, less the process' mask.
    #[must_use]
    pub const fn mode(mut self, mode: u32) -> Self {
        self.mode = mode;
        self
    }

    /// Returns the flags and the mode for the system call.
    ///
    /// # Errors
    /// `EINVAL` if the file could be neither read nor written, and where the standard library
    /// refuses the options: to create or truncate a file that cannot be written, or to truncate one
    /// that each write appends to.
    pub(super) fn system(&self) -> Result<(c_int, u32), i32> {
        let access = match (self.read, self.write || self.append) {
            (true, false) => libc::O_RDONLY,
            (false, true) => libc::O_WRONLY,
            (true, true) => libc::O_RDWR,
            (false, false) => return Err(libc::EINVAL),
        };
        let is_changed = self.truncate || self.create || self.create_new;
        if is_changed && access == libc::O_RDONLY
            || self.truncate && self.append && !self.create_new
        {
            return Err(libc::EINVAL);
        }
        let creation = match (self.create, self.truncate, self.create_new) {
            (_, _, true) => libc::O_CREAT | libc::O_EXCL,
            (true, true, false) => libc::O_CREAT | libc::O_TRUNC,
            (true, false, false) => libc::O_CREAT,
            (false, true, false) => libc::O_TRUNC,
            (false, false, false) => 0,
        };
        let append = if self.append { libc::O_APPEND } else { 0 };
        let flags = self.flags | access | creation | append | libc::O_CLOEXEC;
        Ok((flags, self.mode))
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    /// Reproduces a bug: the system call that tries to read at once waited for the device.
    #[test]
    fn a_direct_read_is_not_tried_at_once() {
        let path = std::env::temp_dir().join(format!("pool-io-direct-{}", std::process::id()));
        std::fs::write(&path, [0; 4096]).unwrap();
        let mut options = std::fs::OpenOptions::new();
        let files = [0, libc::O_DIRECT].map(|flags| {
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
            options.read(true).open(&path)
        });
        std::fs::remove_file(&path).unwrap();
        for (file, may_be_cached) in files.into_iter().zip([true, false]) {
            // Some file systems have no direct reads.
            let Ok(file) = file else { continue };
            let file = File::new(file).unwrap();
            let read = Request::read(&file, vec![0; 4096], Some(0));
            assert_eq!(read.may_be_cached(), may_be_cached);
        }
    }

    #[test]
    fn custom_flags_replace_those_that_were_set_before() {
        let options = OpenOptions::new().read(true);
        let options = options.custom_flags(libc::O_DIRECT);
        let options = options.custom_flags(libc::O_NOATIME | libc::O_WRONLY);
        let flags = libc::O_RDONLY | libc::O_NOATIME | libc::O_CLOEXEC;
        assert_eq!(options.system(), Ok((flags, 0o666)));
        let plain = options.custom_flags(0).system();
        assert_eq!(plain, Ok((libc::O_RDONLY | libc::O_CLOEXEC, 0o666)));
    }
}
