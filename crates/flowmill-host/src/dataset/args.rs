//! Access to the inputs of a dataset's op by the names of their arguments.

use super::element::{Dataset, DatasetRef, Signature, of_tensor, to_tensor};
use crate::from_fn::from_fn;
use flowmill_graph::ArgType;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{DType, Element as Scalar, Result, Tensor, bail, error};
use std::ops::Range;
use std::sync::Arc;

/// The input indices of each argument.
#[derive(Clone)]
pub(super) struct Args(Vec<(String, Range<usize>)>);

impl Args {
    /// Returns the arguments of a node.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if an attribute that says how many inputs an argument has is missing.
    pub(super) fn of(init: &KernelInit<'_>) -> Result<Args> {
        let mut first = 0;
        let mut args = Vec::with_capacity(init.op_def.inputs.len());
        for arg in &init.op_def.inputs {
            let count = match (&arg.number_attr, &arg.ty) {
                (Some(number), _) => usize::try_from(init.attrs.get::<i64>(number)?).unwrap_or(0),
                (None, ArgType::ListAttr(types)) => init.attrs.list::<DType>(types)?.len(),
                _ => 1,
            };
            args.push((arg.name.clone(), first..first + count));
            first += count;
        }
        Ok(Args(args))
    }

    /// Returns true if the op has an argument of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(arg, _)| arg == name)
    }

    /// Returns the inputs of argument `name`.
    ///
    /// # Errors
    /// Returns `Internal` if the op has no such argument.
    pub(super) fn range(&self, name: &str) -> Result<Range<usize>> {
        let found = self.0.iter().find(|(arg, _)| arg == name);
        found.map(|(_, range)| range.clone()).ok_or_else(|| error!(Internal, "no argument '{name}'"))
    }

    /// Returns the input of argument `name`.
    ///
    /// # Errors
    /// Returns `Internal` if the op has no such argument.
    pub(super) fn tensor<'a>(&self, ctx: &'a KernelContext<'_>, name: &str) -> Result<&'a Tensor> {
        ctx.input(self.range(name)?.start)
    }

    /// Returns the inputs of argument `name`.
    ///
    /// # Errors
    /// Returns `Internal` if the op has no such argument.
    pub(super) fn tensors(&self, ctx: &KernelContext<'_>, name: &str) -> Result<Vec<Tensor>> {
        // A dataset outlives the step, so its tensors must not share memory with fed arrays.
        self.range(name)?.map(|i| ctx.input(i)?.clone().into_owned()).collect()
    }

    /// Returns the value of argument `name`, a scalar.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is not a scalar.
    pub(super) fn scalar<T: Scalar>(&self, ctx: &KernelContext<'_>, name: &str) -> Result<T> {
        let tensor = self.tensor(ctx, name)?;
        if tensor.rank() != 0 {
            bail!(InvalidArgument, "{name} must be a scalar");
        }
        tensor.to_scalar()
    }

    /// Returns the values of argument `name`, a vector.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is not a vector.
    pub(super) fn vector<'a, T: Scalar>(&self, ctx: &'a KernelContext<'_>, name: &str) -> Result<&'a [T]> {
        let tensor = self.tensor(ctx, name)?;
        if tensor.rank() != 1 {
            bail!(InvalidArgument, "{name} must be a vector");
        }
        tensor.as_slice()
    }

    /// Returns the text of argument `name`, a scalar string.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is not a scalar string.
    pub(super) fn string(&self, ctx: &KernelContext<'_>, name: &str) -> Result<String> {
        match self.tensor(ctx, name)?.as_strings() {
            Ok([text]) => Ok(String::from_utf8_lossy(text).into_owned()),
            _ => bail!(InvalidArgument, "{name} must be a scalar"),
        }
    }

    /// Returns the texts of argument `name`, a scalar or a vector of strings.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is something else.
    pub(super) fn strings(&self, ctx: &KernelContext<'_>, name: &str) -> Result<Vec<String>> {
        let tensor = self.tensor(ctx, name)?;
        if tensor.rank() > 1 {
            bail!(InvalidArgument, "`{name}` must be a scalar or a vector.");
        }
        Ok(tensor.as_strings()?.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect())
    }

    /// Returns the dataset of argument `name`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is not a dataset.
    pub(super) fn dataset(&self, ctx: &KernelContext<'_>, name: &str) -> Result<DatasetRef> {
        of_tensor(self.tensor(ctx, name)?)
    }

    /// Returns the datasets of argument `name`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if an input is not a dataset.
    pub(super) fn datasets(&self, ctx: &KernelContext<'_>, name: &str) -> Result<Vec<DatasetRef>> {
        self.range(name)?.map(|i| of_tensor(ctx.input(i)?)).collect()
    }
}

/// A call of the kernel of a dataset's op.
pub(super) struct Call<'a, 'b> {
    pub(super) ctx: &'a mut KernelContext<'b>,
    pub(super) args: &'a Args,
    /// Returns the signature of elements that the node's attributes declare.
    declared: &'a Option<Signature>,
}

impl Call<'_, '_> {
    /// Returns the signature that the node declares, or that of `input` if the op declares none.
    pub(super) fn signature_or(&self, input: &DatasetRef) -> Signature {
        self.declared.clone().unwrap_or_else(|| input.signature.clone())
    }

    /// Returns the signature that the node declares.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the node declares none.
    pub(super) fn signature(&self) -> Result<Signature> {
        self.declared.clone().ok_or_else(|| error!(InvalidArgument, "attributes 'output_types' and 'output_shapes' are missing"))
    }

    /// Returns the dataset of argument `input_dataset`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is not a dataset.
    pub(super) fn input(&self) -> Result<DatasetRef> {
        self.args.dataset(self.ctx, "input_dataset")
    }

    /// Returns the value of argument `name`, a scalar.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is not a scalar.
    pub(super) fn scalar<T: Scalar>(&self, name: &str) -> Result<T> {
        self.args.scalar(self.ctx, name)
    }
}

/// Returns a kernel whose output is the dataset that `make` returns.
///
/// # Errors
/// Returns the error of [`Args::of`], `InvalidArgument`.
pub(super) fn dataset_kernel(
    init: &KernelInit<'_>,
    make: impl Fn(&mut Call<'_, '_>) -> Result<Dataset> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    let (args, declared, kind) = (Args::of(init)?, Signature::of_attrs(init.attrs)?, kind(&init.op_def.name));
    from_fn(move |ctx| {
        let mut dataset = make(&mut Call { ctx, args: &args, declared: &declared })?;
        dataset.kind = kind.clone();
        ctx.set_output(0, to_tensor(Arc::new(dataset)));
        Ok(())
    })
}

/// Returns the name of a dataset's kind: the name of its op without the words that are part of every such name.
fn kind(op: &str) -> String {
    op.replace("Experimental", "").replacen("Dataset", "", 1)
}
