//! TFRecord files, for programs that read them outside of a graph.

use super::format::{Compression, Format, Source};
use flowmill_tensor::{Bytes, Result, error};
use std::fmt;
use std::path::Path;

/// An iterator over the records of an uncompressed TFRecord file, in order. The file is read as records are taken. It ends after the first error.
pub struct TfRecords(Option<Source>);

impl TfRecords {
    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound` if there is no file, `FailedPrecondition` for a directory, `InvalidArgument` for a path that is not Unicode, and the system's errors.
    pub fn open(path: impl AsRef<Path>) -> Result<TfRecords> {
        let path = path.as_ref();
        let name = path.to_str().ok_or_else(|| error!(InvalidArgument, "the path {} is not Unicode", path.display()))?;
        Ok(TfRecords(Some(Format::TfRecord(Compression::None).open(&Bytes::copy_from_slice(name.as_bytes()))?)))
    }
}

/// Each item is a record, or `DataLoss` for a file that is truncated or whose checksums do not match.
impl Iterator for TfRecords {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Result<Bytes>> {
        let record = self.0.as_mut()?.next().map(|record| record.map(|(_, value)| value)).transpose();
        if !matches!(record, Some(Ok(_))) {
            self.0 = None;
        }
        record
    }
}

impl fmt::Debug for TfRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TfRecords").finish_non_exhaustive()
    }
}
