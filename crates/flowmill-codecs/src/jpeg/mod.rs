//! JPEG files, decoded as libjpeg does, bit for bit: TensorFlow decodes with it, and graphs are trained on what comes out.
//!
//! Baseline, extended and progressive files with Huffman codes and eight bits. What libjpeg repairs is repaired the same way: a bad code
//! stands for zero, data that end at a marker leave the rest grey.

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

/// Why a file cannot be decoded. Ops say the same of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is no JPEG file, or of a kind that is not supported.
    Invalid,
    /// It ends too early.
    Truncated,
}

/// The result of decoding.
pub type Result<T> = std::result::Result<T, Fault>;

/// How the samples of a block are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dct {
    /// libjpeg's `ISLOW`.
    Accurate,
    /// libjpeg's `IFAST`, TensorFlow's choice.
    Fast,
}

/// The attributes of a decoding op.
#[derive(Clone, Debug)]
pub struct Options {
    /// 0 for those of the file, 1 or 3.
    pub channels: usize,
    /// By how much the image gets smaller: 1, 2, 4 or 8.
    pub ratio: usize,
    /// Whether colours are interpolated.
    pub fancy: bool,
    /// Whether a file that ends too early is taken for one that ends there.
    pub recover: bool,
    /// The part of the rows that must be there.
    pub acceptable_fraction: f32,
    /// The transform.
    pub dct: Dct,
    /// Rows and columns of the result.
    pub crop: Option<Window>,
}

/// A part of an image, as the op gives it.
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

/// The most samples that libjpeg's caller accepts.
const MAX_SAMPLES: u64 = 1 << 29;

/// Returns the height, the width and the number of channels in a file's header.
///
/// # Errors
/// A [`Fault`] if there is no header of a supported kind.
pub fn dimensions(data: &[u8]) -> Result<(usize, usize, usize)> {
    let frame = Frame::read_header(data)?.0;
    Ok((frame.height, frame.width, frame.components.len()))
}

/// Decodes a file. What is missing at its end is black if the options accept that.
///
/// # Errors
/// A [`Fault`] if the file is none of a supported kind, misses too many rows, is too large, or lacks the window.
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

/// How many rows libjpeg gives out before it asks for data that are not there. Interpolated rows wait for those below them.
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
    /// Those that belong to the image.
    width: usize,
    height: usize,
}

impl Plane {
    /// Row `y` within the image; the last one stands for those below it.
    fn row(&self, y: usize) -> &[u8] {
        &self.samples[y.min(self.height - 1) * self.stride..][..self.width]
    }
}

impl Component {
    /// The number of samples along a dimension of `blocks` blocks and `size` pixels, where `factor` of `max` samples are kept.
    fn samples(&self, frame_size: usize, factor: usize, max: usize) -> usize {
        (frame_size * factor * self.scale).div_ceil(max * 8)
    }
}
