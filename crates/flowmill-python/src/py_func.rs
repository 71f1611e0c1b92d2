//! `PyFunc`, `PyFuncStateless` and `EagerPyFunc`: kernels that call functions of Python, which `flowmill._internal.script_ops` keeps by their tokens.

use crate::convert::{from_item, to_numpy};
use crate::gate::{PythonFunction, attach};
use flowmill::{Code, DType, Error, KernelRegistry, Result, Tensor};
use flowmill_runtime::{Cost, Kernel, KernelContext, KernelInit};
use flowmill_tensor::error;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::{Arc, LazyLock};

/// Returns the kernels of sessions that Python makes.
pub(crate) fn kernels() -> Arc<KernelRegistry> {
    static KERNELS: LazyLock<Arc<KernelRegistry>> = LazyLock::new(|| {
        flowmill::kernels_with(|registry| {
            for op in ["PyFunc", "PyFuncStateless", "EagerPyFunc"] {
                registry.add(op, make);
            }
        })
    });
    KERNELS.clone()
}

/// The codes that functions' exceptions have; others are unknown.
const CODES: [Code; 15] = [
    Code::Cancelled,
    Code::InvalidArgument,
    Code::DeadlineExceeded,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::Aborted,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Internal,
    Code::Unavailable,
    Code::DataLoss,
    Code::Unauthenticated,
];

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let token: &str = init.attrs.get("token")?;
    Ok(Arc::new(PyFunc { token: token.to_owned(), outputs: init.attrs.list("Tout")? }))
}

struct PyFunc {
    token: String,
    outputs: Vec<DType>,
}

impl Kernel for PyFunc {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let inputs = (0..ctx.num_inputs()).map(|i| ctx.take(i)).collect::<Result<Vec<_>>>()?;
        let _keep = flowmill_runtime::denormals::keep();
        let outputs = attach(|py| self.call(py, inputs).map_err(|e| Error::new(Code::Unknown, e.to_string())))??;
        for (i, output) in outputs.into_iter().enumerate() {
            ctx.set_output(i, output);
        }
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        Some(Cost::Blocking)
    }
}

impl PyFunc {
    /// Calls the function; the outer error is a defect of the module, the inner one the function's.
    fn call(&self, py: Python<'_>, inputs: Vec<Tensor>) -> PyResult<Result<Vec<Tensor>>> {
        let arguments = PyList::new(py, inputs.into_iter().map(|t| to_numpy(py, t)).collect::<PyResult<Vec<_>>>()?)?;
        static RUN: PythonFunction = PythonFunction::new("flowmill._internal.script_ops", "_run");
        let (code, text, values): (u8, String, Bound<'_, PyTuple>) = RUN.call(py, (self.token.as_str(), arguments))?.extract()?;
        if code != 0 {
            let code = CODES.into_iter().find(|&c| c as u8 == code).unwrap_or(Code::Unknown);
            return Ok(Err(Error::new(code, text)));
        }
        if values.len() != self.outputs.len() {
            let (found, wanted) = (values.len(), self.outputs.len());
            return Ok(Err(error!(InvalidArgument, "{} returns {found} values, but expects to see {wanted} values.", self.token)));
        }
        let mut outputs = Vec::with_capacity(values.len());
        for (i, (value, &wanted)) in values.iter_borrowed().zip(&self.outputs).enumerate() {
            let output = from_item(value)?;
            if output.dtype() != wanted {
                let (found, wanted) = (output.dtype().cpp_name(), wanted.cpp_name());
                return Ok(Err(error!(InvalidArgument, "{i}-th value returned by {} is {found}, but expects {wanted}", self.token)));
            }
            outputs.push(output);
        }
        Ok(Ok(outputs))
    }
}
