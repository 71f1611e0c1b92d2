//! Sound files of 16-bit samples (RIFF, WAVE, PCM).

use flowmill_tensor::{Bytes, Result, bail, check_memory};

/// The number that an integer sample is divided by to get a float.
pub const SCALE: f32 = 32768.0;
/// Chunks that may precede the format chunk and do not affect the sound.
const SKIPPED: [&[u8]; 8] = [b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link", b"axml"];

/// The bytes of a file that have not been read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.0.split_at_checked(count) else {
            bail!(InvalidArgument, "Data too short when trying to read string");
        };
        self.0 = rest;
        Ok(taken)
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        let found = self.take(text.len())?;
        if found != text.as_bytes() {
            bail!(InvalidArgument, "Header mismatch: Expected {text} but found {}", found.escape_ascii());
        }
        Ok(())
    }

    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.take(2)?.try_into().unwrap_or_default()))
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().unwrap_or_default()))
    }
}

/// The contents of a sound file. Samples are interleaved: those of all channels for one point in time are adjacent.
pub struct Sound<'a> {
    /// The number of channels, at least one.
    pub channels: usize,
    /// Samples per second, of each channel.
    pub rate: u32,
    /// The samples, two little-endian bytes each.
    pub samples: &'a [u8],
}

impl<'a> Sound<'a> {
    /// Reads a WAV file.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the file is not a valid WAV file of 16-bit samples.
    pub fn read(file: &'a [u8]) -> Result<Sound<'a>> {
        let mut file = Reader(file);
        file.expect("RIFF")?;
        file.u32()?;
        file.expect("WAVE")?;
        loop {
            let chunk = file.take(4)?;
            if chunk == b"fmt " {
                break;
            }
            if !SKIPPED.contains(&chunk) {
                bail!(InvalidArgument, "Unexpected field {}", chunk.escape_ascii());
            }
            let size = file.u32()?;
            file.take(size as usize)?;
        }
        let format_size = file.u32()?;
        if !matches!(format_size, 16 | 18) {
            bail!(InvalidArgument, "Bad format chunk size for WAV: Expected 16 or 18, but got{format_size}");
        }
        let format = file.u16()?;
        if format != 1 {
            bail!(InvalidArgument, "Bad audio format for WAV: Expected 1 (PCM), but got{format}");
        }
        let channels = file.u16()?;
        if channels < 1 {
            bail!(InvalidArgument, "Bad number of channels for WAV: Expected at least 1, but got {channels}");
        }
        let (rate, per_second, per_sample, bits) = (file.u32()?, file.u32()?, file.u16()?, file.u16()?);
        if bits != 16 {
            bail!(InvalidArgument, "Can only read 16-bit WAV files, but received {bits}");
        }
        let expected = u32::from(channels) * 2;
        if u32::from(per_sample) != expected {
            bail!(InvalidArgument, "Bad bytes per sample in WAV header: Expected {expected} but got {per_sample}");
        }
        let expected = expected.wrapping_mul(rate);
        if per_second != expected {
            bail!(
                InvalidArgument,
                "Bad bytes per second in WAV header: Expected {expected} but got {per_second} (sample_rate={rate}, bytes_per_sample={per_sample})"
            );
        }
        if format_size == 18 {
            file.take(2.min(file.0.len()))?;
        }
        let mut samples = None;
        while !file.0.is_empty() {
            let (chunk, size) = (file.take(4)?, file.u32()?);
            if i32::try_from(size).is_err() {
                bail!(
                    InvalidArgument,
                    "WAV data chunk '{}' is too large: {size} bytes, but the limit is {}",
                    chunk.escape_ascii(),
                    i32::MAX
                );
            }
            let size = size as usize;
            if chunk == b"data" {
                if samples.is_some() {
                    bail!(InvalidArgument, "More than one data chunk found in WAV");
                }
                samples = Some(file.take(size - size % usize::from(per_sample))?);
            } else {
                file.take(size.min(file.0.len()))?;
            }
        }
        match samples {
            Some(samples) => Ok(Sound { channels: channels.into(), rate, samples }),
            None => bail!(InvalidArgument, "No data chunk found in WAV"),
        }
    }
}

/// Returns a file of interleaved `samples`, with `rate` samples per second for each channel.
///
/// # Errors
/// Returns `InvalidArgument` for a rate or a size that the format cannot express; `ResourceExhausted` past the memory limit.
pub fn encode(samples: &[f32], times: usize, channels: usize, rate: i64) -> Result<Bytes> {
    let rate = match u32::try_from(rate) {
        Ok(rate) if rate > 0 => rate,
        _ => bail!(InvalidArgument, "sample_rate must be in (0, 2^32), got: {rate}"),
    };
    let channels = match u16::try_from(channels) {
        Ok(channels) if channels > 0 => channels,
        _ => bail!(InvalidArgument, "num_channels must be in (0, 2^16), got: {channels}"),
    };
    let Some(size) = times.checked_mul(2 * usize::from(channels)).and_then(|n| u32::try_from(n).ok()).filter(|&n| n <= u32::MAX - 44)
    else {
        bail!(InvalidArgument, "Provided channels and frames cannot be encoded as a WAV.");
    };
    let per_sample = channels.wrapping_mul(2);
    check_memory::<u8>(size as usize)?;
    let mut file = Vec::with_capacity(44 + size as usize);
    file.extend(b"RIFF");
    file.extend((size + 36).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16u32.to_le_bytes());
    file.extend(1u16.to_le_bytes());
    file.extend(channels.to_le_bytes());
    file.extend(rate.to_le_bytes());
    file.extend(rate.wrapping_mul(2 * u32::from(channels)).to_le_bytes());
    file.extend(per_sample.to_le_bytes());
    file.extend(16u16.to_le_bytes());
    file.extend(b"data");
    file.extend(size.to_le_bytes());
    // Samples are rounded to the nearest integer, halves away from zero. Too large ones are clamped, and NaN becomes the lowest value.
    for &value in samples {
        let sample = if value.is_nan() { i16::MIN } else { (value * SCALE).round() as i16 };
        file.extend(sample.to_le_bytes());
    }
    Ok(Bytes::from(file))
}
