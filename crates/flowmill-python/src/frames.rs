//! Records the place where a program made an operation. Its frames are read here because in Python each of them costs bytecode.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// Returns the code and the instruction of each frame in turn, from `frame` outwards, at most `most` of them. Frames of files whose names begin with `package`
/// are left out as long as there is none of another file.
#[pyfunction]
pub(crate) fn frames<'py>(frame: Bound<'py, PyAny>, package: &str, most: usize) -> PyResult<Bound<'py, PyTuple>> {
    let py = frame.py();
    let mut next = Some(frame);
    let mut found = Vec::with_capacity(2 * most);
    while let Some(frame) = next
        && found.len() < 2 * most
    {
        let code = frame.getattr(intern!(py, "f_code"))?;
        if !found.is_empty() || !is_of(&code, package)? {
            found.extend([code, frame.getattr(intern!(py, "f_lasti"))?]);
        }
        next = Some(frame.getattr(intern!(py, "f_back"))?).filter(|frame| !frame.is_none());
    }
    PyTuple::new(py, found)
}

fn is_of(code: &Bound<'_, PyAny>, package: &str) -> PyResult<bool> {
    let file = code.getattr(intern!(code.py(), "co_filename"))?;
    Ok(file.cast::<PyString>()?.to_str()?.starts_with(package))
}
