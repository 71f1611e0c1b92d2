//! Image files: `DecodeJpeg` and related ops, which all accept every format, and `EncodeJpeg`, `EncodePng`.

#![forbid(unsafe_code)]

mod encode;
mod summary;

use crate::from_fn::from_fn;
use flowmill_codecs::{ImageFormat as Format, bmp, gif, jpeg, png, webp};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Tensor, bail, error};
use std::sync::Arc;

/// Registers the kernels of image files.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for op in ["DecodeBmp", "DecodeGif", "DecodeImage", "DecodeJpeg", "DecodePng", "DecodeAndCropJpeg", "DecodeWebP"] {
        registry.add(op, make_decode);
    }
    registry.add("ExtractJpegShape", make_extract_jpeg_shape);
    encode::register(registry);
    summary::register(registry);
}

/// The op that decodes. Ops differ in the files and shapes that they allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Any,
    Jpeg,
    CropJpeg,
    Png,
    Gif,
    Bmp,
    WebP,
}

struct Decode {
    op: Op,
    op_name: String,
    channels: usize,
    dtype: DType,
    expand_animations: bool,
    jpeg: jpeg::Options,
}

/// Returns the only string in input 0.
fn contents<'a>(ctx: &'a KernelContext<'_>) -> Result<&'a [u8]> {
    let tensor = ctx.input(0)?;
    match tensor.as_strings()? {
        [contents] if tensor.rank() == 0 => Ok(contents),
        _ => bail!(InvalidArgument, "`contents` must be scalar but got shape{}", tensor.shape()),
    }
}

fn jpeg_options(init: &KernelInit<'_>) -> Result<jpeg::Options> {
    let attrs = init.attrs;
    let ratio: i64 = attrs.get_or("ratio", 1)?;
    if !matches!(ratio, 1 | 2 | 4 | 8) {
        bail!(InvalidArgument, "ratio must be 1, 2, 4, or 8, got {ratio}");
    }
    let dct = match attrs.get_or("dct_method", "")? {
        // TensorFlow prefers the fast transform if the node does not choose.
        "" | "INTEGER_FAST" => jpeg::Dct::Fast,
        "INTEGER_ACCURATE" => jpeg::Dct::Accurate,
        _ => bail!(InvalidArgument, "dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}"),
    };
    Ok(jpeg::Options {
        channels: 0,
        ratio: ratio as usize,
        fancy: attrs.get_or("fancy_upscaling", true)?,
        recover: attrs.get_or("try_recover_truncated", false)?,
        acceptable_fraction: attrs.get_or("acceptable_fraction", 1.0)?,
        dct,
        crop: None,
    })
}

fn make_decode(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = match init.op_def.name.as_str() {
        "DecodeJpeg" => Op::Jpeg,
        "DecodeAndCropJpeg" => Op::CropJpeg,
        "DecodePng" => Op::Png,
        "DecodeGif" => Op::Gif,
        "DecodeBmp" => Op::Bmp,
        "DecodeWebP" => Op::WebP,
        _ => Op::Any,
    };
    let jpeg = jpeg_options(init)?;
    let channels: i64 = if op == Op::Gif { 3 } else { init.attrs.get_or("channels", 0)? };
    if !matches!(channels, 0 | 1 | 3 | 4) {
        bail!(InvalidArgument, "`channels` must be 0, 1, 3 or 4 but got {channels}");
    }
    let decode = Decode {
        op,
        op_name: init.op_def.name.clone(),
        channels: channels as usize,
        dtype: init.attrs.get_or("dtype", DType::U8)?,
        expand_animations: init.attrs.get_or("expand_animations", true)?,
        jpeg,
    };
    from_fn(move |ctx| {
        let image = decode.image(ctx)?;
        ctx.set_output(0, image);
        Ok(())
    })
}

impl Decode {
    fn image(&self, ctx: &KernelContext<'_>) -> Result<Tensor> {
        let contents = contents(ctx)?;
        if contents.is_empty() {
            bail!(InvalidArgument, "Input is empty.");
        }
        let Some(format) = Format::of(contents) else {
            bail!(InvalidArgument, "Unknown image file format. One of JPEG, PNG, GIF, BMP, WebP required.");
        };
        let (channels, name) = (self.channels, format.name());
        match (format, channels) {
            (Format::Jpeg, 4) => bail!(InvalidArgument, "JPEG does not support 4 channels"),
            (Format::Gif, 1 | 4) => bail!(InvalidArgument, "channels must be 0 or 3 for GIF, got {channels}"),
            (Format::Bmp, 1) => bail!(InvalidArgument, "`channels` must be 0, 3 or 4 for BMP, but got {channels}"),
            _ => {}
        }
        match (self.op, format) {
            (Op::CropJpeg, Format::Png | Format::Gif | Format::Bmp) => {
                bail!(InvalidArgument, "DecodeAndCropJpeg operation can run on JPEG only, but detected {name}.")
            }
            (Op::Bmp, Format::Jpeg | Format::Png | Format::Gif) => bail!(
                InvalidArgument,
                "Trying to decode {name} format using DecodeBmp op. Use `decode_{}` or `decode_image` instead.",
                name.to_lowercase()
            ),
            (Op::Jpeg | Op::Png | Op::Gif | Op::WebP, Format::Bmp) => bail!(
                InvalidArgument,
                "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` instead. Op used: {}",
                self.op_name
            ),
            (Op::Jpeg | Op::CropJpeg | Op::Png | Op::Gif | Op::Bmp, Format::WebP) => bail!(
                InvalidArgument,
                "Trying to decode WebP format using a wrong op. Use `decode_webp` or `decode_image` instead. Op used: {}",
                self.op_name
            ),
            _ => {}
        }
        match format {
            Format::WebP => self.webp(ctx.allocator(), contents),
            Format::Jpeg => self.jpeg(ctx, contents),
            Format::Png => self.png(ctx.allocator(), contents),
            Format::Gif => self.gif(ctx.allocator(), contents),
            Format::Bmp => {
                let image = bmp::decode(contents, channels)?;
                self.tensor(ctx.allocator(), vec![image.height, image.width, image.channels], image.pixels)
            }
        }
    }

    fn jpeg(&self, ctx: &KernelContext<'_>, contents: &[u8]) -> Result<Tensor> {
        let crop = if self.op == Op::CropJpeg { Some(crop_window(ctx.input(1)?)?) } else { None };
        let options = jpeg::Options { channels: self.channels, crop, ..self.jpeg.clone() };
        let image = jpeg::decode(contents, &options)
            .map_err(|_| error!(InvalidArgument, "jpeg::Uncompress failed. Invalid JPEG data or crop window."))?;
        self.tensor(ctx.allocator(), self.as_one_frame(vec![image.height, image.width, image.channels]), image.pixels)
    }

    fn png(&self, alloc: &Allocator, contents: &[u8]) -> Result<Tensor> {
        let image = png::decode(contents, self.channels, self.dtype != DType::U8)?;
        let shape = self.as_one_frame(vec![image.height, image.width, image.channels]);
        match image.samples {
            png::Samples::Bytes(bytes) => Tensor::from_bytes(DType::U8, shape, bytes.into()),
            png::Samples::Words(words) if self.dtype == DType::F32 => {
                let scale = 1.0 / f32::from(u16::MAX);
                alloc.from_slice(shape, &words.iter().map(|&v| f32::from(v) * scale).collect::<Vec<_>>())
            }
            png::Samples::Words(words) => alloc.from_slice(shape, &words),
        }
    }

    fn gif(&self, alloc: &Allocator, contents: &[u8]) -> Result<Tensor> {
        let frames = gif::decode(contents, self.expand_animations)?;
        let mut shape = vec![frames.count, frames.height, frames.width, 3];
        match self.op {
            Op::Jpeg | Op::Png if frames.count == 1 => drop(shape.remove(0)),
            Op::Jpeg | Op::Png => bail!(
                InvalidArgument,
                "Got {} frames, but animated gifs can only be decoded by tf.io.decode_gif or tf.io.decode_image",
                frames.count
            ),
            Op::Any if !self.expand_animations => drop(shape.remove(0)),
            _ => {}
        }
        self.tensor(alloc, shape, frames.pixels)
    }

    fn webp(&self, alloc: &Allocator, contents: &[u8]) -> Result<Tensor> {
        if self.dtype != DType::U8 {
            bail!(InvalidArgument, "WebP only supports uint8 for dtype");
        }
        let frames = webp::decode(contents, self.channels, self.expand_animations)?;
        let mut shape = vec![frames.count, frames.height, frames.width, frames.channels];
        if self.op == Op::Any && !self.expand_animations {
            shape.remove(0);
        }
        self.tensor(alloc, shape, frames.pixels)
    }

    /// Returns the shape of a file with one image. `DecodeGif` and `DecodeWebP` return a batch of images for every file.
    fn as_one_frame(&self, mut shape: Vec<usize>) -> Vec<usize> {
        if matches!(self.op, Op::Gif | Op::WebP) {
            shape.insert(0, 1);
        }
        shape
    }

    /// Returns the image in the node's type. A byte becomes the upper half of a 16-bit sample; floats are scaled to 0 to 1.
    fn tensor(&self, alloc: &Allocator, shape: Vec<usize>, pixels: Vec<u8>) -> Result<Tensor> {
        match self.dtype {
            DType::U16 => alloc.from_slice(shape, &pixels.iter().map(|&v| u16::from(v) << 8).collect::<Vec<_>>()),
            DType::F32 => {
                let scale = 1.0 / f32::from(u8::MAX);
                alloc.from_slice(shape, &pixels.iter().map(|&v| f32::from(v) * scale).collect::<Vec<_>>())
            }
            _ => Tensor::from_bytes(DType::U8, shape, pixels.into()),
        }
    }
}

/// Returns the window that the tensor `[y, x, height, width]` describes.
fn crop_window(tensor: &Tensor) -> Result<jpeg::Window> {
    if tensor.rank() != 1 {
        bail!(InvalidArgument, "crop_window must be 1-D, got shape {}", tensor.shape());
    }
    match *tensor.to_i64_vec()? {
        [y, x, height, width] => Ok(jpeg::Window { y, x, height, width }),
        _ => bail!(InvalidArgument, "crop_size must have four elements {}", tensor.shape()),
    }
}

/// Makes the kernel of `ExtractJpegShape`, whose output is the height, width and number of channels of a JPEG file.
fn make_extract_jpeg_shape(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.attrs.get_or("output_type", DType::I32)?;
    from_fn(move |ctx| {
        let tensor = ctx.input(0)?;
        let [contents] = tensor.as_strings()? else {
            bail!(InvalidArgument, "contents must be scalar, got shape {}", tensor.shape());
        };
        let Ok((height, width, channels)) = jpeg::dimensions(contents) else {
            bail!(InvalidArgument, "Invalid JPEG data, size {}", contents.len());
        };
        let sizes = [height as i64, width as i64, channels as i64];
        let shape = if dtype == DType::I64 { ctx.allocator().vector(&sizes)? } else { ctx.allocator().vector(&sizes.map(|v| v as i32))? };
        ctx.set_output(0, shape);
        Ok(())
    })
}
