//! Control flow by functions: calls, conditionals and loops whose branches and bodies are functions of the graph.
//!
//! These kernels are asynchronous: they do not block a thread while they wait for a function that waits for something. They run the nodes of every
//! device: the bodies of the functions are on devices of their own, and arguments and results are handed over in the memory that they are in.

mod loops;

use flowmill_graph::Attrs;
use flowmill_proto::NameAttrList;
use flowmill_runtime::{
    AsyncContext, AsyncKernel, FunctionCall, FunctionHandle, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry, ScalarOp,
};
use flowmill_tensor::{DType, Result, Tensor, bail, error};
use std::sync::Arc;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for op in ["PartitionedCall", "StatefulPartitionedCall"] {
        registry.add(op, |init| Ok(call(init, function(init, "f")?)));
    }
    registry.add("SymbolicGradient", |init| Ok(call(init, init.functions.instantiate("SymbolicGradient", init.attrs)?)));
    for op in ["If", "_If", "StatelessIf"] {
        registry.register(op, KernelDef::new(make_if).host_memory("cond"));
    }
    for op in ["While", "_While", "StatelessWhile"] {
        registry.add(op, loops::make_while);
    }
    for op in ["Case", "StatelessCase"] {
        registry.register(op, KernelDef::new(make_case).host_memory("branch_index"));
    }
    registry.register("For", KernelDef::new(loops::make_for).host_memory("start").host_memory("limit").host_memory("delta"));
    registry.add("ToBool", make_to_bool);
    for op in ["_ListToArray", "_ArrayToList"] {
        registry.add(op, |_| Ok(Arc::new(PassAll)));
    }
}

fn call(init: &KernelInit<'_>, function: FunctionHandle) -> Arc<dyn Kernel> {
    Arc::new(FunctionCall::new(function, init.output_types.len()))
}

fn function(init: &KernelInit<'_>, attr: &str) -> Result<FunctionHandle> {
    instantiate(init, init.attrs.get(attr)?)
}

fn instantiate(init: &KernelInit<'_>, function: &NameAttrList) -> Result<FunctionHandle> {
    init.functions.instantiate(&function.name, &Attrs::from(function.attr.clone()))
}

/// Converts a tensor to a truth value by TensorFlow's rules: a number is true if it is not zero, a string if it is not empty, and a tensor that is
/// no scalar if it has at least one element.
///
/// # Errors
/// Returns `InvalidArgument` for a scalar of a type without a truth value.
pub(crate) fn to_bool(tensor: &Tensor) -> Result<bool> {
    if let Some(bits) = tensor.scalar_bits(DType::Bool) {
        return Ok(bits & 1 == 1);
    }
    if tensor.rank() > 0 {
        return Ok(tensor.num_elements() > 0);
    }
    match tensor.dtype() {
        DType::F32 => Ok(tensor.to_scalar::<f32>()? != 0.0),
        DType::F64 => Ok(tensor.to_scalar::<f64>()? != 0.0),
        t @ (DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64) => Ok(tensor.scalar_bits(t) != Some(0)),
        DType::String => Ok(tensor.as_strings()?.iter().any(|s| !s.is_empty())),
        t => bail!(InvalidArgument, "{t} cannot be converted to a boolean"),
    }
}

/// The kernel of `ToBool`, which returns the truth value of a tensor.
struct ToBool(DType);

impl Kernel for ToBool {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let truth = to_bool(ctx.input(0)?)?;
        ctx.set_output(0, Tensor::scalar(truth));
        Ok(())
    }

    fn scalar_op(&self) -> Option<ScalarOp> {
        match self.0 {
            DType::Bool => Some(ScalarOp::Unary { from: DType::Bool, to: DType::Bool, f: |bits| bits & 1 }),
            t @ (DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64) => {
                Some(ScalarOp::Unary { from: t, to: DType::Bool, f: |bits| u64::from(bits != 0) })
            }
            _ => None,
        }
    }
}

fn make_to_bool(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(ToBool(init.attrs.get("T")?)))
}

/// The kernel of `If` and `Case`, which calls the branch that the first input chooses with the other inputs.
struct Branches {
    branches: Vec<FunctionHandle>,
    /// Returns the index of the branch that an input chooses.
    choose: fn(&Tensor, usize) -> Result<usize>,
    num_outputs: usize,
}

impl Kernel for Branches {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "conditionals are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Branches {
    fn start(&self, ctx: AsyncContext) {
        let chosen = match ctx.inputs().first() {
            Some(input) => (self.choose)(input, self.branches.len()),
            None => Err(error!(Internal, "Missing input 0")),
        };
        match chosen.map(|i| self.branches.get(i)) {
            Ok(Some(branch)) => ctx.end_with_call(1, branch, self.num_outputs),
            Ok(None) => ctx.done(Err(error!(Internal, "no such branch"))),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

fn make_if(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let branches = vec![function(init, "then_branch")?, function(init, "else_branch")?];
    let choose = |condition: &Tensor, _: usize| Ok(usize::from(!to_bool(condition)?));
    Ok(Arc::new(Branches { branches, choose, num_outputs: init.output_types.len() }))
}

/// Makes the kernel of `Case`: calls the branch of the given index, or the last one if the index is out of range.
fn make_case(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let branches = init.attrs.list::<&NameAttrList>("branches")?;
    let branches = branches.into_iter().map(|f| instantiate(init, f)).collect::<Result<Vec<_>>>()?;
    if branches.is_empty() {
        bail!(InvalidArgument, "Case needs at least one branch");
    }
    let choose = |index: &Tensor, count: usize| {
        let Some(bits) = index.scalar_bits(DType::I32) else {
            bail!(InvalidArgument, "branch_index must be scalar, but has shape {}", index.shape());
        };
        Ok(usize::try_from(bits as u32 as i32).map_or(count - 1, |i| i.min(count - 1)))
    };
    Ok(Arc::new(Branches { branches, choose, num_outputs: init.output_types.len() }))
}

/// A kernel that forwards every input to the output of the same index.
struct PassAll;

impl Kernel for PassAll {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        (0..ctx.num_inputs()).try_for_each(|i| ctx.forward(i, i))
    }
}
