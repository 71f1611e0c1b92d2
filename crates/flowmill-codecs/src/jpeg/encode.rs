//! The JPEG encoder.

use flowmill_tensor::{Result, error};
use jpeg_encoder::{ChromaSubsamplingMethod, ColorType, Encoder, PixelDensity, PixelDensityUnit, SamplingFactor};

/// The unit of a file's density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DensityUnit {
    /// Pixels per inch.
    Inches,
    /// Pixels per centimetre.
    Centimeters,
}

/// The parameters of an encoding.
#[derive(Clone, Debug)]
pub struct EncodeOptions {
    /// The quality, from 1 (smallest file) to 100.
    pub quality: u8,
    /// If true, a progressive file is written.
    pub progressive: bool,
    /// If true, the Huffman codes are optimised for the image.
    pub optimize: bool,
    /// If true, the chroma components keep one sample per four pixels.
    pub downsample: bool,
    /// The horizontal and vertical density that the file states.
    pub density: (u16, u16),
    /// The unit of `density`.
    pub density_unit: DensityUnit,
    /// A packet of XMP metadata; empty for none.
    pub xmp: Vec<u8>,
}

/// Encodes an image of `height` × `width` pixels, of one sample each if `gray`, otherwise of three.
///
/// # Errors
/// Returns `Internal` if the encoder refuses the image.
pub fn encode(pixels: &[u8], width: u16, height: u16, gray: bool, options: &EncodeOptions) -> Result<Vec<u8>> {
    let failed = |e: jpeg_encoder::EncodingError| error!(Internal, "JPEG encoding failed: {e}");
    let unit = match options.density_unit {
        DensityUnit::Inches => PixelDensityUnit::Inches,
        DensityUnit::Centimeters => PixelDensityUnit::Centimeters,
    };
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, options.quality.clamp(1, 100));
    encoder.set_sampling_factor(if options.downsample { SamplingFactor::F_2_2 } else { SamplingFactor::F_1_1 });
    encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
    encoder.set_progressive(options.progressive);
    encoder.set_optimized_huffman_tables(options.optimize || options.progressive);
    encoder.set_density(PixelDensity { density: options.density, unit });
    if !options.xmp.is_empty() {
        const HEADER: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";
        encoder.add_app_segment(1, [HEADER, &options.xmp].concat()).map_err(failed)?;
    }
    encoder.encode(pixels, width, height, if gray { ColorType::Luma } else { ColorType::Rgb }).map_err(failed)?;
    Ok(out)
}
