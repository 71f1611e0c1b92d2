//! Control flow by functions: calls, conditionals and loops whose branches and bodies are functions of the graph.

use crate::from_fn::expensive_from_fn;
use flowmill_graph::Attrs;
use flowmill_proto::NameAttrList;
use flowmill_runtime::{Cost, FunctionHandle, Kernel, KernelContext, KernelInit, KernelRegistry, Pace, ScalarOp};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    for op in ["PartitionedCall", "StatefulPartitionedCall"] {
        registry.add(op, |init| call(function(init, "f")?));
    }
    registry.add("SymbolicGradient", |init| call(init.functions.instantiate("SymbolicGradient", init.attrs)?));
    for op in ["If", "_If", "StatelessIf"] {
        registry.add(op, make_if);
    }
    for op in ["While", "_While", "StatelessWhile"] {
        registry.add(op, make_while);
    }
    for op in ["Case", "StatelessCase"] {
        registry.add(op, make_case);
    }
    registry.add("For", make_for);
    registry.add("ToBool", make_to_bool);
    for op in ["_ListToArray", "_ArrayToList"] {
        registry.add(op, |_| Ok(Arc::new(PassAll)));
    }
}

/// The kernel of a node whose op is the function `name`; the node's attributes are the function's.
///
/// # Errors
/// `NotFound` where there is no such function.
pub fn make_call(init: &KernelInit<'_>, name: &str) -> Result<Arc<dyn Kernel>> {
    call(init.functions.instantiate(name, init.attrs)?)
}

fn call(function: FunctionHandle) -> Result<Arc<dyn Kernel>> {
    expensive_from_fn(move |ctx| {
        let args = take_inputs(ctx, 0)?;
        let results = function.call(args, ctx.step())?;
        set_outputs(ctx, results)
    })
}

fn function(init: &KernelInit<'_>, attr: &str) -> Result<FunctionHandle> {
    instantiate(init, init.attrs.get(attr)?)
}

fn instantiate(init: &KernelInit<'_>, function: &NameAttrList) -> Result<FunctionHandle> {
    init.functions.instantiate(&function.name, &Attrs(function.attr.clone()))
}

fn take_inputs(ctx: &mut KernelContext<'_>, from: usize) -> Result<Vec<Tensor>> {
    (from..ctx.num_inputs()).map(|i| ctx.take(i)).collect()
}

fn set_outputs(ctx: &mut KernelContext<'_>, results: Vec<Tensor>) -> Result<()> {
    if results.len() != ctx.num_outputs() {
        bail!(InvalidArgument, "The function returned {} values. Expected: {}.", results.len(), ctx.num_outputs());
    }
    results.into_iter().enumerate().for_each(|(i, value)| ctx.set_output(i, value));
    Ok(())
}

/// TensorFlow's truth of a tensor: a scalar number other than zero, a scalar string that is not empty, anything else with at least one element.
///
/// # Errors
/// `InvalidArgument` for a scalar of a type without a truth value.
pub fn to_bool(tensor: &Tensor) -> Result<bool> {
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

/// `ToBool`: the truth of a tensor.
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

fn make_if(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let then_branch = function(init, "then_branch")?;
    let else_branch = function(init, "else_branch")?;
    expensive_from_fn(move |ctx| {
        let branch = if to_bool(ctx.input(0)?)? { &then_branch } else { &else_branch };
        let args = take_inputs(ctx, 1)?;
        let results = branch.call(args, ctx.step())?;
        set_outputs(ctx, results)
    })
}

/// `Case`: calls the branch of the given index, or the last one where the index is out of range.
fn make_case(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let branches = init.attrs.list::<&NameAttrList>("branches")?;
    let branches = branches.into_iter().map(|f| instantiate(init, f)).collect::<Result<Vec<_>>>()?;
    if branches.is_empty() {
        bail!(InvalidArgument, "Case needs at least one branch");
    }
    expensive_from_fn(move |ctx| {
        let index = ctx.input(0)?;
        let Some(bits) = index.scalar_bits(DType::I32) else {
            bail!(InvalidArgument, "branch_index must be scalar, but has shape {}", index.shape());
        };
        let last = branches.len() - 1;
        let branch = usize::try_from(bits as u32 as i32).map_or(last, |i| i.min(last));
        let args = take_inputs(ctx, 1)?;
        let results = branches[branch].call(args, ctx.step())?;
        set_outputs(ctx, results)
    })
}

/// `While`: calls `body` on the loop variables as long as `cond` of them is true. The body owns its arguments, so that it can update them in place.
struct While {
    cond: FunctionHandle,
    body: FunctionHandle,
}

impl Kernel for While {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let step = ctx.step();
        let mut variables = take_inputs(ctx, 0)?;
        let mut pace = Pace::new();
        loop {
            pace.tick(step)?;
            let results = self.cond.call(variables.clone(), step)?;
            let [condition] = &results[..] else {
                bail!(InvalidArgument, "Expected a single scalar return value from WhileOp cond, got {} tensors.", results.len());
            };
            if !to_bool(condition)? {
                return set_outputs(ctx, variables);
            }
            let count = variables.len();
            variables = self.body.call(variables, step)?;
            if variables.len() != count {
                bail!(InvalidArgument, "While loop body returned {} arguments. Expected: {count}.", variables.len());
            }
        }
    }

    fn cost(&self) -> Cost {
        Cost::Expensive
    }
}

fn make_while(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(While { cond: function(init, "cond")?, body: function(init, "body")? }))
}

/// `For`: calls `body(i, variables)` for `i` from `start` to `limit` (not included) by `delta`.
fn make_for(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let body = function(init, "body")?;
    expensive_from_fn(move |ctx| {
        let step = ctx.step();
        let mut bounds = [0i32; 3];
        for (i, (bound, name)) in bounds.iter_mut().zip(["start", "limit", "delta"]).enumerate() {
            let tensor = ctx.input(i)?;
            match tensor.scalar_bits(DType::I32) {
                Some(bits) => *bound = bits as u32 as i32,
                None => bail!(InvalidArgument, "{name} must be a scalar, but {}", tensor.shape()),
            }
        }
        let [start, limit, delta] = bounds;
        if !((delta > 0 && start <= limit) || (delta < 0 && start >= limit) || start == limit) {
            bail!(InvalidArgument, "Invalid start/limit/delta: {start} {limit} {delta}");
        }
        let mut variables = take_inputs(ctx, 3)?;
        let mut i = i64::from(start);
        let mut pace = Pace::new();
        while if delta > 0 { i < i64::from(limit) } else { i > i64::from(limit) } {
            pace.tick(step)?;
            let count = variables.len();
            let mut args = Vec::with_capacity(count + 1);
            // Between `start` and `limit`, which are `i32`.
            args.push(Tensor::scalar(i as i32));
            args.append(&mut variables);
            variables = body.call(args, step)?;
            if variables.len() != count {
                bail!(InvalidArgument, "For loop body returned {} arguments. Expected: {count}.", variables.len());
            }
            i += i64::from(delta);
        }
        set_outputs(ctx, variables)
    })
}

/// Passes every input to the output of the same index.
struct PassAll;

impl Kernel for PassAll {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        (0..ctx.num_inputs()).try_for_each(|i| ctx.forward(i, i))
    }
}
