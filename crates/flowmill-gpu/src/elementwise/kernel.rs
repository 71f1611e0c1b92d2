//! The kernel of an element-wise program.

use super::{Layout, Program};
use crate::backend::{Address, Function};
use crate::device::{Argument, GpuDevice};
use crate::text::{compute_name, element_name, source};
use flowmill_runtime::{Kernel, KernelContext};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, error};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// A thread of the packed kernel reads and writes this many bytes of the widest operand at once.
const PACK_BYTES: usize = 16;

/// Computes a program for each element of its outputs, to which all inputs are broadcast.
pub(crate) struct ElementwiseKernel {
    program: Program,
    packed: OnceLock<Arc<dyn Function>>,
    flat: OnceLock<Arc<dyn Function>>,
    strided: OnceLock<Arc<dyn Function>>,
}

/// A tensor, or a part of one, whose elements a program reads.
#[derive(Clone)]
pub(crate) struct Operand {
    pub(crate) start: Address,
    pub(crate) shape: Shape,
    /// The distance in elements between neighbours along each dimension.
    pub(crate) strides: SmallVec<[usize; 4]>,
}

impl Operand {
    /// Returns the operand of all elements of a tensor.
    ///
    /// # Errors
    /// Returns `Internal` if the tensor is not in the device's memory.
    pub(crate) fn of(device: &GpuDevice, tensor: &Tensor) -> Result<Operand> {
        Ok(Operand { start: device.address(tensor)?, shape: tensor.shape().clone(), strides: tensor.shape().strides() })
    }
}

/// The loops that a program is compiled for.
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
    /// Makes the kernel of a program.
    pub(crate) fn new(program: Program) -> ElementwiseKernel {
        ElementwiseKernel { program, packed: OnceLock::new(), flat: OnceLock::new(), strided: OnceLock::new() }
    }

    /// Computes the program of tensors whose shapes can be broadcast to that of the outputs, which have one shape.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(crate) fn apply(&self, device: &GpuDevice, tensors: &[&Tensor], output: &Tensor) -> Result<()> {
        let operands = tensors.iter().map(|tensor| Operand::of(device, tensor)).collect::<Result<SmallVec<[_; 4]>>>()?;
        self.apply_to(device, &operands, &[output])
    }

    /// Like [`apply`](Self::apply), for parts of tensors and any number of outputs.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(crate) fn apply_to(&self, device: &GpuDevice, operands: &[Operand], outputs: &[&Tensor]) -> Result<()> {
        let Some(first) = outputs.first() else { return Ok(()) };
        let n = first.num_elements();
        if n == 0 {
            return Ok(());
        }
        let layout = Layout::broadcast(first.shape(), operands.iter().map(|operand| (&operand.shape, &operand.strides[..])));
        let targets = outputs.iter().map(|output| device.address(output)).collect::<Result<SmallVec<[Address; 2]>>>()?;
        let mut arguments: SmallVec<[Argument<'_>; 12]> = SmallVec::from_slice(&[Argument::U64(n as u64)]);
        arguments.extend(targets.iter().map(|&target| Argument::Address(target)));
        if let Some(steps) = layout.steps() {
            let mut addresses = targets.iter().chain(operands.iter().map(|operand| &operand.start));
            let is_packed = n >= 4 * PACK_BYTES && addresses.all(|address| address.0.is_multiple_of(PACK_BYTES as u64));
            let (kind, per_thread) = if is_packed { (Loop::Packed, self.pack()?) } else { (Loop::Flat, 1) };
            for (operand, &step) in operands.iter().zip(&steps) {
                arguments.extend([Argument::Address(operand.start), Argument::U32(step)]);
            }
            return device.launch(self.function(device, kind)?, device.linear_grid(n.div_ceil(per_thread)), &arguments);
        }
        let words = layout.words()?;
        let mut arguments: SmallVec<[Argument<'_>; 12]> = arguments.iter().copied().collect();
        arguments.push(Argument::Words(&words));
        arguments.extend(operands.iter().map(|operand| Argument::Address(operand.start)));
        device.launch(self.function(device, Loop::Strided)?, device.linear_grid(n), &arguments)
    }

    /// Returns the number of elements that a thread of the packed kernel computes at once.
    fn pack(&self) -> Result<usize> {
        let outputs = self.program.outputs.iter().map(|&value| self.program.type_of(value)).collect::<Result<SmallVec<[DType; 2]>>>()?;
        let sizes = self.program.inputs.iter().chain(&outputs).filter_map(|dtype| dtype.size());
        Ok(PACK_BYTES / sizes.max().unwrap_or(PACK_BYTES).clamp(1, PACK_BYTES))
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
        let statements = self.program.statements()?;
        let mut parameters = "u64 n".to_owned();
        // The text that stores result `i` in `place`.
        let mut stores: Vec<(usize, &str)> = Vec::new();
        for (i, &value) in self.program.outputs.iter().enumerate() {
            let output = element(self.program.type_of(value)?)?;
            let _ = write!(parameters, ", {output}* out{i}");
            stores.push((value, output));
        }
        let store = |place: &dyn Fn(usize) -> String| -> String {
            stores.iter().enumerate().map(|(i, (value, output))| format!("    {} = ({output})v{value};\n", place(i))).collect()
        };
        if kind == Loop::Strided {
            parameters += ", Layout layout";
        }
        let (mut before, mut packs) = (String::new(), String::new());
        for (i, &dtype) in self.program.inputs.iter().enumerate() {
            let (element, compute) = (element(dtype)?, compute_name(dtype).ok_or_else(|| missing(dtype))?);
            let _ = write!(parameters, ", const {element}* in{i}");
            if kind != Loop::Strided {
                let _ = write!(parameters, ", u32 step{i}");
                let _ = writeln!(before, "  const {compute} scalar{i} = ({compute})in{i}[0];");
            }
            let _ = writeln!(packs, "    Pack<{element}, WIDTH> pack{i};");
            let _ = writeln!(packs, "    if (step{i}) pack{i} = ((const Pack<{element}, WIDTH>*)in{i})[i];");
        }
        let compute = |i: usize| self.program.inputs.get(i).and_then(|&dtype| compute_name(dtype)).unwrap_or("float");
        // The statements that compute all values from the elements that `load` reads.
        let body = |load: &dyn Fn(usize) -> String| -> String {
            let count = self.program.inputs.len();
            (0..count).map(|i| format!("    {} v{i} = {};\n", compute(i), load(i))).chain([statements.clone()]).collect()
        };
        let flat = |i: usize| format!("step{i} ? ({})in{i}[i] : scalar{i}", compute(i));
        let single = store(&|i| format!("out{i}[i]"));
        let kernel = match kind {
            Loop::Flat => format!(
                r#"extern "C" __global__ void elementwise({parameters}) {{
{before}  for (u64 i = thread_index(); i < n; i += thread_count()) {{
{body}{single}  }}
}}
"#,
                body = body(&flat)
            ),
            Loop::Packed => {
                let declared: String =
                    stores.iter().enumerate().map(|(i, (_, output))| format!("    Pack<{output}, WIDTH> result{i};\n")).collect();
                let written: String = stores
                    .iter()
                    .enumerate()
                    .map(|(i, (_, output))| format!("    ((Pack<{output}, WIDTH>*)out{i})[i] = result{i};\n"))
                    .collect();
                format!(
                    r#"template <typename T, int N> struct alignas(sizeof(T) * N) Pack {{ T values[N]; }};
enum {{ WIDTH = {width} }};
extern "C" __global__ void elementwise({parameters}) {{
{before}  for (u64 i = thread_index(); i < n / WIDTH; i += thread_count()) {{
{packs}{declared}    for (int j = 0; j < WIDTH; j++) {{
{packed}{stored}    }}
{written}  }}
  // The elements after the last whole pack.
  u64 i = n / WIDTH * WIDTH + thread_index();
  if (i < n) {{
{rest}{single}  }}
}}
"#,
                    width = self.pack()?,
                    packed = body(&|i| format!("step{i} ? ({})pack{i}.values[j] : scalar{i}", compute(i))),
                    stored = store(&|i| format!("result{i}.values[j]")),
                    rest = body(&flat)
                )
            }
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
{body}{single}  }}
}}
"#,
                count = self.program.inputs.len().max(1),
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
        let dtype = self.program.outputs.first().map_or(Ok(DType::F32), |&value| self.program.type_of(value))?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let operands = (0..ctx.num_inputs()).map(|i| ctx.input(i)).collect::<Result<SmallVec<[&Tensor; 4]>>>()?;
        self.apply(device, &operands, &output)
    }
}
