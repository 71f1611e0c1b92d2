//! `_FusedReduction`: element-wise functions and reductions over one set of axes, in one kernel that is printed for the program of a node.
//!
//! Threads in x share a group of elements that are reduced to one. They go through the group once for each reduction and once for the result, and
//! compute again what a reduction needs, so that nothing between is stored.

use super::fused::function_of;
use crate::backend::{Function, Grid};
use crate::compiled_kernel::word;
use crate::device::{Argument, GpuDevice};
use crate::elementwise::{Instruction, Layout, Operation, Program, broadcast_strides};
use crate::text::source;
use flowmill_graph::{ReductionFunction, ReductionInstruction, ReductionProgram};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// The number of threads of a block.
const THREADS: usize = 512;

pub(super) fn register(registry: &mut KernelRegistry) {
    let def = KernelDef::new(make).constrain("T", &[DType::F32]);
    registry.register("_FusedReduction", def.fuses(|function| function_of(function).is_some()));
}

struct FusedReduction {
    program: ReductionProgram,
    /// The functions of the program. A reduction has a place among them that is not printed.
    functions: Program,
    function: OnceLock<Arc<dyn Function>>,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let num_args = init.input_types.len();
    let program = ReductionProgram::from_attrs(init.attrs, num_args)?;
    let mut instructions = Vec::with_capacity(program.instructions.len());
    for instruction in &program.instructions {
        let operation = match instruction {
            ReductionInstruction::Reduce(..) => Operation::Sum,
            ReductionInstruction::Elementwise(instruction) => match function_of(instruction.function) {
                Some(function) => Operation::Apply(function, 0.0),
                None => bail!(Unimplemented, "Fusion is not implemented: {}", instruction.function),
            },
        };
        instructions.push(Instruction { operation, operands: instruction.operands().iter().copied().collect(), dtype: DType::F32 });
    }
    let inputs = SmallVec::from_elem(DType::F32, num_args);
    let functions = Program { inputs, outputs: SmallVec::from_elem(num_args + instructions.len() - 1, 1), instructions };
    // The number of operands is checked.
    functions.statements()?;
    Ok(Arc::new(FusedReduction { program, functions, function: OnceLock::new() }))
}

impl FusedReduction {
    /// Returns the statements that load and compute value `v` of an element from the arguments and from the results of reductions.
    fn statements(&self, v: usize) -> Result<String> {
        let args = self.program.num_args;
        let mut is_needed = vec![false; v + 1];
        is_needed[v] = true;
        for value in (args..=v).rev().filter(|&value| value >= args) {
            if is_needed[value]
                && let ReductionInstruction::Elementwise(instruction) = &self.program.instructions[value - args]
            {
                instruction.operands.iter().for_each(|&operand| is_needed[operand] = true);
            }
        }
        let mut text = String::new();
        for value in (0..=v).filter(|&value| is_needed[value]) {
            match value.checked_sub(args) {
                None => {
                    let _ = writeln!(text, "      const float v{value} = in{value}[first[{0}] + position(reduced, {0}, i)];", value + 1);
                }
                Some(i) if matches!(self.program.instructions[i], ReductionInstruction::Elementwise(_)) => {
                    text += &self.functions.statement(i)?;
                }
                Some(_) => {}
            }
        }
        Ok(text)
    }

    fn text(&self) -> Result<String> {
        let args = self.program.num_args;
        let parameters: String = (0..args).map(|i| format!(", const float* in{i}")).collect();
        let mut stages = String::new();
        for (i, instruction) in self.program.instructions.iter().enumerate() {
            let ReductionInstruction::Reduce(function, operand) = instruction else { continue };
            let (empty, merge) = match function {
                ReductionFunction::Max => ("lowest<float>()", "Larger<float>()"),
                ReductionFunction::Min => ("highest<float>()", "Smaller<float>()"),
                ReductionFunction::Mean | ReductionFunction::Sum => ("0.0f", "Plus<float>()"),
            };
            let divisor = if *function == ReductionFunction::Mean { " / (float)count" } else { "" };
            let _ = write!(
                stages,
                r#"  float v{value} = {empty};
  if (active) {{
    float total = v{value};
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {{
{statements}      total = {merge}(total, v{operand});
    }}
    v{value} = total;
  }}
  v{value} = merge_row(shared, v{value}, {merge}){divisor};
"#,
                value = args + i,
                statements = self.statements(*operand)?,
            );
        }
        let result = self.functions.outputs[0];
        let kernel = format!(
            r#"struct Layout {{ u32 rank; u32 dims[MAX_RANK]; u32 strides[{count}][MAX_RANK]; }};
static __device__ u32 position(const Layout& l, u32 operand, u32 i) {{
  u32 at = 0;
  for (int d = (int)l.rank - 1; d > 0; d--) {{
    at += i % l.dims[d] * l.strides[operand][d];
    i /= l.dims[d];
  }}
  return l.rank > 0 ? at + i * l.strides[operand][0] : 0;
}}
extern "C" __global__ void __launch_bounds__({THREADS}) fused_reduction(float* out, u32 groups, u32 count, Layout kept, Layout reduced{parameters}) {{
  __shared__ float shared[{THREADS}];
  const u32 group = blockIdx.x * blockDim.y + threadIdx.y;
  const bool active = group < groups;
  u32 first[{count}];
  for (u32 k = 0; k < {count}; k++) first[k] = active ? position(kept, k, group) : 0;
{stages}  if (active) {{
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {{
{statements}      out[first[0] + position(reduced, 0, i)] = v{result};
    }}
  }}
}}
"#,
            count = args + 1,
            statements = self.statements(result)?,
        );
        Ok(source(&[], &kernel))
    }

    fn function(&self, device: &GpuDevice) -> Result<&Arc<dyn Function>> {
        if let Some(function) = self.function.get() {
            return Ok(function);
        }
        let loaded = device.function(&self.text()?, "fused_reduction")?;
        Ok(self.function.get_or_init(|| loaded))
    }

    /// Returns true for each dimension of the result that is reduced.
    fn is_reduced(&self, rank: usize) -> Result<SmallVec<[bool; 6]>> {
        let mut is_reduced = SmallVec::from_elem(false, rank);
        for &axis in &self.program.axes {
            match rank.checked_sub(axis) {
                Some(at) if at < rank => is_reduced[at] = true,
                _ => bail!(InvalidArgument, "Invalid reduction dimension (-{axis} for input with {rank} dimension(s)"),
            }
        }
        Ok(is_reduced)
    }

    /// Returns the shape of the result, after a check that what is reduced has its size in the reduced dimensions.
    fn shape(&self, args: &[Tensor]) -> Result<Shape> {
        let mut shapes: Vec<Shape> = args.iter().map(|arg| arg.shape().clone()).collect();
        for instruction in &self.program.instructions {
            let mut shape = shapes[instruction.operands()[0]].clone();
            if let ReductionInstruction::Reduce(..) = instruction {
                let is_reduced = self.is_reduced(shape.rank())?;
                shape.iter_mut().zip(is_reduced).filter(|(_, is_reduced)| *is_reduced).for_each(|(dim, _)| *dim = 1);
            }
            for &operand in &instruction.operands()[1..] {
                shape = match Shape::broadcast(&shape, &shapes[operand]) {
                    Some(shape) => shape,
                    None => bail!(InvalidArgument, "Incompatible shapes: {shape} vs. {}", shapes[operand]),
                };
            }
            shapes.push(shape);
        }
        let Some(full) = shapes.last().cloned() else { bail!(Internal, "a fused reduction without values") };
        let is_reduced = self.is_reduced(full.rank())?;
        let is_whole = |operand: &Shape| {
            operand.rank() == full.rank() && (0..full.rank()).all(|axis| !is_reduced[axis] || operand[axis] == full[axis])
        };
        for instruction in &self.program.instructions {
            if let ReductionInstruction::Reduce(_, operand) = instruction
                && !is_whole(&shapes[*operand])
            {
                bail!(
                    Unimplemented,
                    "GPU kernels fuse reductions of tensors of the result's shape {full}, and not of {}",
                    shapes[*operand]
                );
            }
        }
        if let Some(shape) = shapes.iter().find(|shape| Shape::broadcast(shape, &full).is_none_or(|both| both != full)) {
            bail!(Unimplemented, "GPU kernels fuse reductions of tensors that are broadcast to {full}, and not of {shape}");
        }
        Ok(full)
    }
}

impl Kernel for FusedReduction {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let args = (0..ctx.num_inputs()).map(|i| ctx.input(i).cloned()).collect::<Result<SmallVec<[Tensor; 6]>>>()?;
        let full = self.shape(&args)?;
        let output = ctx.allocate_output(0, DType::F32, &full)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        word(output.num_elements())?;
        let is_reduced = self.is_reduced(full.rank())?;
        let strides: SmallVec<[SmallVec<[usize; 4]>; 4]> = std::iter::once(&output)
            .chain(&args)
            .map(|tensor| broadcast_strides(tensor.shape(), &tensor.shape().strides(), &full))
            .collect();
        let layout = |reduced: bool| {
            let own: SmallVec<[usize; 6]> = (0..full.rank()).filter(|&axis| is_reduced[axis] == reduced).collect();
            let dims: SmallVec<[usize; 6]> = own.iter().map(|&axis| full[axis]).collect();
            let strides = strides.iter().map(|strides| own.iter().map(|&axis| strides[axis]).collect()).collect();
            (dims.iter().product::<usize>(), Layout::new(&dims, strides))
        };
        let ((groups, kept), (count, reduced)) = (layout(false), layout(true));
        let (kept, reduced) = (kept.words()?, reduced.words()?);
        let mut arguments: SmallVec<[Argument<'_>; 12]> = SmallVec::from_slice(&[
            Argument::Address(device.address(&output)?),
            Argument::U32(word(groups)?),
            Argument::U32(word(count)?),
            Argument::Words(&kept),
            Argument::Words(&reduced),
        ]);
        for arg in &args {
            arguments.push(Argument::Address(device.address(arg)?));
        }
        let width = count.next_power_of_two().clamp(32, if count > 4096 { THREADS } else { THREADS / 2 });
        let height = THREADS / 2 / width;
        let (width, height) = (width as u32, height.max(1) as u32);
        let grid = Grid { blocks: [word(groups.div_ceil(height as usize))?, 1, 1], threads: [width, height, 1] };
        device.launch(self.function(device)?, grid, &arguments)
    }
}
