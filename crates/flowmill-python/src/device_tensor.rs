//! Tensors in the memory of GPUs, which other libraries share by DLPack and `__cuda_array_interface__`.

use crate::convert::{numpy_dtype, to_numpy};
use crate::errors::{Raise, invalid_argument};
use crate::gate;
use crate::references::Reference;
use flowmill::gpu::backend::{Address, Stream};
use flowmill::gpu::{GpuDevice, GpuMemory};
use flowmill_runtime::Device;
use flowmill_tensor::{DType, Result, Shape, Tensor, error};
use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::os::raw::c_int;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// DLPack's number of devices of CUDA.
const CUDA: c_int = 2;
/// The name of a capsule that holds a tensor, and its name after the tensor was taken.
const CAPSULE: &CStr = c"dltensor";
const USED_CAPSULE: &CStr = c"used_dltensor";

/// A tensor in the memory of a GPU. The step that computed it has ended, so that its elements are there. They are shared with whoever holds the tensor,
/// such as a variable, and must not be written to.
#[pyclass(frozen, name = "DeviceTensor", module = "flowmill._core")]
pub struct PyDeviceTensor {
    tensor: Tensor,
    device: Arc<dyn Device>,
}

impl PyDeviceTensor {
    /// Wraps a tensor that is in the memory of `device`.
    pub(crate) fn new(tensor: Tensor, device: Arc<dyn Device>) -> PyDeviceTensor {
        PyDeviceTensor { tensor, device }
    }

    fn address(&self) -> PyResult<*mut c_void> {
        let memory = GpuMemory::of(&self.tensor);
        memory.map(|memory| memory.address().0 as *mut c_void).ok_or_else(|| PyBufferError::new_err("the tensor is not in a GPU's memory"))
    }

    fn ordinal(&self) -> c_int {
        self.device.attributes().name.device_id.unwrap_or(0) as c_int
    }
}

#[pymethods]
impl PyDeviceTensor {
    /// The sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape().dims())
    }

    /// The element type, as a `numpy.dtype`.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(numpy_dtype(py, self.tensor.dtype())?.into_any())
    }

    /// The full name of the device.
    #[getter]
    fn device(&self) -> String {
        self.device.attributes().name.to_string()
    }

    /// Copies the elements to an array of the host.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(&self, py: Python<'py>, dtype: Option<Bound<'py, PyAny>>, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(pyo3::exceptions::PyValueError::new_err("the elements are in a GPU's memory: an array is a copy"));
        }
        let copied = gate::detached(py, || {
            let (sender, receiver) = channel();
            self.device.copy_to_host(self.tensor.clone(), Box::new(move |copied| drop(sender.send(copied))));
            receiver.recv().unwrap_or_else(|_| Err(error!(Internal, "the copy from {} was dropped", self.device.attributes().name)))
        })?;
        let array = py.import("numpy")?.getattr("asarray")?.call1((to_numpy(py, copied)?,))?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// The interface of CUDA arrays, version 3. NumPy has no name for some types, such as `bfloat16`.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.tensor.dtype() == DType::BF16 {
            return Err(PyAttributeError::new_err("__cuda_array_interface__ has no bfloat16: use DLPack"));
        }
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", self.dtype(py)?.getattr("str")?)?;
        let is_read_only = true;
        interface.set_item("data", (self.address()? as usize, is_read_only))?;
        interface.set_item("version", 3)?;
        interface.set_item("strides", py.None())?;
        // The elements are there: nobody has to wait for a stream.
        interface.set_item("stream", py.None())?;
        Ok(interface)
    }

    fn __dlpack_device__(&self) -> (c_int, c_int) {
        (CUDA, self.ordinal())
    }

    /// Returns a capsule with the tensor, by DLPack's protocol. The elements are there: `stream` does not matter.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<Bound<'py, PyAny>>,
        dl_device: Option<(c_int, c_int)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = (stream, max_version);
        if copy == Some(true) || dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err("a tensor of a GPU is shared where it is, without a copy"));
        }
        let dtype =
            data_type(self.tensor.dtype()).ok_or_else(|| PyBufferError::new_err(format!("DLPack has no {}", self.tensor.dtype())))?;
        let dims: Vec<i64> = self.tensor.shape().dims().iter().map(|&dim| dim as i64).collect();
        let mut exported =
            Box::new(Exported { shape: dims, strides: row_major(self.tensor.shape()), managed: None, _tensor: self.tensor.clone() });
        let tensor = DlTensor {
            data: self.address()?,
            device: DlDevice { kind: CUDA, ordinal: self.ordinal() },
            rank: exported.shape.len() as c_int,
            dtype,
            shape: exported.shape.as_mut_ptr(),
            strides: exported.strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let exported = Box::into_raw(exported);
        let managed = ManagedTensor { tensor, context: exported.cast(), deleter: Some(drop_exported) };
        // SAFETY: the box was just leaked, and nobody else knows it.
        let managed: *mut ManagedTensor = unsafe { (*exported).managed.insert(managed) };
        // SAFETY: the pointer is valid until the deleter is called, by the capsule's destructor or by whoever takes the tensor.
        unsafe {
            let capsule = ffi::PyCapsule_New(managed.cast(), CAPSULE.as_ptr(), Some(drop_capsule));
            if capsule.is_null() {
                drop_exported(managed);
            }
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }

    fn __repr__(&self) -> String {
        format!("<flowmill.DeviceTensor shape={} dtype={} device={}>", self.tensor.shape(), self.tensor.dtype(), self.device())
    }
}

/// `DLDevice` of DLPack.
#[repr(C)]
#[derive(Clone, Copy)]
struct DlDevice {
    kind: c_int,
    ordinal: c_int,
}

/// `DLDataType` of DLPack.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
struct DlDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor` of DLPack.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    rank: c_int,
    dtype: DlDataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor` of DLPack.
#[repr(C)]
struct ManagedTensor {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// A tensor that another library has, with the arrays that its description points to.
struct Exported {
    shape: Vec<i64>,
    strides: Vec<i64>,
    managed: Option<ManagedTensor>,
    _tensor: Tensor,
}

unsafe extern "C" fn drop_exported(managed: *mut ManagedTensor) {
    // SAFETY: DLPack calls the deleter once; the context is the box that the description is part of.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Exported>()) });
}

/// Drops the tensor of a capsule that nobody took.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once, with the capsule; a tensor that was taken has another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, CAPSULE.as_ptr()) == 1 {
            drop_exported(ffi::PyCapsule_GetPointer(capsule, CAPSULE.as_ptr()).cast());
        }
    }
}

/// A tensor that was taken from another library.
struct Imported(*mut ManagedTensor);

// SAFETY: DLPack's deleters may be called by any thread.
unsafe impl Send for Imported {}
// SAFETY: nothing is reached through a shared reference.
unsafe impl Sync for Imported {}

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: the tensor was taken out of its capsule and is dropped once.
        unsafe {
            if let Some(deleter) = (*self.0).deleter {
                deleter(self.0);
            }
        }
    }
}

const TYPES: [(DType, DlDataType); 15] = {
    const fn of(dtype: DType, code: u8, bits: u8) -> (DType, DlDataType) {
        (dtype, DlDataType { code, bits, lanes: 1 })
    }
    [
        of(DType::I8, 0, 8),
        of(DType::I16, 0, 16),
        of(DType::I32, 0, 32),
        of(DType::I64, 0, 64),
        of(DType::U8, 1, 8),
        of(DType::U16, 1, 16),
        of(DType::U32, 1, 32),
        of(DType::U64, 1, 64),
        of(DType::F16, 2, 16),
        of(DType::F32, 2, 32),
        of(DType::F64, 2, 64),
        of(DType::BF16, 4, 16),
        of(DType::C64, 5, 64),
        of(DType::C128, 5, 128),
        of(DType::Bool, 6, 8),
    ]
};

fn data_type(dtype: DType) -> Option<DlDataType> {
    TYPES.iter().find(|(own, _)| *own == dtype).map(|(_, found)| *found)
}

/// Returns the strides of a tensor without gaps, in elements.
fn row_major(shape: &Shape) -> Vec<i64> {
    shape.strides().iter().map(|&stride| stride as i64).collect()
}

/// Returns true if elements with these strides lie in row-major order without gaps.
fn is_dense(shape: &Shape, strides: &[i64]) -> bool {
    let expected = row_major(shape);
    let mut dims = shape.dims().iter().zip(strides.iter().zip(&expected));
    shape.num_elements() <= 1 || dims.all(|(&dim, (stride, expected))| dim == 1 || stride == expected)
}

/// Returns the tensor of a value that is in the memory of `device`, without a copy: a [`PyDeviceTensor`], or an object that has DLPack's methods or
/// `__cuda_array_interface__`. Returns `None` for values of the host and of other devices' kinds.
///
/// # Errors
/// Returns the errors of the object's methods, and `InvalidArgument` for elements with gaps, of another type, or in the memory of another GPU.
pub(crate) fn from_python(value: &Bound<'_, PyAny>, device: &Arc<dyn Device>, dtype: DType) -> PyResult<Option<Tensor>> {
    let py = value.py();
    let gpu = GpuDevice::of(device).raise(py)?;
    if let Ok(tensor) = value.cast::<PyDeviceTensor>() {
        let tensor = &tensor.get().tensor;
        return if device.holds(tensor) { Ok(Some(tensor.clone())) } else { elsewhere(py, device) };
    }
    if value.hasattr("__dlpack_device__")? {
        let (kind, ordinal): (c_int, c_int) = value.call_method0("__dlpack_device__")?.extract()?;
        if kind != CUDA {
            return Ok(None);
        }
        if u32::try_from(ordinal).ok() != device.attributes().name.device_id {
            return elsewhere(py, device);
        }
        return from_dlpack(value, gpu, dtype).map(Some);
    }
    if value.hasattr("__cuda_array_interface__")? {
        return from_cuda_array(value, gpu, device, dtype).map(Some);
    }
    Ok(None)
}

fn elsewhere<T>(py: Python<'_>, device: &Arc<dyn Device>) -> PyResult<T> {
    Err(invalid_argument(py, format!("The value is in the memory of another device than {}", device.attributes().name)))
}

fn from_dlpack(value: &Bound<'_, PyAny>, gpu: &GpuDevice, dtype: DType) -> PyResult<Tensor> {
    let py = value.py();
    let options = PyDict::new(py);
    // The producer makes its work precede later work of this stream.
    options.set_item("stream", gpu.gpu().stream_handle(Stream::Compute))?;
    let capsule = value.call_method("__dlpack__", (), Some(&options))?;
    // SAFETY: the capsule is alive; what it points to is a tensor as its name says, which is taken out before it is used by another.
    let managed = unsafe {
        let managed: *mut ManagedTensor = ffi::PyCapsule_GetPointer(capsule.as_ptr(), CAPSULE.as_ptr()).cast();
        if managed.is_null() || ffi::PyCapsule_SetName(capsule.as_ptr(), USED_CAPSULE.as_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        ffi::PyCapsule_SetDestructor(capsule.as_ptr(), None);
        Imported(managed)
    };
    // SAFETY: the tensor was taken and lives until it is dropped.
    let tensor = unsafe { &(*managed.0).tensor };
    let rank = usize::try_from(tensor.rank).unwrap_or(0);
    let array = |start: *mut i64| {
        if rank == 0 || start.is_null() {
            &[][..]
        } else {
            // SAFETY: DLPack's arrays have as many elements as the tensor has dimensions.
            unsafe { std::slice::from_raw_parts(start, rank) }
        }
    };
    let shape = Shape::from_i64(array(tensor.shape)).raise(py)?;
    if data_type(dtype) != Some(tensor.dtype) {
        return Err(invalid_argument(py, format!("The elements of the value of shape {shape} are not of type {dtype}")));
    }
    if !tensor.strides.is_null() && !is_dense(&shape, array(tensor.strides)) {
        return Err(invalid_argument(py, format!("The elements of the value of shape {shape} are not contiguous")));
    }
    let start = Address(tensor.data as u64 + tensor.byte_offset);
    import(gpu, start, dtype, shape, Box::new(managed)).raise(py)
}

fn from_cuda_array(value: &Bound<'_, PyAny>, gpu: &GpuDevice, device: &Arc<dyn Device>, dtype: DType) -> PyResult<Tensor> {
    let py = value.py();
    let interface = value.getattr("__cuda_array_interface__")?;
    let dims: Vec<i64> = interface.get_item("shape")?.extract()?;
    let shape = Shape::from_i64(&dims).raise(py)?;
    let (start, _is_read_only): (u64, bool) = interface.get_item("data")?.extract()?;
    let name: String = interface.get_item("typestr")?.extract()?;
    let wanted: String = numpy_dtype(py, dtype)?.getattr("str")?.extract()?;
    if name != wanted {
        return Err(invalid_argument(py, format!("The elements of the value of shape {shape} are of type {name}, not of type {dtype}")));
    }
    let entry = |key: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(Some(interface.call_method1("get", (key,))?).filter(|entry| !entry.is_none()))
    };
    if let Some(strides) = entry("strides")? {
        let size = dtype.size().unwrap_or(1) as i64;
        let strides: Vec<i64> = strides.extract::<Vec<i64>>()?.into_iter().map(|bytes| bytes / size).collect();
        if strides.len() != dims.len() || !is_dense(&shape, &strides) {
            return Err(invalid_argument(py, format!("The elements of the value of shape {shape} are not contiguous")));
        }
    }
    if shape.num_elements() > 0 && !gpu.gpu().owns(Address(start)) {
        return elsewhere(py, device);
    }
    if let Some(stream) = entry("stream")? {
        let stream: usize = stream.extract()?;
        gate::detached(py, || gpu.gpu().wait_for_foreign(stream))?;
    }
    let owner = Reference::new(value.clone().unbind());
    import(gpu, Address(start), dtype, shape, Box::new(owner)).raise(py)
}

fn import(gpu: &GpuDevice, start: Address, dtype: DType, shape: Shape, owner: Box<dyn Any + Send + Sync>) -> Result<Tensor> {
    // SAFETY: the object says that these elements are in this memory, and keeps it as long as it lives.
    unsafe { gpu.import(start, dtype, shape, owner) }
}
