//! The file formats that readers support, and open files.

use crate::files::{file_error, read_file};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Bytes, Result, bail, error, memory_limit};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// The way in which a kind of reader splits a file into records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The name of the file is the only record.
    Identity,
    /// The contents of the file are the only record.
    WholeFile,
    /// Each line after the first `skip` lines is a record.
    Lines { skip: i64, compression: Compression },
    /// Records with lengths and checksums.
    TfRecord(Compression),
    /// Records of one length, between a header and a footer. Consecutive records start `hop` bytes apart.
    FixedLength { header: u64, record: u64, footer: u64, hop: u64, compression: Compression },
}

/// The compression of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Zlib,
    Gzip,
}

impl Format {
    /// Reads the format from a node's op and attributes.
    pub(super) fn new(init: &KernelInit<'_>) -> Result<Format> {
        let attrs = init.attrs;
        let op = init.op_def.name.strip_suffix("V2").unwrap_or(&init.op_def.name);
        Ok(match op {
            "IdentityReader" => Format::Identity,
            "WholeFileReader" => Format::WholeFile,
            "TextLineReader" => {
                let skip: i64 = attrs.get_or("skip_header_lines", 0)?;
                if skip < 0 {
                    bail!(InvalidArgument, "skip_header_lines must be >= 0 not {skip}");
                }
                Format::Lines { skip, compression: Compression::None }
            }
            "TFRecordReader" => Format::TfRecord(match attrs.get_or("compression_type", "")? {
                "ZLIB" => Compression::Zlib,
                "GZIP" => Compression::Gzip,
                _ => Compression::None,
            }),
            _ => {
                let bytes = |name: &str, least: i64| -> Result<u64> {
                    let value: i64 = attrs.get_or(name, 0)?;
                    if value < least {
                        bail!(InvalidArgument, "{name} must be >= {least} not {value}");
                    }
                    Ok(value as u64)
                };
                let compression = match attrs.get_or("encoding", "")? {
                    "" => Compression::None,
                    "ZLIB" => Compression::Zlib,
                    "GZIP" => Compression::Gzip,
                    other => bail!(InvalidArgument, "Encoding scheme {other} is not supported; it must be \"\", \"ZLIB\" or \"GZIP\""),
                };
                let record = bytes("record_bytes", 1)?;
                let hop = match bytes("hop_bytes", 0)? {
                    0 => record,
                    hop => hop,
                };
                Format::FixedLength { header: bytes("header_bytes", 0)?, record, footer: bytes("footer_bytes", 0)?, hop, compression }
            }
        })
    }

    /// Returns true if a reader's position is fully described by its counts and the name of the file.
    pub(super) fn has_plain_state(self) -> bool {
        matches!(self, Format::Identity | Format::WholeFile)
    }

    /// Returns the name of the op, for messages.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Format::Identity => "IdentityReader",
            Format::WholeFile => "WholeFileReader",
            Format::Lines { .. } => "TextLineReader",
            Format::TfRecord(_) => "TFRecordReader",
            Format::FixedLength { .. } => "FixedLengthRecordReader",
        }
    }

    /// Opens the file `name`.
    pub(crate) fn open(self, name: &Bytes) -> Result<Source> {
        let path = String::from_utf8_lossy(name).into_owned();
        let kind = match self {
            Format::Identity => Kind::Once(Some(name.clone())),
            Format::WholeFile => Kind::File { read: false },
            Format::Lines { skip, compression } => {
                let mut lines = Lines { file: decompressed(&path, compression)?, number: 0 };
                for _ in 0..skip {
                    if lines.next(&path)?.is_none() {
                        break;
                    }
                }
                Kind::Lines(lines)
            }
            Format::TfRecord(compression) => Kind::TfRecord { file: decompressed(&path, compression)?, offset: 0 },
            Format::FixedLength { header, record, footer, hop, compression } => {
                let mut file = decompressed(&path, compression)?;
                skip(&mut file, header, &path)?;
                Kind::FixedLength(FixedLength { file, window: Vec::new(), record, footer, hop, number: 0 })
            }
        };
        Ok(Source { path, kind })
    }
}

fn open(path: &str) -> Result<File> {
    let file = File::open(path).map_err(|e| file_error(path, &e))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        bail!(FailedPrecondition, "{path}; Is a directory");
    }
    Ok(file)
}

/// Opens a file whose bytes are decompressed as they are read.
pub(crate) fn decompressed(path: &str, compression: Compression) -> Result<Box<dyn BufRead + Send>> {
    let file = open(path)?;
    Ok(match compression {
        Compression::None => Box::new(BufReader::new(file)),
        Compression::Zlib => Box::new(BufReader::new(ZlibDecoder::new(file))),
        Compression::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(file))),
    })
}

fn skip(file: &mut dyn BufRead, bytes: u64, path: &str) -> Result<()> {
    std::io::copy(&mut file.take(bytes), &mut std::io::sink()).map(drop).map_err(|e| file_error(path, &e))
}

/// An open file.
pub(crate) struct Source {
    path: String,
    kind: Kind,
}

enum Kind {
    Once(Option<Bytes>),
    /// The file's contents, which are read on demand.
    File {
        read: bool,
    },
    Lines(Lines),
    TfRecord {
        file: Box<dyn BufRead + Send>,
        offset: u64,
    },
    FixedLength(FixedLength),
}

impl Source {
    /// Returns true if the only record was read.
    pub(super) fn is_used_up(&self) -> bool {
        matches!(self.kind, Kind::Once(None) | Kind::File { read: true })
    }

    /// Skips `bytes` bytes of a file of consecutive records.
    ///
    /// # Errors
    /// Returns the file's error, by the rules of [`file_error`], such as `NotFound` or `DataLoss`.
    pub(crate) fn skip(&mut self, bytes: u64) -> Result<()> {
        match &mut self.kind {
            Kind::TfRecord { file, offset } => {
                *offset = offset.saturating_add(bytes);
                skip(file, bytes, &self.path)
            }
            _ => Ok(()),
        }
    }

    /// Returns the next record's key and value; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Bytes, Bytes)>> {
        let path = &self.path;
        let keyed = |place: u64, value: Bytes| (Bytes::from(format!("{path}:{place}")), value);
        Ok(match &mut self.kind {
            Kind::Once(value) => value.take().map(|value| (Bytes::copy_from_slice(path.as_bytes()), value)),
            Kind::File { read: true } => None,
            Kind::File { read } => {
                let contents = read_file(path, memory_limit())?;
                *read = true;
                Some((Bytes::copy_from_slice(path.as_bytes()), contents.into()))
            }
            Kind::Lines(lines) => lines.next(path)?.map(|line| keyed(lines.number, line.into())),
            Kind::TfRecord { file, offset } => {
                let start = *offset;
                tf_record(file, offset, path)?.map(|record| keyed(start, record.into()))
            }
            Kind::FixedLength(records) => {
                let number = records.number;
                records.next(path)?.map(|record| keyed(number, record.into()))
            }
        })
    }
}

struct Lines {
    file: Box<dyn BufRead + Send>,
    /// The number of the line read last, from 1.
    number: u64,
}

impl Lines {
    /// Returns the next line without its end. Carriage returns are dropped anywhere in the line, as in TensorFlow.
    fn next(&mut self, path: &str) -> Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.file.read_until(b'\n', &mut line).map_err(|e| file_error(path, &e))? == 0 {
            return Ok(None);
        }
        line.retain(|&byte| byte != b'\r');
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        self.number += 1;
        Ok(Some(line))
    }
}

/// Reads up to `len` bytes. Memory is allocated as bytes are read, even if `len` is huge.
fn read_up_to(file: &mut dyn BufRead, len: u64, path: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes).map_err(|e| file_error(path, &e))?;
    Ok(bytes)
}

/// Returns the next record of a TFRecord file: a length of eight bytes, its checksum, the data, their checksum.
fn tf_record(file: &mut dyn BufRead, offset: &mut u64, path: &str) -> Result<Option<Vec<u8>>> {
    let start = *offset;
    let truncated = || error!(DataLoss, "truncated record at {start}' failed with Read less bytes than requested");
    let corrupted = || error!(DataLoss, "corrupted record at {start}");
    let head = read_up_to(file, 12, path)?;
    let (&[a, b, c, d, e, f, g, h, ref crc @ ..], 12) = (head.as_slice(), head.len()) else {
        return if head.is_empty() { Ok(None) } else { Err(truncated()) };
    };
    if !matches(&head[..8], crc) {
        return Err(corrupted());
    }
    let length = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let total = length.checked_add(4).ok_or_else(corrupted)?;
    let mut data = read_up_to(file, total, path)?;
    if (data.len() as u64) < total {
        return Err(truncated());
    }
    let crc = data.split_off(data.len() - 4);
    if !matches(&data, &crc) {
        return Err(corrupted());
    }
    *offset = start.saturating_add(total).saturating_add(12);
    Ok(Some(data))
}

/// Returns true if `crc` is the masked checksum of `data`.
fn matches(data: &[u8], crc: &[u8]) -> bool {
    crc == masked_crc(data)
}

/// Returns the masked checksum of `data` that TFRecord files store.
pub(crate) fn masked_crc(data: &[u8]) -> [u8; 4] {
    const MASK: u32 = 0xa282_ead8;
    crc32c::crc32c(data).rotate_right(15).wrapping_add(MASK).to_le_bytes()
}

struct FixedLength {
    file: Box<dyn BufRead + Send>,
    /// Bytes that were read and are not before the next record.
    window: Vec<u8>,
    record: u64,
    footer: u64,
    hop: u64,
    number: u64,
}

impl FixedLength {
    fn next(&mut self, path: &str) -> Result<Option<Vec<u8>>> {
        // A record is valid only if the footer still follows it.
        let needed = self.record.saturating_add(self.footer);
        let more = read_up_to(&mut self.file, needed.saturating_sub(self.window.len() as u64), path)?;
        self.window.extend(more);
        if (self.window.len() as u64) < needed {
            return Ok(None);
        }
        let record = self.window[..self.record as usize].to_vec();
        let passed = self.hop.min(self.window.len() as u64);
        self.window.drain(..passed as usize);
        skip(&mut self.file, self.hop - passed, path)?;
        self.number += 1;
        Ok(Some(record))
    }
}
