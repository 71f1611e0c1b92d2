//! WebP files, which hold an image or the frames of an animation.

use crate::Frames;
use flowmill_tensor::{Error, Result, bail, error, memory_limit};
use image_webp::WebPDecoder;
use std::io::Cursor;

/// Decodes all frames of a file, or only the first one. `channels` is the number of channels that the file must have, or 0 for any.
///
/// # Errors
/// Returns `InvalidArgument` if the file is broken or has another number of channels, `ResourceExhausted` if it has too many pixels.
pub fn decode(data: &[u8], channels: usize, all: bool) -> Result<Frames> {
    if channels == 1 {
        bail!(InvalidArgument, "WebP only supports 3 or 4 channels");
    }
    let failed = |_| -> Error { error!(InvalidArgument, "Failed to decode WebP image.") };
    let limit = memory_limit();
    let mut decoder = WebPDecoder::new(Cursor::new(data)).map_err(failed)?;
    decoder.set_memory_limit(limit);
    let own = if decoder.has_alpha() { 4 } else { 3 };
    if channels != 0 && channels != own {
        bail!(InvalidArgument, "Number of channels requested does not match input");
    }
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    let count = if decoder.is_animated() && all { decoder.num_frames() as usize } else { 1 };
    let each = height.saturating_mul(width).saturating_mul(own);
    if each.saturating_mul(count) > limit {
        bail!(ResourceExhausted, "OOM when allocating tensor with {count} frames of {height} by {width}");
    }
    let mut pixels = vec![0; each * count];
    if decoder.is_animated() {
        for frame in pixels.chunks_exact_mut(each.max(1)) {
            decoder.read_frame(frame).map_err(failed)?;
        }
    } else {
        decoder.read_image(&mut pixels).map_err(failed)?;
    }
    Ok(Frames { count, height, width, channels: own, pixels })
}
