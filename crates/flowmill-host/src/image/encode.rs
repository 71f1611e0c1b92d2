//! `EncodeJpeg` and `EncodePng`.

use crate::from_fn::from_fn;
use flowmill_codecs::jpeg::{self, DensityUnit, EncodeOptions};
use flowmill_codecs::png;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("EncodeJpeg", make_encode_jpeg);
    registry.add("EncodeJpegVariableQuality", make_encode_jpeg);
    registry.add("EncodePng", make_encode_png);
}

/// The attributes of `EncodeJpeg`. Another op uses the defaults for attributes that it lacks.
struct JpegOptions {
    /// The value of attribute `format` and its number of channels.
    format: Option<(String, usize)>,
    encoding: EncodeOptions,
}

fn make_encode_jpeg(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let format = match attrs.get_or("format", "")? {
        "" => None,
        "grayscale" => Some(("grayscale".to_owned(), 1)),
        "rgb" => Some(("rgb".to_owned(), 3)),
        _ => bail!(InvalidArgument, "format must be '', grayscale or rgb"),
    };
    let unit = match attrs.get_or("density_unit", "in")? {
        "in" => DensityUnit::Inches,
        "cm" => DensityUnit::Centimeters,
        other => bail!(InvalidArgument, "Invalid density_unit '{other}', must be 'in' or 'cm'"),
    };
    let density = |name| -> Result<u16> { Ok(attrs.get_or::<i64>(name, 300)? as u16) };
    let options = JpegOptions {
        format,
        encoding: EncodeOptions {
            quality: check_quality(attrs.get_or("quality", 95)?)?,
            progressive: attrs.get_or("progressive", false)?,
            optimize: attrs.get_or("optimize_size", false)?,
            downsample: attrs.get_or("chroma_downsampling", true)?,
            density: (density("x_density")?, density("y_density")?),
            density_unit: unit,
            xmp: attrs.get_or("xmp_metadata", "")?.as_bytes().to_vec(),
        },
    };
    from_fn(move |ctx| {
        let image = ctx.input(0)?;
        let &[height, width, channels] = image.shape().dims() else {
            bail!(InvalidArgument, "image must be 3-dimensional{}", image.shape());
        };
        match &options.format {
            Some((name, expected)) if *expected != channels => {
                bail!(InvalidArgument, "format '{name}' expects {expected} channel{} image, got {}", plural(*expected), image.shape())
            }
            None if channels != 1 && channels != 3 => {
                bail!(InvalidArgument, "image must have 1 or 3 channels, got {}", image.shape())
            }
            _ => {}
        }
        let mut encoding = options.encoding.clone();
        if ctx.num_inputs() > 1 {
            encoding.quality = check_quality(ctx.input(1)?.to_i64()?)?;
        }
        let (Ok(h @ 1..), Ok(w @ 1..)) = (u16::try_from(height), u16::try_from(width)) else {
            bail!(Internal, "JPEG encoding failed");
        };
        let contents = jpeg::encode(image.as_slice::<u8>()?, w, h, channels == 1, &encoding)?;
        ctx.set_output(0, ctx.allocator().string(contents)?);
        Ok(())
    })
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn check_quality(quality: i64) -> Result<u8> {
    match u8::try_from(quality) {
        Ok(quality @ 0..=100) => Ok(quality),
        _ => bail!(InvalidArgument, "quality must be in [0,100], got {quality}"),
    }
}

fn make_encode_png(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let compression: i64 = init.attrs.get_or("compression", -1)?;
    if !(-1..=9).contains(&compression) {
        bail!(InvalidArgument, "compression should be in [-1,9], got {compression}");
    }
    let wide = init.attrs.get_or("T", DType::U8)? == DType::U16;
    from_fn(move |ctx| {
        let image = ctx.input(0)?;
        let &[ref batch @ .., height, width, channels] = image.shape().dims() else {
            bail!(InvalidArgument, "image must be at least rank 3{}", image.shape());
        };
        if image.num_elements() == 0 {
            bail!(InvalidArgument, "image must not be empty: {}", image.shape());
        }
        if !(1..=4).contains(&channels) {
            bail!(InvalidArgument, "image must have 1, 2, 3, or 4 channels, got {channels}");
        }
        let bytes =
            if wide { image.as_slice::<u16>()?.iter().flat_map(|v| v.to_be_bytes()).collect() } else { image.as_slice::<u8>()?.to_vec() };
        let size = height * width * channels * if wide { 2 } else { 1 };
        let files = bytes.chunks_exact(size).map(|one| Ok(png::encode(height, width, channels, wide, one, compression)?.into()));
        let files = ctx.allocator().from_strings(batch, files.collect::<Result<Vec<_>>>()?)?;
        ctx.set_output(0, files);
        Ok(())
    })
}
