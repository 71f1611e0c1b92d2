//! A JPEG decoder whose pixels are bit for bit those of libjpeg: TensorFlow decodes with libjpeg, and models are trained on its pixels.
//!
//! Baseline, extended and progressive files with Huffman codes and eight bits per sample are supported. Errors that libjpeg repairs are repaired in
//! the same way: an invalid codeword is read as zero, and if the data ends at a marker, the rest of the image is grey.

mod bits;
mod color;
mod encode;
mod frame;
mod idct;
mod progressive;
mod scan;
mod upsample;

pub use encode::{DensityUnit, EncodeOptions, encode};

use crate::Image;
use frame::{Component, Frame};
use std::ops::Range;

/// The reason why a file cannot be decoded. Ops report all of them with the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The data is not a JPEG file, or one of a kind that is not supported.
    Invalid,
    /// The file ends too early.
    Truncated,
}

/// The result of decoding.
pub type Result<T> = std::result::Result<T, Fault>;

/// The inverse transform that computes the samples of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dct {
    /// libjpeg's `ISLOW`.
    Accurate,
    /// libjpeg's `IFAST`, TensorFlow's choice.
    Fast,
}

/// The options of a decoding op, which are its attributes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of channels of the result: 1, 3, or 0 for the number that the file has.
    pub channels: usize,
    /// The factor by which the image is reduced: 1, 2, 4 or 8.
    pub ratio: usize,
    /// True if chroma samples are interpolated.
    pub fancy: bool,
    /// True if a truncated file is decoded as far as it goes.
    pub recover: bool,
    /// The fraction of the rows that must be present.
    pub acceptable_fraction: f32,
    /// The inverse transform.
    pub dct: Dct,
    /// The part of the image to return, or `None` for all of it.
    pub crop: Option<Window>,
}

/// A part of an image, as an op's input describes it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The first row.
    pub y: i64,
    /// The first column.
    pub x: i64,
    /// The number of rows.
    pub height: i64,
    /// The number of columns.
    pub width: i64,
}

impl Window {
    fn ranges(self, height: usize, width: usize) -> Option<(Range<usize>, Range<usize>)> {
        let range = |start: i64, len: i64, limit: usize| {
            let inside = len > 0 && start >= 0 && start.checked_add(len)? <= limit as i64;
            inside.then(|| start as usize..(start + len) as usize)
        };
        Some((range(self.y, self.height, height)?, range(self.x, self.width, width)?))
    }
}

/// The limit on samples that libjpeg's caller, TensorFlow's decoder, sets.
const MAX_SAMPLES: u64 = 1 << 29;

/// Returns the height, the width and the number of channels that a file's header declares.
///
/// # Errors
/// Returns a [`Fault`] if there is no header of a supported kind.
pub fn dimensions(data: &[u8]) -> Result<(usize, usize, usize)> {
    let frame = Frame::read_header(data)?.0;
    Ok((frame.height, frame.width, frame.components.len()))
}

/// Decodes a file. Rows that are missing at its end are black if the options accept that.
///
/// # Errors
/// Returns a [`Fault`] if the file is not of a supported kind, lacks too many rows, is too large, or does not contain the window.
pub fn decode(data: &[u8], options: &Options) -> Result<Image> {
    let (mut frame, at) = Frame::read_header(data)?;
    let channels = if options.channels == 0 { frame.components.len().min(3) } else { options.channels };
    if channels == 2 {
        return Err(Fault::Invalid);
    }
    let (height, width) = (frame.height.div_ceil(options.ratio), frame.width.div_ceil(options.ratio));
    let samples = height as u64 * width as u64 * frame.components.len() as u64;
    if samples >= MAX_SAMPLES || samples > flowmill_tensor::memory_limit() as u64 {
        return Err(Fault::Invalid);
    }
    let convert = color::conversion(&frame, channels).ok_or(Fault::Invalid)?;
    let (rows, columns) = match options.crop {
        Some(window) => window.ranges(height, width).ok_or(Fault::Invalid)?,
        None => (0..height, 0..width),
    };
    frame.choose_scales(8 / options.ratio);
    let complete = frame.read_scans(data, at, options.recover)?;
    let good = readable_rows(&frame, complete, height, options).clamp(rows.start, rows.end) - rows.start;
    if (good as f32 / rows.len() as f32) < options.acceptable_fraction.min(1.0) {
        return Err(Fault::Truncated);
    }
    let planes: Vec<Plane> = frame.components.iter().map(|c| idct::plane(c, options.dct)).collect();
    let ups = frame.components.iter().map(|c| upsample::Method::new(&frame, c, options.fancy)).collect::<Option<Vec<_>>>();
    let ups = ups.ok_or(Fault::Invalid)?;
    let mut pixels = vec![0; rows.len() * columns.len() * channels];
    let mut lines = vec![Vec::new(); planes.len()];
    for (y, row) in rows.clone().take(good).zip(pixels.chunks_exact_mut(columns.len() * channels)) {
        for ((line, up), plane) in lines.iter_mut().zip(&ups).zip(&planes) {
            up.row(plane, y, width, line);
        }
        for (x, pixel) in columns.clone().zip(row.chunks_exact_mut(channels)) {
            convert(&lines, x, pixel);
        }
    }
    Ok(Image { height: rows.len(), width: columns.len(), channels, pixels })
}

/// Returns the number of rows that libjpeg returns before it needs data that is missing. An interpolated row needs the rows below it.
fn readable_rows(frame: &Frame, complete: usize, height: usize, options: &Options) -> usize {
    if complete == frame.mcu_rows {
        return height;
    }
    let waits = frame.components.iter().any(|c| c.scale * c.v != frame.min_scale * frame.max_v);
    let held_back = if waits && options.fancy && frame.min_scale > 1 { frame.max_v } else { 0 };
    (complete * frame.max_v * frame.min_scale).saturating_sub(held_back).min(height)
}

/// The samples of one component, in whole blocks.
struct Plane {
    samples: Vec<u8>,
    stride: usize,
    /// Samples per row that belong to the image; `height` is the number of rows.
    width: usize,
    height: usize,
}

impl Plane {
    /// Returns row `y` of the image; the last row also replaces the rows below it.
    fn row(&self, y: usize) -> &[u8] {
        &self.samples[y.min(self.height - 1) * self.stride..][..self.width]
    }
}

impl Component {
    /// Returns the number of samples along a dimension of the image that has `frame_size` pixels, if `factor` of every `max` samples are kept.
    fn samples(&self, frame_size: usize, factor: usize, max: usize) -> usize {
        (frame_size * factor * self.scale).div_ceil(max * 8)
    }
}
