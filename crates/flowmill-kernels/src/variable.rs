//! The resource variable, and a common view of reference and resource variables for the ops on them.

use flowmill_runtime::{KernelContext, RefVariable, VariableCell, container_name};
use flowmill_tensor::sync::MutexGuard;
use flowmill_tensor::{DType, Error, PartialShape, Resource, ResourceHandle, Result, Tensor, bail, error};
use std::ops::Deref;

/// A variable behind a `resource` handle (`VarHandleOp`).
///
/// `DestroyResourceOp` removes the value and leaves the object, so that handles made before and after name the same variable.
pub struct ResourceVariable(VariableCell);

impl Resource for ResourceVariable {
    fn type_name(&self) -> &'static str {
        "Var"
    }
}

impl Deref for ResourceVariable {
    type Target = VariableCell;

    fn deref(&self) -> &VariableCell {
        &self.0
    }
}

impl ResourceVariable {
    /// Returns an uninitialised variable. The first `VarHandleOp` of its name determines the type.
    pub fn new(dtype: DType, shape: PartialShape) -> ResourceVariable {
        ResourceVariable(VariableCell::new(dtype, shape))
    }
}

/// The kind of input through which an op receives its variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableKind {
    /// A reference, which the op forwards as its output.
    Ref,
    /// A `resource` handle; the op has no output.
    Resource,
}

impl VariableKind {
    /// Returns the name of the attribute that holds the type of the variable's values, for most ops.
    pub fn dtype_attr(self) -> &'static str {
        match self {
            VariableKind::Ref => "T",
            VariableKind::Resource => "dtype",
        }
    }
}

/// The variable in an input that is either a reference (`Ref(T)`) or a `resource` handle: kernels of `ScatterAdd` and `ResourceScatterAdd`,
/// or of `ApplyAdam` and `ResourceApplyAdam`, are the same code.
#[derive(Clone, Copy)]
pub struct Variable<'a> {
    handle: &'a ResourceHandle,
    kind: VariableKind,
    cell: &'a VariableCell,
}

impl<'a> Variable<'a> {
    /// Returns the variable in input `i`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input holds no variable, such as a fed value in place of a reference, or one of another device.
    pub fn from_input(ctx: &'a KernelContext<'_>, i: usize) -> Result<Variable<'a>> {
        let Ok([handle]) = ctx.input(i)?.as_resources() else {
            bail!(InvalidArgument, "Input {i} is not a variable: cannot assign to a fed or computed value");
        };
        ctx.resources().check_device(handle)?;
        let (kind, cell): (_, &VariableCell) = match (handle.get::<ResourceVariable>(), handle.get::<RefVariable>()) {
            (Some(v), _) => (VariableKind::Resource, v),
            (_, Some(v)) => (VariableKind::Ref, v),
            _ if handle.object().is_none() => return Err(could_not_find(handle)),
            _ => bail!(
                InvalidArgument,
                "Trying to access resource {} located in container {} as a variable: it is a {handle:?}",
                handle.name(),
                container_name(handle.container())
            ),
        };
        Ok(Variable { handle, kind, cell })
    }

    /// Returns the variable's name.
    pub fn name(&self) -> &'a str {
        self.handle.name()
    }

    /// Returns the declared type of the variable's values.
    pub fn dtype(&self) -> DType {
        self.cell.dtype()
    }

    /// Returns the current value, or `None` if the variable has none.
    pub fn get(&self) -> Option<Tensor> {
        self.cell.get()
    }

    /// Returns the current value.
    ///
    /// # Errors
    /// Returns the error of [`Variable::uninitialized`], `FailedPrecondition` or `NotFound`, if there is no value.
    pub fn read(&self) -> Result<Tensor> {
        self.get().ok_or_else(|| self.uninitialized())
    }

    /// Locks the value for reading and changing.
    pub fn lock(&self) -> MutexGuard<'a, Option<Tensor>> {
        self.cell.lock()
    }

    /// Calls `change` with the locked value.
    ///
    /// # Errors
    /// Returns the error of [`Variable::uninitialized`], `FailedPrecondition` or `NotFound`, if there is no value; any error of `change`.
    pub fn update<R>(&self, change: impl FnOnce(&mut Tensor) -> Result<R>) -> Result<R> {
        match self.lock().as_mut() {
            Some(value) => change(value),
            None => Err(self.uninitialized()),
        }
    }

    /// Returns the error for a variable without a value: `FailedPrecondition` for a reference, `NotFound` for a resource.
    pub fn uninitialized(&self) -> Error {
        match self.kind {
            VariableKind::Ref => error!(FailedPrecondition, "Attempting to use uninitialized value {}", self.name()),
            VariableKind::Resource => could_not_find(self.handle),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self.cell).addr()
    }

    /// Locks several variables at once, always in the same order, so that two kernels with common variables cannot deadlock. Guard `i` locks
    /// variable `i`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the list has a variable twice.
    pub fn lock_all(variables: &[Variable<'a>]) -> Result<Vec<MutexGuard<'a, Option<Tensor>>>> {
        let mut order: Vec<usize> = (0..variables.len()).collect();
        order.sort_unstable_by_key(|&i| variables[i].address());
        if let Some(pair) = order.windows(2).find(|pair| variables[pair[0]].address() == variables[pair[1]].address()) {
            bail!(InvalidArgument, "Variable {} is given as two different inputs of one op", variables[pair[0]].name());
        }
        let mut guards: Vec<(usize, MutexGuard<'a, _>)> = order.into_iter().map(|i| (i, variables[i].lock())).collect();
        guards.sort_unstable_by_key(|&(i, _)| i);
        Ok(guards.into_iter().map(|(_, guard)| guard).collect())
    }
}

fn could_not_find(handle: &ResourceHandle) -> Error {
    let (container, name) = (container_name(handle.container()), handle.name());
    error!(NotFound, "Resource {container}/{name}/Var does not exist. (Could not find resource: {container}/{name})")
}
