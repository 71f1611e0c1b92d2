//! Updates of variables: the optimizers' ops, `AssignAdd`, `AssignSub`, and those on resources.
//!
//! A new value is written to the memory of the old one if nobody else holds that. Otherwise it gets memory of its own, because work that is enqueued
//! after the update may still read the old value.

use super::ordered::{Slices, Sorter, sorted_argument};
use super::rules::{RULES, Rule};
use super::types::{FLOATS, INDICES, NUMBERS};
use crate::compiled_kernel::{CompiledKernel, element_types};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::{self, ElementwiseKernel, Function, Operation};
use crate::text::element_name;
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::variable::Variable;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Error, Result, Shape, SmallVec, Tensor, bail, error};
use std::sync::Arc;

/// A rule with the places of its operands among a node's inputs.
struct Signature {
    rule: &'static Rule,
    /// The types of the variable and of everything that is computed with.
    dtype: DType,
    scalars: SmallVec<[usize; 6]>,
    gradient: usize,
    /// The indices of the rows that change, if not all do.
    indices: Option<(usize, Sorter)>,
    flag: bool,
}

pub(super) fn register(registry: &mut KernelRegistry) {
    for rule in RULES {
        for &op in rule.ops {
            let def = KernelDef::new(make_optimizer).constrain("T", FLOATS).constrain("Tindices", INDICES);
            registry.register(op, rule.variables.iter().chain(&["out"]).fold(def, |def, name| def.host_memory(name)));
        }
    }
    for op in ["AssignAddVariableOp", "AssignSubVariableOp"] {
        registry.register(op, KernelDef::new(make_assign).constrain("dtype", NUMBERS).host_memory("resource"));
    }
    for op in ["AssignAdd", "AssignSub"] {
        registry.register(op, KernelDef::new(make_assign).constrain("T", NUMBERS).host_memory("ref").host_memory("output_ref"));
    }
}

fn make_optimizer(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature::new(init)?;
    let [element, compute] = element_types(signature.dtype)?;
    let text = concat!(include_str!("ordered.cu"), include_str!("training.cu"));
    let index = match &signature.indices {
        Some(_) => init.dtype("Tindices")?,
        None => DType::I32,
    };
    let index = element_name(index).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {index}"))?;
    let name = if signature.indices.is_some() { "update_rows" } else { "update" };
    let program = CompiledKernel::new(text, name, &[element, compute, ("I", index), ("R", signature.rule.text)]);
    from_fn(move |ctx| {
        signature.apply(ctx, &program)?;
        forward_reference(ctx)
    })
}

/// Forwards a reference, for the ops that return the variable.
pub(super) fn forward_reference(ctx: &mut KernelContext<'_>) -> Result<()> {
    if ctx.num_outputs() > 0 { ctx.forward(0, 0) } else { Ok(()) }
}

impl Signature {
    fn new(init: &KernelInit<'_>) -> Result<Signature> {
        let op = init.op_def.name.as_str();
        let Some(rule) = RULES.iter().find(|rule| rule.ops.contains(&op)) else { bail!(Internal, "GPUs have no optimizer {op}") };
        let find = |name: &str| init.op_def.inputs.iter().position(|input| input.name == name);
        let input = |name: &str| find(name).ok_or_else(|| error!(Internal, "{op} has no input {name}"));
        let flag = match rule.flag {
            Some((name, default)) => init.attrs.get_or(name, default)?,
            None => false,
        };
        Ok(Signature {
            rule,
            dtype: init.dtype("T")?,
            scalars: rule.scalars.iter().map(|name| input(name)).collect::<Result<_>>()?,
            gradient: find("delta").map_or_else(|| input("grad"), Ok)?,
            indices: find("indices").map(|i| Ok::<_, Error>((i, Sorter::new(init.dtype("Tindices")?)?))).transpose()?,
            flag,
        })
    }

    fn apply(&self, ctx: &KernelContext<'_>, program: &CompiledKernel) -> Result<()> {
        let device = GpuDevice::of(ctx.device())?;
        let gradient = ctx.input(self.gradient)?;
        let mut scalars: SmallVec<[&Tensor; 6]> = SmallVec::new();
        for (&i, name) in self.scalars.iter().zip(self.rule.scalars) {
            let scalar = ctx.input(i)?;
            if scalar.rank() != 0 {
                bail!(InvalidArgument, "{name} is not a scalar: {}", scalar.shape());
            }
            scalars.push(scalar);
        }
        let variables = (0..self.rule.variables.len()).map(|i| Variable::from_input(ctx, i)).collect::<Result<Vec<_>>>()?;
        let mut guards = Variable::lock_all(&variables)?;
        let mut before: SmallVec<[Tensor; 4]> = SmallVec::new();
        for (guard, variable) in guards.iter().zip(&variables) {
            let Some(value) = guard.as_ref() else { return Err(variable.uninitialized()) };
            if value.dtype() != self.dtype {
                bail!(InvalidArgument, "Trying to update variable {} of type {} as {}", variable.name(), value.dtype(), self.dtype);
            }
            before.push(value.clone());
        }
        let shape = self.checked_shape(&before)?;
        let rows = match &self.indices {
            Some((i, sorter)) => Some((ctx.input(*i)?, self.checked_rows(&shape, gradient, ctx.input(*i)?)?, sorter)),
            None if *gradient.shape() != shape => bail!(
                InvalidArgument,
                "{} and {} do not have the same shape{shape} {}",
                self.rule.variables[0],
                if self.rule.scalars.contains(&"alpha") { "delta" } else { "grad" },
                gradient.shape()
            ),
            None => None,
        };
        let n = gradient.num_elements();
        if n == 0 {
            return Ok(());
        }
        // The clones would be further holders of the memory.
        drop(before);
        let mut after: SmallVec<[Tensor; 4]> = SmallVec::new();
        for value in guards.iter_mut().filter_map(|guard| guard.as_mut()) {
            after.push(device.memory_of_update(value)?);
        }
        let before: SmallVec<[Tensor; 4]> = guards.iter().filter_map(|guard| (**guard).clone()).collect();
        let operands = operands(device, [&after, &before], &scalars, gradient)?;
        let (operands, flag) = (Argument::Words(&operands), Argument::U32(self.flag.into()));
        match rows {
            None => program.launch(device, device.linear_grid(n), &[operands, Argument::U64(n as u64), flag])?,
            Some((indices, slices, sorter)) => {
                for (after, before) in after.iter().zip(&before) {
                    let [to, from] = [device.address(after)?, device.address(before)?];
                    if to != from {
                        device.gpu().copy(to, from, after.num_bytes())?;
                    }
                }
                let keys = sorter.sort(device, &slices, indices)?;
                let (indices, sorted) = (Argument::Address(device.address(indices)?), sorted_argument(device, keys.as_ref())?);
                let arguments = [operands, indices, sorted, Argument::Words(&slices.words), flag];
                program.launch(device, slices.grid(), &arguments)?;
            }
        }
        guards.iter_mut().zip(after).for_each(|(guard, value)| **guard = Some(value));
        Ok(())
    }

    /// Returns the shape that all variables have.
    fn checked_shape(&self, variables: &[Tensor]) -> Result<Shape> {
        let Some(first) = variables.first() else { bail!(Internal, "an optimizer without variables") };
        let shape = first.shape();
        for (value, name) in variables.iter().zip(self.rule.variables).skip(1) {
            if value.shape() != shape {
                bail!(InvalidArgument, "{} and {name} do not have the same shape{shape} {}", self.rule.variables[0], value.shape());
            }
        }
        Ok(shape.clone())
    }

    /// Returns the slices of the rows that a gradient is for, after a check of its shape.
    fn checked_rows(&self, shape: &Shape, gradient: &Tensor, indices: &Tensor) -> Result<Slices> {
        if indices.rank() != 1 {
            bail!(InvalidArgument, "indices must be one-dimensional");
        }
        let variable = self.rule.variables[0];
        let Some((_, row)) = shape.split_first() else { bail!(InvalidArgument, "{variable} must be at least 1 dimensional") };
        let expected: Shape = std::iter::once(indices.num_elements()).chain(row.iter().copied()).collect();
        if *gradient.shape() != expected {
            bail!(
                InvalidArgument,
                "grad must be the same size as indices in the first dimension and as {variable} in the others: {} for {expected}",
                gradient.shape()
            );
        }
        Slices::new(shape, 1, indices.num_elements(), false)
    }
}

/// Returns the words of the structure `Operands` of kernels.
fn operands(device: &GpuDevice, variables: [&[Tensor]; 2], scalars: &[&Tensor], gradient: &Tensor) -> Result<SmallVec<[u32; 32]>> {
    let mut words: SmallVec<[u32; 32]> = SmallVec::new();
    let mut add = |tensors: &mut dyn Iterator<Item = &Tensor>, places: usize| -> Result<()> {
        for _ in 0..places {
            let address = tensors.next().map_or(Ok(0), |tensor| device.address(tensor).map(|address| address.0))?;
            words.extend([address as u32, (address >> 32) as u32]);
        }
        Ok(())
    };
    for values in variables {
        add(&mut values.iter(), 4)?;
    }
    add(&mut scalars.iter().copied(), 6)?;
    add(&mut std::iter::once(gradient), 1)?;
    Ok(words)
}

fn make_assign(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let is_reference = matches!(init.op_def.name.as_str(), "AssignAdd" | "AssignSub");
    let dtype = init.dtype(if is_reference { "T" } else { "dtype" })?;
    let name = if init.op_def.name.starts_with("AssignSub") { "Sub" } else { "AddV2" };
    let function = Function::of(name).ok_or_else(|| error!(Internal, "GPUs have no function {name}"))?;
    let kernel = ElementwiseKernel::new(elementwise::Program::of(Operation::Apply(function, 0.0), &[dtype; 2], dtype));
    from_fn(move |ctx| {
        let value = ctx.input(1)?;
        let device = GpuDevice::of(ctx.device())?;
        Variable::from_input(ctx, 0)?.update(|current| {
            if current.dtype() != value.dtype() {
                bail!(
                    InvalidArgument,
                    "Trying to assign variable with wrong dtype. Expected {} got {}",
                    current.dtype().cpp_name(),
                    value.dtype().cpp_name()
                );
            }
            if current.shape() != value.shape() && is_reference {
                bail!(InvalidArgument, "Parameters and update must be the same size");
            }
            if current.shape() != value.shape() {
                bail!(
                    InvalidArgument,
                    "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
                    current.shape(),
                    value.shape()
                );
            }
            let updated = device.memory_of_update(current)?;
            kernel.apply(device, &[current, value], &updated)?;
            *current = updated;
            Ok(())
        })?;
        forward_reference(ctx)
    })
}
