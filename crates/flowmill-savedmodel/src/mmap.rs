//! Files as bytes, without reading them.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use bytes::Bytes;
use flowmill_tensor::{Code, Error, Result};

/// Maps a file into memory. Tensors and messages made from the bytes keep the mapping alive.
///
/// The file must not be changed in place while it is mapped. Files that this crate writes are
/// therefore written beside their destination and renamed over it.
///
/// # Errors
/// `NotFound`, `PermissionDenied` and so on, with the path.
pub fn map_file(path: &Path) -> Result<Bytes> {
    let at = |error| io_error(path, error);
    let file = File::open(path).map_err(at)?;
    let metadata = file.metadata().map_err(at)?;
    if metadata.is_dir() {
        return Err(Error::failed_precondition(format!("{} is a directory", path.display())));
    }
    if metadata.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private and read-only, and by this function's contract nobody changes the file
    // in place while it lives.
    let mapping = unsafe { memmap2::Mmap::map(&file) }.map_err(at)?;
    Ok(Bytes::from_owner(mapping))
}

/// An error of the operating system about a path, with TensorFlow's code for it.
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
