//! Sampling of classes by their logits: `Multinomial`, `StatelessMultinomial`.

use super::random::{Source, generator_words};
use super::types::{INDICES, NUMBERS};
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::array::args::scalar_index;
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let def = |make| KernelDef::new(make).constrain("T", NUMBERS).constrain("output_dtype", INDICES).host_memory("num_samples");
    registry.register("Multinomial", def(|init| make(init, Source::State)));
    registry.register("StatelessMultinomial", def(|init| make(init, Source::Seed(2))).host_memory("seed"));
}

fn make(init: &KernelInit<'_>, source: Source) -> Result<Arc<dyn Kernel>> {
    let [element, compute] = element_types(init.dtype("T")?)?;
    let output_type = init.attrs.get_or("output_dtype", DType::I64)?;
    let index = element_name(output_type).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {output_type}"))?;
    let text = concat!(include_str!("philox.cu"), include_str!("categorical.cu"));
    let program = |name| CompiledKernel::new(text, name, &[element, compute, ("I", index)]);
    let (cumulate, draw, state) = (program("cumulate"), program("draw"), source.state(init)?);
    from_fn(move |ctx| {
        let (logits, samples) = (ctx.input(0)?.clone(), ctx.input(1)?);
        let &[batch, classes] = logits.shape().dims() else {
            bail!(InvalidArgument, "logits should be a matrix, got shape {}", logits.shape());
        };
        if samples.rank() != 0 {
            bail!(InvalidArgument, "num_samples should be a scalar, got shape {}", samples.shape());
        }
        let samples = scalar_index(samples, "num_samples")?;
        let Ok(samples) = usize::try_from(samples) else { bail!(InvalidArgument, "num_samples should be non-negative, got {samples}") };
        if classes == 0 {
            bail!(InvalidArgument, "num_classes should be positive, got {classes}");
        }
        let shape = Shape::new(&[batch, samples]);
        let n = shape.checked_num_elements()?;
        // A sample takes two numbers.
        let generator = source.generator(ctx, state.as_ref(), 2, batch.saturating_mul(samples.div_ceil(4) * 4))?;
        let output = ctx.allocate_output(0, output_type, &shape)?.clone();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let sums = device.allocate(DType::F64, logits.shape())?;
        let [to, at, from] = [device.address(&output)?, device.address(&sums)?, device.address(&logits)?].map(Argument::Address);
        let classes = Argument::U32(word(classes)?);
        cumulate.launch(device, Grid { blocks: [word(batch)?, 1, 1], threads: [256, 1, 1] }, &[at, from, classes])?;
        let words = generator_words(&generator);
        let arguments = [to, at, Argument::U64(n as u64), Argument::Words(&words), classes, Argument::U32(word(samples)?)];
        draw.launch(device, device.linear_grid(n), &arguments)
    })
}
