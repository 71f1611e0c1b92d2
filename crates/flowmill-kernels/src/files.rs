//! Reading of files by kernels.

use flowmill_tensor::{Code, Error, Result, bail};
use std::fs::File;
use std::io::{ErrorKind, Read};

/// Returns the error of an operation on the file at `path`.
pub fn file_error(path: &str, error: &std::io::Error) -> Error {
    let (code, reason) = match error.kind() {
        ErrorKind::NotFound => (Code::NotFound, "No such file or directory".to_owned()),
        ErrorKind::PermissionDenied => (Code::PermissionDenied, "Permission denied".to_owned()),
        ErrorKind::IsADirectory => (Code::FailedPrecondition, "Is a directory".to_owned()),
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => (Code::DataLoss, error.to_string()),
        _ => (Code::Unknown, error.to_string()),
    };
    Error::new(code, format!("{path}; {reason}"))
}

/// Returns the contents of a file, which may have at most `limit` bytes: a device file may have no end.
///
/// # Errors
/// Returns `ResourceExhausted` for more bytes; otherwise the code that [`file_error`] derives from the operating system's error.
pub fn read_file(path: &str, limit: usize) -> Result<Vec<u8>> {
    let mut contents = Vec::new();
    let file = File::open(path).map_err(|e| file_error(path, &e))?;
    file.take((limit as u64).saturating_add(1)).read_to_end(&mut contents).map_err(|e| file_error(path, &e))?;
    if contents.len() > limit {
        bail!(ResourceExhausted, "{path} has more than {limit} bytes");
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::read_file;
    use flowmill_tensor::Code;

    #[test]
    fn files_without_end_are_refused() {
        assert_eq!(read_file("/dev/zero", 1000).map_err(|e| e.code()), Err(Code::ResourceExhausted));
        assert_eq!(read_file("/dev/null", 0), Ok(Vec::new()));
        assert_eq!(read_file("/", 1000).map_err(|e| e.code()), Err(Code::FailedPrecondition));
    }
}
