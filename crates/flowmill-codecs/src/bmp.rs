//! BMP files without compression, of 8 (grey), 24 or 32 bits per pixel.

use crate::Image;
use flowmill_tensor::{Result, bail};

/// Decodes a file to `channels` channels, which is 3 or 4, or 0 for the number that the file has.
///
/// # Errors
/// Returns `InvalidArgument` if the header is invalid or the size of the file contradicts it.
pub fn decode(data: &[u8], channels: usize) -> Result<Image> {
    if channels == 1 {
        bail!(InvalidArgument, "`channels` must be 0, 3 or 4 for BMP, but got {channels}");
    }
    if data.len() < 32 {
        bail!(
            InvalidArgument,
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, got {} bytes",
            data.len()
        );
    }
    let int = |at: usize| i64::from(i32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]));
    let (header, width, height) = (int(10), int(18), int(22));
    let has = i64::from(i16::from_le_bytes([data[28], data[29]])) / 8;
    if !matches!(has, 1 | 3 | 4) {
        bail!(InvalidArgument, "Number of channels inherent in the image must be 1, 3 or 4, was {has}");
    }
    if width <= 0 {
        bail!(InvalidArgument, "Width must be positive");
    }
    if height == 0 {
        bail!(InvalidArgument, "Height must be nonzero");
    }
    if header < 0 {
        bail!(InvalidArgument, "header size must be nonnegative");
    }
    let (rows, top_down) = (height.abs(), height < 0);
    if width * rows >= i64::from(i32::MAX / 8) {
        bail!(InvalidArgument, "Total possible pixel bytes must be less than 2^30");
    }
    let stride = (has * width + 3) / 4 * 4;
    let difference = data.len() as i64 - header - stride * rows;
    if difference != 0 {
        bail!(InvalidArgument, "Input size should match (header_size + row_size * abs_height) but they differ by {difference}");
    }
    let (height, width, has, stride) = (rows as usize, width as usize, has as usize, stride as usize);
    let channels = if channels == 0 { has } else { channels };
    let mut pixels = Vec::with_capacity(height * width * channels);
    let body = &data[header as usize..];
    for y in 0..height {
        let row = &body[if top_down { y } else { height - 1 - y } * stride..][..has * width];
        for pixel in row.chunks_exact(has) {
            match pixel {
                [gray] if channels == 1 => pixels.push(*gray),
                [gray] => pixels.extend([*gray; 3]),
                [b, g, r, ..] => pixels.extend([*r, *g, *b]),
                _ => {}
            }
            if channels == 4 {
                pixels.push(pixel.get(3).copied().unwrap_or(u8::MAX));
            }
        }
    }
    Ok(Image { height, width, channels, pixels })
}
