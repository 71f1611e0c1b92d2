//! `NonMaxSuppression` in its five versions: a block selects the boxes one after the other, with a thread for every 256th box.

use super::sized::{Begun, sized};
use crate::backend::{Address, Grid};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, f16};
use std::sync::Arc;

/// The threads of a block.
const THREADS: u32 = 256;
/// The inputs in the host's memory.
const LIMITS: [&str; 4] = ["max_output_size", "iou_threshold", "score_threshold", "soft_nms_sigma"];

pub(super) fn register(registry: &mut KernelRegistry) {
    let with_limits = |make, inputs: usize| {
        let def = KernelDef::new(make).constrain("T", &[DType::F16, DType::F32]);
        LIMITS[..inputs].iter().fold(def, |def, name| def.host_memory(name))
    };
    registry.register("NonMaxSuppression", KernelDef::new(|init| make(init, 1)).host_memory(LIMITS[0]));
    registry.register("NonMaxSuppressionV2", with_limits(|init| make(init, 2), 2));
    registry.register("NonMaxSuppressionV3", with_limits(|init| make(init, 3), 3));
    registry.register("NonMaxSuppressionV4", with_limits(|init| make(init, 4), 3));
    registry.register("NonMaxSuppressionV5", with_limits(|init| make(init, 5), 4));
}

/// Returns a scalar of the host's memory as `float32`.
fn scalar(tensor: &Tensor, name: &str) -> Result<f32> {
    if tensor.rank() != 0 {
        bail!(InvalidArgument, "{name} must be 0-D, got shape {}", tensor.shape());
    }
    if tensor.dtype() == DType::F16 { Ok(tensor.to_scalar::<f16>()?.to_f32()) } else { tensor.to_scalar() }
}

/// The limits of a call.
struct Limits {
    boxes: usize,
    /// The size of outputs that are padded.
    max_output: usize,
    words: [u32; 5],
}

impl Limits {
    /// Reads the inputs of a version of the op.
    fn new(inputs: &[Tensor], iou: f32) -> Result<Limits> {
        let [boxes, scores, size, others @ ..] = inputs else { bail!(Internal, "NonMaxSuppression has boxes, scores and a size") };
        let count = match *boxes.shape().dims() {
            [n, 4] => n,
            [_, _] => bail!(InvalidArgument, "boxes must have 4 columns"),
            _ => bail!(InvalidArgument, "boxes must be 2-D{}", boxes.shape()),
        };
        match *scores.shape().dims() {
            [n] if n == count => {}
            [n] => bail!(InvalidArgument, "scores has incompatible shape (Dimensions must be equal, but are {count} and {n})"),
            _ => bail!(InvalidArgument, "scores must be 1-D{} (Shape must be rank 1 but is rank {})", scores.shape(), scores.rank()),
        }
        if size.rank() != 0 {
            bail!(InvalidArgument, "max_output_size must be 0-D, got shape {}", size.shape());
        }
        let Ok(max_output) = usize::try_from(size.to_scalar::<i32>()?) else { bail!(InvalidArgument, "output size must be non-negative") };
        let given = |i: usize, default: f32| others.get(i).map_or(Ok(default), |tensor| scalar(tensor, LIMITS[i + 1]));
        let (overlap, score, sigma) = (given(0, iou)?, given(1, f32::MIN)?, given(2, 0.0)?);
        if !(0.0..=1.0).contains(&overlap) {
            bail!(InvalidArgument, "iou_threshold must be in [0, 1]");
        }
        if sigma < 0.0 {
            bail!(InvalidArgument, "soft_nms_sigma_val must be >= 0");
        }
        let words = [word(count)?, word(max_output.min(count))?, overlap.to_bits(), score.to_bits(), sigma.to_bits()];
        Ok(Limits { boxes: count, max_output, words })
    }
}

fn make(init: &KernelInit<'_>, version: u8) -> Result<Arc<dyn Kernel>> {
    let iou: f32 = init.attrs.get_or("iou_threshold", 0.5)?;
    let pads = version >= 4 && init.attrs.get_or("pad_to_max_output_size", false)?;
    let dtype = init.attrs.get_or("T", DType::F32)?;
    let program = CompiledKernel::of(include_str!("non_max_suppression.cu"), "select", dtype)?;
    sized(move |device, inputs| {
        let limits = Limits::new(inputs, iou)?;
        let most = limits.words[1] as usize;
        let size = if pads { limits.max_output } else { most };
        let zeros = |dtype: DType, shape: Shape| -> Result<Tensor> {
            let tensor = device.allocate(dtype, &shape)?;
            if tensor.num_bytes() > 0 {
                device.gpu().fill(device.address(&tensor)?, 0, tensor.num_bytes())?;
            }
            Ok(tensor)
        };
        let (selected, count) = (zeros(DType::I32, Shape::new(&[size]))?, zeros(DType::I32, Shape::scalar())?);
        let scores = if version == 5 { Some(zeros(dtype, Shape::new(&[size]))?) } else { None };
        let left = device.allocate(DType::F32, &Shape::new(&[limits.boxes]))?;
        if most > 0 {
            let of = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
            let selected_scores = scores.as_ref().map_or(Ok(Argument::Address(Address(0))), of)?;
            let arguments = [of(&selected)?, selected_scores, of(&count)?, of(&left)?, of(&inputs[0])?, of(&inputs[1])?];
            let arguments = [&arguments[..], &[Argument::Words(&limits.words)]].concat();
            program.launch(device, Grid { blocks: [1; 3], threads: [THREADS, 1, 1] }, &arguments)?;
        }
        let valid = (version >= 4).then(|| count.clone());
        let lists: Vec<Tensor> = std::iter::once(selected).chain(scores).collect();
        if pads {
            return Ok(Begun::Whole(lists.into_iter().chain(valid).collect()));
        }
        let then = move |device: &GpuDevice, count: &Tensor| {
            let count = count.to_scalar::<i32>()? as u32 as usize;
            let used = |list: &Tensor| device.view(list, 0, Shape::new(&[count]));
            lists.iter().map(used).chain(valid.map(Ok)).collect()
        };
        Ok(Begun::Numbers(count, Box::new(then)))
    })
}
