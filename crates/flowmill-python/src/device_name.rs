//! Names of devices: what `tf.DeviceSpec` and `tf.device` are made of.

use flowmill_graph::DeviceName;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The parts of a device's name. A value that never changes.
#[pyclass(frozen, eq, hash, name = "DeviceName", module = "flowmill._core")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyDeviceName(DeviceName);

fn parse(text: &str) -> PyResult<DeviceName> {
    DeviceName::parse_spec(text).map_err(|e| PyValueError::new_err(e.message().to_owned()))
}

/// Returns the text of a name. Without a type there is no number in it, as in TensorFlow.
fn text(name: &DeviceName) -> String {
    if name.device_type.is_some() { name.to_string() } else { name.address_space().to_string() }
}

#[pymethods]
impl PyDeviceName {
    #[new]
    #[pyo3(signature = (job=None, replica=None, task=None, device_type=None, device_index=None))]
    fn new(
        job: Option<String>,
        replica: Option<i64>,
        task: Option<i64>,
        device_type: Option<String>,
        device_index: Option<i64>,
    ) -> PyResult<PyDeviceName> {
        let number = |name: &str, value: Option<i64>| {
            let number = value.map(u32::try_from).transpose();
            number.map_err(|_| {
                PyValueError::new_err(format!("{name} of a device must be at least 0 and fit 32 bits, not {}", value.unwrap_or(0)))
            })
        };
        let device_type = device_type.map(|t| if t == "cpu" || t == "gpu" { t.to_ascii_uppercase() } else { t });
        Ok(PyDeviceName(DeviceName {
            job,
            replica: number("replica", replica)?,
            task: number("task", task)?,
            device_type,
            device_id: number("device_index", device_index)?,
        }))
    }

    /// Parses the text of a spec, whose parts may be in any order.
    #[staticmethod]
    #[pyo3(name = "parse")]
    fn of_text(spec: &str) -> PyResult<PyDeviceName> {
        parse(spec).map(PyDeviceName)
    }

    #[getter]
    fn job(&self) -> Option<&str> {
        self.0.job.as_deref()
    }

    #[getter]
    fn replica(&self) -> Option<u32> {
        self.0.replica
    }

    #[getter]
    fn task(&self) -> Option<u32> {
        self.0.task
    }

    #[getter]
    fn device_type(&self) -> Option<&str> {
        self.0.device_type.as_deref()
    }

    #[getter]
    fn device_index(&self) -> Option<u32> {
        self.0.device_id
    }

    /// Returns this name with the parts that `other` has in the place of its own.
    fn overridden_by(&self, other: &PyDeviceName) -> PyDeviceName {
        PyDeviceName(self.0.overridden_by(&other.0))
    }

    fn __str__(&self) -> String {
        text(&self.0)
    }
}

/// Returns the name of a device within the scope of another: parts that `inner` lacks are those of `outer`.
#[pyfunction]
pub(crate) fn merge_devices(outer: &str, inner: &str) -> PyResult<String> {
    Ok(text(&parse(outer)?.overridden_by(&parse(inner)?)))
}
