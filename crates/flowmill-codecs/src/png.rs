//! PNG files, with the conversions that TensorFlow requests from libpng.

use flowmill_tensor::{Result, bail, error};
use png::{BitDepth, ColorType, Decoder, Encoder, Limits, Transformations};
use std::io::Cursor;

/// A decoded PNG image.
pub struct PngImage {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Samples per pixel.
    pub channels: usize,
    /// The samples, row by row.
    pub samples: Samples,
}

/// Samples of 8 or 16 bits.
pub enum Samples {
    /// Samples of 8 bits.
    Bytes(Vec<u8>),
    /// Samples of 16 bits, in the machine's byte order.
    Words(Vec<u16>),
}

/// Decodes a file to `channels` channels, or to the number that the file has if it is 0. Samples have 16 bits if `wide`, otherwise 8.
///
/// # Errors
/// Returns `InvalidArgument` if the data is not a PNG file, or the image is too large.
pub fn decode(data: &[u8], channels: usize, wide: bool) -> Result<PngImage> {
    let limits = Limits { bytes: flowmill_tensor::memory_limit() };
    let mut decoder = Decoder::new_with_limits(Cursor::new(data), limits);
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(|_| error!(InvalidArgument, "Invalid PNG. Failed to initialize decoder."))?;
    let info = reader.info();
    let (height, width) = (info.height as usize, info.width as usize);
    if width >= 1 << 27 || height >= 1 << 27 || height * width >= 1 << 29 {
        bail!(InvalidArgument, "PNG size too large for int: {width} by {height}");
    }
    let (color, depth, transparent) = (info.color_type, info.bit_depth as u32, info.trns.is_some());
    let channels = match (channels, color) {
        (0, ColorType::Indexed) => 3 + usize::from(transparent),
        (0, _) => color.samples(),
        (asked, _) => asked,
    };
    let invalid = || error!(InvalidArgument, "Invalid PNG data, size {}", data.len());
    let size = reader.output_buffer_size().filter(|&size| size <= flowmill_tensor::memory_limit()).ok_or_else(invalid)?;
    let mut buffer = vec![0; size];
    reader.next_frame(&mut buffer).map_err(|_| invalid())?;
    reader.finish().map_err(|_| invalid())?;
    let (found, found_depth) = reader.output_color_type();
    // An alpha channel that is added has as many bits as the file's samples, even if those have been widened.
    let opaque = ((1u32 << depth) - 1) as u16;
    let pixels = Pixels { has: found.samples(), wants: channels, opaque };
    let samples = match (found_depth == BitDepth::Sixteen, wide) {
        (false, false) => Samples::Bytes(pixels.convert(&buffer, 8).iter().map(|&v| v as u8).collect()),
        (false, true) => Samples::Words(pixels.convert(&buffer, 8).iter().map(|&v| v * 257).collect()),
        (true, false) => Samples::Bytes(pixels.convert(&words(&buffer), 16).iter().map(|&v| (v >> 8) as u8).collect()),
        (true, true) => Samples::Words(pixels.convert(&words(&buffer), 16)),
    };
    Ok(PngImage { height, width, channels, samples })
}

fn words(bytes: &[u8]) -> Vec<u16> {
    bytes.as_chunks::<2>().0.iter().map(|&pair| u16::from_be_bytes(pair)).collect()
}

struct Pixels {
    has: usize,
    wants: usize,
    opaque: u16,
}

impl Pixels {
    fn convert<T: Copy + Into<u16>>(&self, samples: &[T], bits: u32) -> Vec<u16> {
        let mut out = Vec::with_capacity(samples.len() / self.has.max(1) * self.wants);
        for pixel in samples.chunks_exact(self.has) {
            let pixel: [u16; 4] = std::array::from_fn(|i| pixel.get(i).map_or(0, |&v| v.into()));
            match (self.has >= 3, self.wants >= 3) {
                (true, true) => out.extend(&pixel[..3]),
                (true, false) => out.push(gray([pixel[0], pixel[1], pixel[2]], bits)),
                (false, true) => out.extend([pixel[0]; 3]),
                (false, false) => out.push(pixel[0]),
            }
            if self.wants.is_multiple_of(2) {
                out.push(if self.has.is_multiple_of(2) { pixel[self.has - 1] } else { self.opaque });
            }
        }
        out
    }
}

/// Returns the grey value that libpng computes for a colour, with weights of 0.299 and 0.587 for red and green.
fn gray([r, g, b]: [u16; 3], bits: u32) -> u16 {
    if r == g && g == b {
        return r;
    }
    const RED: u32 = 9797;
    const GREEN: u32 = 19234;
    let sum = RED * u32::from(r) + GREEN * u32::from(g) + (32768 - RED - GREEN) * u32::from(b);
    // Like libpng, truncate 8-bit samples and round 16-bit ones.
    ((sum + if bits == 16 { 16384 } else { 0 }) >> 15) as u16
}

/// Encodes samples of 8 bits, or of 16 bits in big-endian order if `wide`. `compression` is a level from 0 to 9, or negative for the default.
///
/// # Errors
/// Returns `InvalidArgument` for a size that the format cannot express; `Internal` if the encoder fails, which it does not for a positive size.
pub fn encode(height: usize, width: usize, channels: usize, wide: bool, samples: &[u8], compression: i64) -> Result<Vec<u8>> {
    let (Ok(h), Ok(w)) = (u32::try_from(height), u32::try_from(width)) else {
        bail!(InvalidArgument, "image too large for a PNG file: {height} by {width}");
    };
    let failed = |e: png::EncodingError| error!(Internal, "PNG encoding failed: {e}");
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, w, h);
    encoder.set_color([ColorType::Grayscale, ColorType::GrayscaleAlpha, ColorType::Rgb, ColorType::Rgba][(channels - 1).min(3)]);
    encoder.set_depth(if wide { BitDepth::Sixteen } else { BitDepth::Eight });
    if let Ok(level) = u8::try_from(compression) {
        encoder.set_deflate_compression(png::DeflateCompression::Level(level.min(9)));
    }
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(samples).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(out)
}
