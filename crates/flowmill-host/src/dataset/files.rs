//! Datasets of the records in files: `TFRecordDataset`, `TextLineDataset`, `FixedLengthRecordDataset`; the names of files: `MatchingFilesDataset`.

use super::args::{Call, dataset_kernel};
use super::element::{Dataset, Elements, Signature, UNKNOWN};
use crate::data_flow::reader::{Compression, Format, Source, decompressed};
use crate::files::file_error;
use crate::parsing_io::csv::RecordDecoder;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Allocator, Bytes, DType, PartialShape, Result, Tensor, bail};
use std::io::BufRead;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["TFRecordDataset", "TFRecordDatasetV2"] {
        registry.add(op, |init| dataset_kernel(init, tf_records));
    }
    for op in ["CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset"] {
        registry.add(op, |init| dataset_kernel(init, csv));
    }
    registry.add("TextLineDataset", |init| dataset_kernel(init, lines));
    for op in ["FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"] {
        registry.add(op, |init| dataset_kernel(init, fixed_length_records));
    }
}

/// Returns the records of files, one file after the other. The records of each file begin at an offset.
fn records(names: Vec<String>, offsets: Vec<u64>, format: Format) -> Dataset {
    let names = Arc::new(names);
    let signature = Signature { types: vec![DType::String], shapes: vec![PartialShape::scalar()] };
    Dataset::new(signature, UNKNOWN, move |_| {
        let (names, offsets, mut next) = (names.clone(), offsets.clone(), 0);
        let mut current: Option<Source> = None;
        Ok(Elements::new(move || {
            loop {
                if let Some(source) = &mut current {
                    match source.next() {
                        Ok(Some((_, record))) => return Ok(Some(vec![Tensor::string(record)])),
                        Ok(None) => current = None,
                        Err(e) => {
                            // The file cannot be read further after an error in it.
                            current = None;
                            return Err(e);
                        }
                    }
                }
                let Some(name) = names.get(next) else { return Ok(None) };
                next += 1;
                check_size(name, format)?;
                let mut source = format.open(&Bytes::copy_from_slice(name.as_bytes()))?;
                source.skip(offsets.get(next - 1).copied().unwrap_or(0))?;
                current = Some(source);
            }
        }))
    })
}

/// Checks that records of one length fill an uncompressed file without a remainder.
fn check_size(name: &str, format: Format) -> Result<()> {
    let Format::FixedLength { header, record, footer, compression: Compression::None, .. } = format else { return Ok(()) };
    // A file that does not exist is an error when it is opened.
    let Ok(metadata) = std::fs::metadata(name) else { return Ok(()) };
    let ends = header.saturating_add(footer);
    let excess = metadata.len().checked_sub(ends).map(|body| body % record);
    match excess {
        Some(0) => Ok(()),
        Some(excess) => {
            bail!(InvalidArgument, "Excess bytes of {excess} in file {name}: its body is not a multiple of record_bytes {record}.")
        }
        None => bail!(InvalidArgument, "File {name} has fewer bytes than its header and footer, {ends}."),
    }
}

/// Returns the compression that argument `compression_type` names.
fn compression(call: &Call<'_, '_>) -> Result<Compression> {
    match call.args.string(call.ctx, "compression_type")?.as_str() {
        "" => Ok(Compression::None),
        "ZLIB" => Ok(Compression::Zlib),
        "GZIP" => Ok(Compression::Gzip),
        _ => bail!(InvalidArgument, "Unsupported compression_type."),
    }
}

/// Checks argument `buffer_size`. It has no effect: files are read with a buffer of the standard library's size.
fn check_buffer_size(call: &Call<'_, '_>) -> Result<()> {
    if call.scalar::<i64>("buffer_size")? < 0 {
        bail!(InvalidArgument, "`buffer_size` must be >= 0 (0 == default)");
    }
    Ok(())
}

fn tf_records(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let names = call.args.strings(call.ctx, "filenames")?;
    call.scalar::<i64>("buffer_size")?;
    // Unknown compression types mean no compression here, as in TensorFlow.
    let compression = compression(call).unwrap_or(Compression::None);
    let offsets = if call.args.has("byte_offsets") { call.args.tensor(call.ctx, "byte_offsets")?.to_i64_vec()? } else { Vec::new() };
    if !offsets.is_empty() && offsets.len() != names.len() {
        bail!(InvalidArgument, "`byte_offsets` must have {} elements, as `filenames`, but has {}.", names.len(), offsets.len());
    }
    let offsets = offsets.into_iter().map(|offset| u64::try_from(offset).unwrap_or(0)).collect();
    Ok(records(names, offsets, Format::TfRecord(compression)))
}

fn lines(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let names = call.args.strings(call.ctx, "filenames")?;
    let compression = compression(call)?;
    check_buffer_size(call)?;
    Ok(records(names, Vec::new(), Format::Lines { skip: 0, compression }))
}

/// Makes the dataset of `CSVDataset`, with one element per record.
fn csv(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let names = call.args.strings(call.ctx, "filenames")?;
    let compression = compression(call)?;
    if call.scalar::<i64>("buffer_size")? <= 0 {
        bail!(InvalidArgument, "buffer_size should be positive");
    }
    let signature = call.signature()?;
    let delimiter = call.args.string(call.ctx, "field_delim")?;
    let excluded = if call.args.has("exclude_cols") { call.args.vector::<i64>(call.ctx, "exclude_cols")?.to_vec() } else { Vec::new() };
    let selected = call.args.vector::<i64>(call.ctx, "select_cols")?.to_vec();
    let (quotes, missing) = (call.scalar::<bool>("use_quote_delim")?, call.args.string(call.ctx, "na_value")?);
    let decoder = RecordDecoder::new(&signature.types, &delimiter, quotes, missing.as_bytes(), &selected, &excluded)?;
    let defaults = call.args.tensors(call.ctx, "record_defaults")?;
    decoder.check_defaults(&defaults)?;
    let has_header = call.scalar::<bool>("header")?;
    let shared = Arc::new((names, decoder, defaults));
    Ok(Dataset::new(signature, UNKNOWN, move |_| {
        let (shared, mut next) = (shared.clone(), 0);
        let mut current: Option<(String, Box<dyn BufRead + Send>)> = None;
        Ok(Elements::new(move || {
            let (names, decoder, defaults) = &*shared;
            let read = |name: &str, file: &mut dyn BufRead| decoder.rules().read_record(file).map_err(|e| file_error(name, &e));
            loop {
                if let Some((name, file)) = &mut current {
                    match read(name, file)? {
                        Some(record) => return decoder.decode(Allocator::process(), record, defaults).map(Some),
                        None => current = None,
                    }
                }
                let Some(name) = names.get(next) else { return Ok(None) };
                next += 1;
                let (_, file) = current.insert((name.clone(), decompressed(name, compression)?));
                if has_header && read(name, file)?.is_none_or(|header| header.error.is_some()) {
                    bail!(InvalidArgument, "Can't read header of file");
                }
            }
        }))
    }))
}

fn fixed_length_records(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let names = call.args.strings(call.ctx, "filenames")?;
    let bytes = |name: &str, least: i64, relation: &str| -> Result<u64> {
        let value: i64 = call.scalar(name)?;
        if value < least {
            bail!(InvalidArgument, "`{name}` must be {relation}");
        }
        Ok(value as u64)
    };
    let (header, record, footer) = (bytes("header_bytes", 0, ">= 0")?, bytes("record_bytes", 1, "> 0")?, bytes("footer_bytes", 0, ">= 0")?);
    bytes("buffer_size", 0, ">= 0")?;
    let compression = if call.args.has("compression_type") { compression(call)? } else { Compression::None };
    Ok(records(names, Vec::new(), Format::FixedLength { header, record, footer, hop: record, compression }))
}
