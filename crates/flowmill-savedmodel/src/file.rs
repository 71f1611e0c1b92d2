//! Files as bytes.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flowmill_tensor::{Code, Error, Result, bail};

/// The ways in which a file's bytes get into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// The file is read as a whole. Later changes of the file have no effect on what was made of it.
    #[default]
    Read,
    /// The file is mapped: loading touches no constants, and processes that map the same file share its memory.
    ///
    /// The file must not be changed in place while anything made of it lives. If it is truncated, as `cp new.pb model.pb` does, the next
    /// access to a missing page ends the process with `SIGBUS`; if it is overwritten, constants change under a running step. Replace a mapped
    /// file by a rename only.
    Map,
}

/// Returns the bytes of a file.
///
/// # Errors
/// `NotFound`, `PermissionDenied` and so on, with the path; `FailedPrecondition` for a directory; `ResourceExhausted` if memory runs out.
pub fn read_file(path: &Path, access: FileAccess) -> Result<Bytes> {
    let (mut file, len) = open(path)?;
    if len == 0 && access == FileAccess::Map {
        return Ok(Bytes::new());
    }
    if access == FileAccess::Map {
        // SAFETY: the mapping is private and read-only, and the caller, who asked for it, promises that nobody changes the file in place
        // while it lives (see `FileAccess::Map`).
        let mapping = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| io_error(path, error))?;
        return Ok(Bytes::from_owner(mapping));
    }
    let mut bytes = Vec::new();
    let reserved = usize::try_from(len).is_ok_and(|len| bytes.try_reserve_exact(len).is_ok());
    if !reserved {
        bail!(ResourceExhausted, "{}; {len} bytes do not fit into memory", path.display());
    }
    file.read_to_end(&mut bytes).map_err(|error| io_error(path, error))?;
    Ok(bytes.into())
}

/// Returns the first bytes of a file, at most `len`.
///
/// # Errors
/// `NotFound`, `PermissionDenied` and the other errors of [`read_file`].
pub(crate) fn read_head(path: &Path, len: u64) -> Result<Vec<u8>> {
    let (file, _) = open(path)?;
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes).map_err(|error| io_error(path, error))?;
    Ok(bytes)
}

fn open(path: &Path) -> Result<(File, u64)> {
    let at = |error| io_error(path, error);
    let file = File::open(path).map_err(at)?;
    let metadata = file.metadata().map_err(at)?;
    if metadata.is_dir() {
        bail!(FailedPrecondition, "{} is a directory", path.display());
    }
    Ok((file, metadata.len()))
}

/// An open file of which parts are read on demand, from any number of threads.
#[derive(Debug)]
pub(crate) struct DataFile {
    path: PathBuf,
    file: File,
    len: u64,
}

impl DataFile {
    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` and the other errors of [`read_file`].
    pub(crate) fn open(path: PathBuf) -> Result<DataFile> {
        let (file, len) = open(&path)?;
        Ok(DataFile { path, file, len })
    }

    /// Returns the file's size when it was opened.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Checks that the file had `size` bytes from `offset` on when it was opened; returns both as unsigned numbers.
    ///
    /// # Errors
    /// `DataLoss` if it had not.
    pub(crate) fn range(&self, offset: i64, size: i64) -> Result<(u64, usize)> {
        let range = || {
            let (start, size) = (u64::try_from(offset).ok()?, u64::try_from(size).ok()?);
            (start.checked_add(size)? <= self.len).then_some((start, usize::try_from(size).ok()?))
        };
        match range() {
            Some(range) => Ok(range),
            None => bail!(DataLoss, "{} ends before byte {offset} + {size}", self.path.display()),
        }
    }

    /// Fills `bytes` from byte `offset` on.
    ///
    /// # Errors
    /// `DataLoss` if the file has become shorter, and errors of the file system.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        read_exact_at(&self.file, bytes, offset).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::data_loss(format!("{} ends before byte {offset} + {}", self.path.display(), bytes.len())),
            _ => io_error(&self.path, error),
        })
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => (bytes, offset) = (&mut bytes[n..], offset + n as u64),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns an error of the operating system about a path, with TensorFlow's code for it.
pub(crate) fn io_error(path: &Path, error: std::io::Error) -> Error {
    let code = match error.kind() {
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::AlreadyExists => Code::AlreadyExists,
        ErrorKind::NotADirectory | ErrorKind::IsADirectory => Code::FailedPrecondition,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory => Code::ResourceExhausted,
        ErrorKind::InvalidInput => Code::InvalidArgument,
        _ => Code::Unknown,
    };
    Error::new(code, format!("{}; {error}", path.display()))
}
