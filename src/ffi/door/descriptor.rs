//! Owns the descriptor that an event loop watches: it is readable while it is set. Its owner may read or drain it: nothing blocks here, and
//! setting it again makes it readable again.

use std::io;

/// A descriptor to watch.
#[cfg(unix)]
pub(super) struct ReadableDescriptor {
    /// Readable while lit.
    reading: std::os::fd::OwnedFd,
    /// What lights it; none when the reading end does so itself.
    writing: Option<std::os::fd::OwnedFd>,
    /// Something was written since it was put out.
    lit: bool,
}

#[cfg(unix)]
impl ReadableDescriptor {
    /// A single descriptor, where the system has such; it is not handed out for good.
    #[cfg(target_os = "linux")]
    pub(super) fn single() -> io::Result<Self> {
        use std::os::fd::FromRawFd as _;
        // SAFETY: a plain system call without pointers.
        let made = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the system made it just now and nobody else has it.
        let reading = unsafe { std::os::fd::OwnedFd::from_raw_fd(made) };
        Ok(Self { reading, writing: None, lit: false })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn single() -> io::Result<Self> {
        Self::socket()
    }

    /// The end of a pair of sockets: event loops that know nothing but sockets take it.
    pub(super) fn socket() -> io::Result<Self> {
        let (reading, writing) = std::os::unix::net::UnixStream::pair()?;
        reading.set_nonblocking(true)?;
        writing.set_nonblocking(true)?;
        quiet(&writing)?;
        Ok(Self { reading: reading.into(), writing: Some(writing.into()), lit: false })
    }

    /// Makes it readable, whether it was read meanwhile or not. False when the other end was shut down: it cannot be lit any more.
    pub(super) fn light(&mut self) -> bool {
        use std::os::fd::AsRawFd as _;
        self.lit = true;
        let one = 1_u64.to_ne_bytes();
        let written = match &self.writing {
            // SAFETY: eight bytes can be read from `one`; the descriptor is ours.
            None => unsafe { libc::write(self.reading.as_raw_fd(), one.as_ptr().cast(), one.len()) },
            // SAFETY: one byte can be read from `one`; the descriptor is ours.
            Some(writing) => unsafe { libc::send(writing.as_raw_fd(), one.as_ptr().cast(), 1, SILENT) },
        };
        // A full buffer is as readable as can be.
        written >= 0 || matches!(io::Error::last_os_error().kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
    }

    /// Lights it unless it was lit already.
    pub(super) fn keep_lit(&mut self) -> bool {
        self.lit || self.light()
    }

    /// Makes it unreadable.
    pub(super) fn put_out(&mut self) {
        use std::os::fd::AsRawFd as _;
        if !std::mem::take(&mut self.lit) {
            return;
        }
        let mut rest = [0_u8; 256];
        loop {
            // SAFETY: as many bytes can be written to `rest` as are asked for; the descriptor is ours.
            let read = unsafe { libc::read(self.reading.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len()) };
            let more = usize::try_from(read).is_ok_and(|read| read == rest.len());
            if !more {
                return;
            }
        }
    }

    /// The descriptor, which stays this object's.
    pub(super) fn descriptor(&self) -> i32 {
        use std::os::fd::AsRawFd as _;
        self.reading.as_raw_fd()
    }

    /// One more descriptor of the same, for good.
    pub(super) fn another(&self) -> io::Result<i32> {
        use std::os::fd::IntoRawFd as _;
        Ok(self.reading.try_clone()?.into_raw_fd())
    }
}

#[cfg(all(unix, not(target_vendor = "apple")))]
const SILENT: i32 = libc::MSG_NOSIGNAL;
#[cfg(all(unix, target_vendor = "apple"))]
const SILENT: i32 = 0;

/// Writing to an end that was shut down is an error and no signal.
#[cfg(all(unix, not(target_vendor = "apple")))]
#[expect(clippy::unnecessary_wraps, reason = "as on systems where it can fail")]
const fn quiet(_: &std::os::unix::net::UnixStream) -> io::Result<()> {
    Ok(())
}

#[cfg(all(unix, target_vendor = "apple"))]
fn quiet(socket: &std::os::unix::net::UnixStream) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option is an integer, which can be read for its length; the descriptor is the socket's.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NOSIGPIPE, (&raw const on).cast(), length) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Systems without descriptors have none.
#[cfg(not(unix))]
pub(super) struct ReadableDescriptor(std::convert::Infallible);

#[cfg(not(unix))]
impl ReadableDescriptor {
    pub(super) fn single() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn socket() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn light(&mut self) -> bool {
        match self.0 {}
    }

    pub(super) fn keep_lit(&mut self) -> bool {
        match self.0 {}
    }

    pub(super) fn put_out(&mut self) {
        match self.0 {}
    }

    pub(super) fn descriptor(&self) -> i32 {
        match self.0 {}
    }

    pub(super) fn another(&self) -> io::Result<i32> {
        match self.0 {}
    }
}

/// A descriptor as callers get it: -1 on a system that has none.
pub(super) fn or_none(made: io::Result<i32>) -> io::Result<i32> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(-1),
        made => made,
    }
}
