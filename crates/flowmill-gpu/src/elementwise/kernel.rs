//! The kernel of an element-wise expression.

use super::{Expression, Layout};
use crate::backend::Function;
use crate::device::{Argument, GpuDevice};
use crate::text::{compute_name, element_name, source};
use flowmill_runtime::{Kernel, KernelContext};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, error};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// A thread of the packed kernel reads and writes this many bytes of the widest operand at once.
const PACK_BYTES: usize = 16;

/// Computes an expression for each element of the output, to which all inputs are broadcast.
pub(crate) struct ElementwiseKernel {
    expression: Expression,
    inputs: SmallVec<[DType; 4]>,
    output: DType,
    packed: OnceLock<Arc<dyn Function>>,
    flat: OnceLock<Arc<dyn Function>>,
    strided: OnceLock<Arc<dyn Function>>,
}

/// The loops that an expression is compiled for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    /// All operands have the output's elements or one, and lie at addresses that allow wide accesses.
    Packed,
    /// All operands have the output's elements or one.
    Flat,
    /// Operands are broadcast.
    Strided,
}

impl ElementwiseKernel {
    /// Makes the kernel of an expression of inputs of these types.
    pub(crate) fn new(expression: Expression, inputs: &[DType], output: DType) -> ElementwiseKernel {
        let inputs = inputs.iter().copied().collect();
        ElementwiseKernel { expression, inputs, output, packed: OnceLock::new(), flat: OnceLock::new(), strided: OnceLock::new() }
    }

    /// Computes the expression of tensors whose shapes can be broadcast to `shape`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(crate) fn apply(&self, device: &GpuDevice, operands: &[&Tensor], output: &Tensor) -> Result<()> {
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let layout = Layout::broadcast(output.shape(), operands.iter().map(|operand| operand.shape()));
        let to = device.address(output)?;
        let addresses = operands.iter().map(|operand| device.address(operand)).collect::<Result<SmallVec<[_; 4]>>>()?;
        if let Some(steps) = layout.steps() {
            let aligned = |address: u64| address.is_multiple_of(PACK_BYTES as u64);
            let is_packed = n >= 4 * PACK_BYTES && aligned(to.0) && addresses.iter().all(|address| aligned(address.0));
            let (kind, per_thread) = if is_packed { (Loop::Packed, self.pack()) } else { (Loop::Flat, 1) };
            let mut arguments: SmallVec<[Argument<'_>; 12]> = SmallVec::from_slice(&[Argument::Address(to), Argument::U64(n as u64)]);
            for (&address, &step) in addresses.iter().zip(&steps) {
                arguments.extend([Argument::Address(address), Argument::U32(step)]);
            }
            return device.launch(self.function(device, kind)?, device.linear_grid(n.div_ceil(per_thread)), &arguments);
        }
        let words = layout.words()?;
        let mut arguments: SmallVec<[Argument<'_>; 12]> =
            SmallVec::from_slice(&[Argument::Address(to), Argument::U64(n as u64), Argument::Words(&words)]);
        arguments.extend(addresses.iter().map(|&address| Argument::Address(address)));
        device.launch(self.function(device, Loop::Strided)?, device.linear_grid(n), &arguments)
    }

    /// The number of elements that a thread of the packed kernel computes at once.
    fn pack(&self) -> usize {
        let sizes = self.inputs.iter().chain([&self.output]).filter_map(|dtype| dtype.size());
        PACK_BYTES / sizes.max().unwrap_or(PACK_BYTES).clamp(1, PACK_BYTES)
    }

    fn function(&self, device: &GpuDevice, kind: Loop) -> Result<&Arc<dyn Function>> {
        let cell = match kind {
            Loop::Packed => &self.packed,
            Loop::Flat => &self.flat,
            Loop::Strided => &self.strided,
        };
        if let Some(function) = cell.get() {
            return Ok(function);
        }
        let loaded = device.function(&self.text(kind)?, "elementwise")?;
        Ok(cell.get_or_init(|| loaded))
    }

    fn text(&self, kind: Loop) -> Result<String> {
        let missing = |dtype: DType| error!(Internal, "GPU kernels have no elements of type {dtype}");
        let element = |dtype: DType| element_name(dtype).ok_or_else(|| missing(dtype));
        let output = element(self.output)?;
        let mut statements = String::new();
        let (result, _) = self.expression.print(&mut statements, &self.inputs)?;
        let mut parameters = format!("{output}* out, u64 n");
        if kind == Loop::Strided {
            parameters += ", Layout layout";
        }
        let (mut before, mut packs) = (String::new(), String::new());
        for (i, &dtype) in self.inputs.iter().enumerate() {
            let (element, compute) = (element(dtype)?, compute_name(dtype).ok_or_else(|| missing(dtype))?);
            let _ = write!(parameters, ", const {element}* in{i}");
            if kind != Loop::Strided {
                let _ = write!(parameters, ", u32 step{i}");
                let _ = writeln!(before, "  const {compute} scalar{i} = ({compute})in{i}[0];");
            }
            let _ = writeln!(packs, "    Pack<{element}, WIDTH> pack{i};");
            let _ = writeln!(packs, "    if (step{i}) pack{i} = ((const Pack<{element}, WIDTH>*)in{i})[i];");
        }
        let compute = |i: usize| self.inputs.get(i).and_then(|&dtype| compute_name(dtype)).unwrap_or("float");
        // The statements that compute `result` from the elements that `load` reads.
        let body = |load: &dyn Fn(usize) -> String| -> String {
            (0..self.inputs.len()).map(|i| format!("    {} x{i} = {};\n", compute(i), load(i))).chain([statements.clone()]).collect()
        };
        let flat = |i: usize| format!("step{i} ? ({})in{i}[i] : scalar{i}", compute(i));
        let kernel = match kind {
            Loop::Flat => format!(
                r#"extern "C" __global__ void elementwise({parameters}) {{
{before}  for (u64 i = thread_index(); i < n; i += thread_count()) {{
{body}    out[i] = ({output}){result};
  }}
}}
"#,
                body = body(&flat)
            ),
            Loop::Packed => format!(
                r#"template <typename T, int N> struct alignas(sizeof(T) * N) Pack {{ T values[N]; }};
enum {{ WIDTH = {width} }};
extern "C" __global__ void elementwise({parameters}) {{
{before}  for (u64 i = thread_index(); i < n / WIDTH; i += thread_count()) {{
{packs}    Pack<{output}, WIDTH> results;
    for (int j = 0; j < WIDTH; j++) {{
{packed}    results.values[j] = ({output}){result};
    }}
    ((Pack<{output}, WIDTH>*)out)[i] = results;
  }}
  // The elements after the last whole pack.
  u64 i = n / WIDTH * WIDTH + thread_index();
  if (i < n) {{
{single}    out[i] = ({output}){result};
  }}
}}
"#,
                width = self.pack(),
                packed = body(&|i| format!("step{i} ? ({})pack{i}.values[j] : scalar{i}", compute(i))),
                single = body(&flat)
            ),
            Loop::Strided => format!(
                r#"struct Layout {{ u32 rank; u32 dims[MAX_RANK]; u32 strides[{count}][MAX_RANK]; }};
extern "C" __global__ void elementwise({parameters}) {{
  for (u64 i = thread_index(); i < n; i += thread_count()) {{
    u32 rest = (u32)i;
    u32 offsets[{count}] = {{}};
    for (int d = (int)layout.rank - 1; d >= 0; d--) {{
      u32 at = rest % layout.dims[d];
      rest /= layout.dims[d];
      for (int k = 0; k < {count}; k++) offsets[k] += at * layout.strides[k][d];
    }}
{body}    out[i] = ({output}){result};
  }}
}}
"#,
                count = self.inputs.len().max(1),
                body = body(&|i| format!("({})in{i}[offsets[{i}]]", compute(i)))
            ),
        };
        Ok(source(&[], &kernel))
    }
}

impl Kernel for ElementwiseKernel {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let device = GpuDevice::of(ctx.device())?;
        let mut shape = ctx.input(0)?.shape().clone();
        for i in 1..ctx.num_inputs() {
            let other = ctx.input(i)?.shape();
            shape = match Shape::broadcast(&shape, other) {
                Some(shape) => shape,
                None => return Err(error!(InvalidArgument, "Incompatible shapes: {shape} vs. {other}")),
            };
        }
        let output = ctx.allocate_output(0, self.output, &shape)?.clone();
        let operands = (0..ctx.num_inputs()).map(|i| ctx.input(i)).collect::<Result<SmallVec<[&Tensor; 4]>>>()?;
        self.apply(device, &operands, &output)
    }
}
