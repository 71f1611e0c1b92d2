//! `_FusedAttention`: products of queries and keys, functions of these scores, softmax, and products with values, in one kernel.

use super::fused::function_of;
use crate::backend::{Function, Grid};
use crate::compiled_kernel::word;
use crate::device::{Argument, GpuDevice};
use crate::elementwise::{Instruction, MAX_RANK, Operation, Program, broadcast_strides};
use crate::text::source;
use flowmill_graph::{ElementwiseFunction, ElementwiseInstruction};
use flowmill_kernels::attention::{AttentionShapes, Matrices};
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, SmallVec, Tensor, bail};
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// The rows of queries, and the columns of values, that a block computes.
const ROWS: usize = 32;
const WIDTH: usize = 128;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("_FusedAttention", KernelDef::new(make).constrain("T", &[DType::F32]).fuses(can_be));
}

/// Returns true if a program may have the function.
fn can_be(function: ElementwiseFunction) -> bool {
    function == ElementwiseFunction::SelectV2 || function_of(function).is_some()
}

struct Attention {
    /// True for query, key, value and result if rows come before the last leading dimension.
    interleaved: [bool; 4],
    key_is_transposed: bool,
    /// Functions of the scores, which are value 0; then come the arguments.
    program: Program,
    function: OnceLock<Arc<dyn Function>>,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let interleaved: Vec<bool> = init.attrs.list("interleaved")?;
    let Ok(interleaved) = <[bool; 4]>::try_from(interleaved.as_slice()) else {
        bail!(InvalidArgument, "interleaved has {} values, not 4", interleaved.len());
    };
    let Some(num_args) = init.input_types.len().checked_sub(3) else { bail!(InvalidArgument, "attention needs three inputs") };
    let parsed = ElementwiseInstruction::parse_list(&init.attrs.list::<&str>("program")?, num_args + 1)?;
    let mut instructions = Vec::with_capacity(parsed.len());
    for ElementwiseInstruction { function, operands, .. } in parsed {
        let found = match function {
            ElementwiseFunction::SelectV2 => super::elementwise::function("SelectNumber").ok(),
            function => function_of(function),
        };
        let Some(found) = found else { bail!(Unimplemented, "Fusion is not implemented: {function}") };
        let operation = Operation::Apply(found, 0.0);
        instructions.push(Instruction { operation, operands: operands.iter().copied().collect(), dtype: DType::F32 });
    }
    let result = num_args + instructions.len();
    let program = Program {
        inputs: SmallVec::from_elem(DType::F32, num_args + 1),
        outputs: SmallVec::from_elem(if instructions.is_empty() { 0 } else { result }, 1),
        instructions,
    };
    // The number of operands is checked.
    program.statements()?;
    let key_is_transposed = init.attrs.get_or("key_is_transposed", false)?;
    Ok(Arc::new(Attention { interleaved, key_is_transposed, program, function: OnceLock::new() }))
}

impl Attention {
    fn text(&self) -> Result<String> {
        let mut text = include_str!("attention.cu").to_owned();
        let args = self.program.inputs.len() - 1;
        let parameters: String = (1..=args).map(|i| format!(", const float* arg{i}")).collect();
        let mut body = String::new();
        for i in 1..=args {
            let _ = writeln!(body, "    const float v{i} = arg{i}[place.arg({})];", i - 1);
        }
        let result = self.program.outputs.first().copied().unwrap_or(0);
        let statements = self.program.statements()?;
        let names: String = (1..=args).map(|i| format!(", arg{i}")).collect();
        for (mark, with) in [
            ("/*PARAMETERS*/", parameters.as_str()),
            ("/*STATEMENTS*/", &format!("{body}{statements}    return v{result};")),
            ("/*ARGUMENTS*/", &names),
        ] {
            text = text.replace(mark, with);
        }
        Ok(source(&[], &format!("enum {{ NUM_ARGS = {args}, NUM_PLACES = {} }};\n{text}", args.max(1))))
    }

    fn function(&self, device: &GpuDevice) -> Result<&Arc<dyn Function>> {
        if let Some(function) = self.function.get() {
            return Ok(function);
        }
        let loaded = device.function(&self.text()?, "attention")?;
        Ok(self.function.get_or_init(|| loaded))
    }
}

impl Kernel for Attention {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let inputs = (0..ctx.num_inputs()).map(|i| ctx.input(i).cloned()).collect::<Result<SmallVec<[Tensor; 6]>>>()?;
        let inputs: SmallVec<[&Tensor; 6]> = inputs.iter().collect();
        let AttentionShapes { operands: [q, k, v], scores, result: shape, .. } =
            AttentionShapes::new([inputs[0], inputs[1], inputs[2]], &inputs[3..], self.interleaved, self.key_is_transposed)?;
        let output = ctx.allocate_output(0, DType::F32, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        if v.rows == 0 {
            return device.gpu().fill(to, 0, output.num_bytes());
        }
        let out = Matrices::new(&shape, self.interleaved[3])?;
        if q.leading.len() > MAX_RANK {
            bail!(Unimplemented, "GPU kernels compute attention over at most {MAX_RANK} leading dimensions");
        }
        let (row_tiles, column_tiles) = (q.rows.div_ceil(ROWS), v.columns.div_ceil(WIDTH));
        let heads: usize = q.leading.iter().product();
        let sizes = [q.rows, v.rows, q.columns, v.columns, row_tiles, column_tiles, q.ld, k.ld, v.ld, out.ld];
        let mut words: SmallVec<[u32; 80]> = sizes.iter().map(|&size| word(size)).collect::<Result<_>>()?;
        words.push(self.key_is_transposed.into());
        words.push(q.leading.len() as u32);
        let mut pad = |values: &[usize]| -> Result<()> {
            (0..MAX_RANK).try_for_each(|i| {
                words.push(word(values.get(i).copied().unwrap_or(0))?);
                Ok(())
            })
        };
        pad(&q.leading)?;
        for matrices in [&q, &k, &v, &out] {
            pad(&matrices.strides)?;
            // Elements are counted in 32 bits.
        }
        for tensor in inputs.iter().copied().chain([&output]) {
            word(tensor.num_elements())?;
        }
        let rank = scores.rank();
        let strides =
            inputs[3..].iter().map(|arg| broadcast_strides(arg.shape(), &arg.shape().strides(), &scores)).collect::<SmallVec<[_; 4]>>();
        for strides in &strides {
            pad(&strides[..rank - 2])?;
        }
        if strides.is_empty() {
            pad(&[])?;
        }
        for at in [rank - 2, rank - 1] {
            let along: SmallVec<[u32; 4]> = strides.iter().map(|strides| strides[at] as u32).collect();
            words.extend(if along.is_empty() { SmallVec::from_slice(&[0]) } else { along });
        }
        let mut arguments: SmallVec<[Argument<'_>; 8]> = SmallVec::from_slice(&[Argument::Address(to)]);
        for &input in &inputs[..3] {
            arguments.push(Argument::Address(device.address(input)?));
        }
        arguments.push(Argument::Words(&words));
        for &input in &inputs[3..] {
            arguments.push(Argument::Address(device.address(input)?));
        }
        let grid = Grid { blocks: [word(heads * row_tiles * column_tiles)?, 1, 1], threads: [256, 1, 1] };
        device.launch(self.function(device)?, grid, &arguments)
    }
}
