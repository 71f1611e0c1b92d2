//! GIF files, whose frames are painted over each other as TensorFlow does it.

use crate::Frames;
use flowmill_tensor::{Error, Result, bail, error};
use gif::{ColorOutput, DecodeOptions, Frame, MemoryLimit};
use std::num::NonZeroU64;

/// Decodes all frames of a file, or only the first one. The image is as large as its largest frame; the logical screen and the frames' disposal
/// methods are ignored. If the file ends within a frame, the frames before it are returned.
///
/// # Errors
/// Returns `InvalidArgument` if there is no frame, or if a frame cannot be painted; `ResourceExhausted` if the pixels exceed the memory limit.
pub fn decode(data: &[u8], all: bool) -> Result<Frames> {
    let fail = |reason: &str| -> Error { error!(InvalidArgument, "Invalid GIF data (size {}), {reason}", data.len()) };
    let limit = flowmill_tensor::memory_limit();
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(NonZeroU64::new(limit as u64).map_or(MemoryLimit::Unlimited, MemoryLimit::Bytes));
    let mut decoder = options.read_info(data).map_err(|e| fail(&format!("failed to open gif file: {e}")))?;
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let mut frames: Vec<Frame<'static>> = Vec::new();
    let mut held = 0usize;
    let fault = loop {
        match decoder.read_next_frame() {
            Ok(Some(frame)) => {
                held = held.saturating_add(frame.buffer.len());
                if held > limit {
                    break Some("its frames need more memory than there is".to_owned());
                }
                frames.push(frame.clone());
            }
            Ok(None) => break None,
            Err(e) => break Some(format!("failed to slurp gif file: {e}")),
        }
    };
    let size = |of: fn(&Frame<'_>) -> u16| frames.iter().map(|f| usize::from(of(f))).max().unwrap_or(0);
    let (width, height) = (size(|f| f.width), size(|f| f.height));
    if width == 0 || height == 0 {
        return Err(fail(&fault.unwrap_or_else(|| "gif file does not contain any image".to_owned())));
    }
    if !all {
        frames.truncate(1);
    }
    let len = (height * width * 3).checked_mul(frames.len()).filter(|&len| len <= limit);
    let Some(len) = len else { bail!(ResourceExhausted, "OOM when allocating tensor with {} frames of {height} by {width}", frames.len()) };
    let mut pixels = vec![0; len];
    let mut previous: &[u8] = &[];
    let mut rest = pixels.as_mut_slice();
    for (k, frame) in frames.iter().enumerate() {
        let (canvas, after) = rest.split_at_mut(height * width * 3);
        if k > 0 {
            canvas.copy_from_slice(previous);
        }
        let palette = frame.palette.as_ref().or(global.as_ref()).ok_or_else(|| fail(&format!("missing color map for frame {k}")))?;
        paint(frame, palette, canvas, height, width)
            .map_err(|index| fail(&format!("found color index {index} outside of color map range {}", palette.len() / 3)))?;
        previous = canvas;
        rest = after;
    }
    Ok(Frames { count: frames.len(), height, width, channels: 3, pixels })
}

/// Paints the pixels of a frame that are not transparent. The error is the index of a colour that the palette lacks.
fn paint(frame: &Frame<'_>, palette: &[u8], canvas: &mut [u8], height: usize, width: usize) -> std::result::Result<(), u8> {
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    for (y, row) in frame.buffer.chunks_exact(usize::from(frame.width).max(1)).enumerate().take_while(|(y, _)| top + y < height) {
        let line = &mut canvas[(top + y) * width * 3..][..width * 3];
        for (pixel, &index) in line.chunks_exact_mut(3).skip(left).zip(row) {
            if frame.transparent == Some(index) {
                continue;
            }
            pixel.copy_from_slice(palette.get(usize::from(index) * 3..usize::from(index) * 3 + 3).ok_or(index)?);
        }
    }
    Ok(())
}
