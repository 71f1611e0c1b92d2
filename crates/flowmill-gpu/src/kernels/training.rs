//! Updates of variables: the optimizers' ops on resources, `AssignAddVariableOp`, `AssignSubVariableOp`.
//!
//! A new value gets memory of its own: work that is enqueued after the update may still read the old value.

use super::types::{FLOATS, NUMBERS};
use crate::compiled_kernel::{CompiledKernel, element_types};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::{self, ElementwiseKernel, Function, Operation};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::variable::Variable;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail, error};
use std::sync::Arc;

/// An optimizer: its op, its rule in the kernel's text, the variable and its slots, which are the first inputs, and the other inputs.
struct Optimizer {
    op: &'static str,
    rule: &'static str,
    variables: &'static [&'static str],
    /// The indices and names of the hyperparameters, in the rule's order.
    scalars: &'static [(usize, &'static str)],
    /// The index and name of the gradient.
    gradient: (usize, &'static str),
    /// The attribute that chooses the rule's variant, and its default.
    flag: Option<(&'static str, bool)>,
}

const MOMENTUM: &[(usize, &str)] = &[(2, "lr"), (4, "momentum")];
const NESTEROV: Option<(&str, bool)> = Some(("use_nesterov", false));
const SLOTS: Option<(&str, bool)> = Some(("update_slots", true));

const OPTIMIZERS: [Optimizer; 10] = [
    Optimizer {
        op: "ResourceApplyGradientDescent",
        rule: "struct GradientDescent",
        variables: &["var"],
        scalars: &[(1, "alpha")],
        gradient: (2, "delta"),
        flag: None,
    },
    Optimizer {
        op: "ResourceApplyMomentum",
        rule: "struct Momentum",
        variables: &["var", "accum"],
        scalars: MOMENTUM,
        gradient: (3, "grad"),
        flag: NESTEROV,
    },
    Optimizer {
        op: "ResourceApplyKerasMomentum",
        rule: "struct KerasMomentum",
        variables: &["var", "accum"],
        scalars: MOMENTUM,
        gradient: (3, "grad"),
        flag: NESTEROV,
    },
    Optimizer {
        op: "ResourceApplyAdagrad",
        rule: "struct Adagrad",
        variables: &["var", "accum"],
        scalars: &[(2, "lr")],
        gradient: (3, "grad"),
        flag: SLOTS,
    },
    Optimizer {
        op: "ResourceApplyAdagradV2",
        rule: "struct AdagradV2",
        variables: &["var", "accum"],
        scalars: &[(2, "lr"), (3, "epsilon")],
        gradient: (4, "grad"),
        flag: SLOTS,
    },
    Optimizer {
        op: "ResourceApplyAdadelta",
        rule: "struct Adadelta",
        variables: &["var", "accum", "accum_update"],
        scalars: &[(3, "lr"), (4, "rho"), (5, "epsilon")],
        gradient: (6, "grad"),
        flag: None,
    },
    Optimizer {
        op: "ResourceApplyAdam",
        rule: "struct Adam",
        variables: &["var", "m", "v"],
        scalars: &[(3, "beta1_power"), (4, "beta2_power"), (5, "lr"), (6, "beta1"), (7, "beta2"), (8, "epsilon")],
        gradient: (9, "grad"),
        flag: NESTEROV,
    },
    Optimizer {
        op: "ResourceApplyAdaMax",
        rule: "struct AdaMax",
        variables: &["var", "m", "v"],
        scalars: &[(3, "beta1_power"), (4, "lr"), (5, "beta1"), (6, "beta2"), (7, "epsilon")],
        gradient: (8, "grad"),
        flag: None,
    },
    Optimizer {
        op: "ResourceApplyRMSProp",
        rule: "struct RMSProp",
        variables: &["var", "ms", "mom"],
        scalars: &[(3, "lr"), (4, "rho"), (5, "momentum"), (6, "epsilon")],
        gradient: (7, "grad"),
        flag: None,
    },
    Optimizer {
        op: "ResourceApplyCenteredRMSProp",
        rule: "struct CenteredRMSProp",
        variables: &["var", "mg", "ms", "mom"],
        scalars: &[(4, "lr"), (5, "rho"), (6, "momentum"), (7, "epsilon")],
        gradient: (8, "grad"),
        flag: None,
    },
];

pub(super) fn register(registry: &mut KernelRegistry) {
    for optimizer in &OPTIMIZERS {
        let def = KernelDef::new(make_optimizer).constrain("T", FLOATS);
        registry.register(optimizer.op, optimizer.variables.iter().fold(def, |def, name| def.host_memory(name)));
    }
    for op in ["AssignAddVariableOp", "AssignSubVariableOp"] {
        registry.register(op, KernelDef::new(make_assign).constrain("dtype", NUMBERS).host_memory("resource"));
    }
}

fn make_optimizer(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(optimizer) = OPTIMIZERS.iter().find(|optimizer| optimizer.op == op) else {
        bail!(Internal, "GPUs have no optimizer {op}");
    };
    let dtype = init.dtype("T")?;
    let [element, compute] = element_types(dtype)?;
    let program = CompiledKernel::new(include_str!("training.cu"), "update", &[element, compute, ("R", optimizer.rule)]);
    let flag = match optimizer.flag {
        Some((name, default)) => init.attrs.get_or(name, default)?,
        None => false,
    };
    from_fn(move |ctx| optimizer.apply(ctx, dtype, &program, flag))
}

impl Optimizer {
    fn apply(&self, ctx: &KernelContext<'_>, dtype: DType, program: &CompiledKernel, flag: bool) -> Result<()> {
        let device = GpuDevice::of(ctx.device())?;
        let gradient = ctx.input(self.gradient.0)?;
        let mut scalars: SmallVec<[&Tensor; 6]> = SmallVec::new();
        for &(i, name) in self.scalars {
            let scalar = ctx.input(i)?;
            if scalar.rank() != 0 {
                bail!(InvalidArgument, "{name} is not a scalar: {}", scalar.shape());
            }
            scalars.push(scalar);
        }
        let variables = (0..self.variables.len()).map(|i| Variable::from_input(ctx, i)).collect::<Result<Vec<_>>>()?;
        let mut guards = Variable::lock_all(&variables)?;
        let mut before: SmallVec<[Tensor; 4]> = SmallVec::new();
        for (guard, variable) in guards.iter().zip(&variables) {
            let Some(value) = guard.as_ref() else { return Err(variable.uninitialized()) };
            if value.dtype() != dtype {
                bail!(InvalidArgument, "Trying to update variable {} of type {} as {dtype}", variable.name(), value.dtype());
            }
            before.push(value.clone());
        }
        let shape = self.checked_shape(&before, gradient)?;
        let n = shape.num_elements();
        if n == 0 {
            return Ok(());
        }
        let after = before.iter().map(|_| device.allocate(dtype, &shape)).collect::<Result<SmallVec<[Tensor; 4]>>>()?;
        let mut words: SmallVec<[u32; 32]> = SmallVec::new();
        let mut add = |tensors: &mut dyn Iterator<Item = &Tensor>, places: usize| -> Result<()> {
            for _ in 0..places {
                let address = tensors.next().map_or(Ok(0), |tensor| device.address(tensor).map(|address| address.0))?;
                words.extend([address as u32, (address >> 32) as u32]);
            }
            Ok(())
        };
        add(&mut after.iter(), 4)?;
        add(&mut before.iter(), 4)?;
        add(&mut scalars.iter().copied(), 6)?;
        add(&mut std::iter::once(gradient), 1)?;
        let arguments = [Argument::Words(&words), Argument::U64(n as u64), Argument::U32(flag.into())];
        program.launch(device, device.linear_grid(n), &arguments)?;
        guards.iter_mut().zip(after).for_each(|(guard, value)| **guard = Some(value));
        Ok(())
    }

    /// Returns the shape that all variables and the gradient have.
    fn checked_shape(&self, variables: &[Tensor], gradient: &Tensor) -> Result<Shape> {
        let Some(first) = variables.first() else { bail!(Internal, "an optimizer without variables") };
        let shape = first.shape();
        for (value, name) in variables.iter().zip(self.variables).skip(1) {
            if value.shape() != shape {
                bail!(InvalidArgument, "{} and {name} do not have the same shape{shape} {}", self.variables[0], value.shape());
            }
        }
        if gradient.shape() != shape {
            let name = self.gradient.1;
            bail!(InvalidArgument, "{} and {name} do not have the same shape{shape} {}", self.variables[0], gradient.shape());
        }
        Ok(shape.clone())
    }
}

fn make_assign(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let name = if init.op_def.name == "AssignSubVariableOp" { "Sub" } else { "AddV2" };
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
            if current.shape() != value.shape() {
                bail!(
                    InvalidArgument,
                    "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
                    current.shape(),
                    value.shape()
                );
            }
            let updated = device.allocate(dtype, current.shape())?;
            kernel.apply(device, &[current, value], &updated)?;
            *current = updated;
            Ok(())
        })
    })
}
