//! Tensors to and from NumPy arrays, without copies where alignment and ownership allow.

use flowmill_tensor::{Bytes, Complex, DType, Element, Shape, Tensor, bf16, f16};
use numpy::npyffi::{
    self, NPY_TYPES, PY_ARRAY_API, PyArrayObject,
    array::{PyArray_Check, PyArray_CheckExact},
    npy_intp,
};
use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3::{Borrowed, ffi};
use std::os::raw::c_int;
use std::sync::Arc;

use crate::errors::Raise;
use crate::references::Reference;

/// A tensor as Python sees it if NumPy has no type for it: resources and variants.
#[pyclass(frozen, name = "Tensor", module = "flowmill._core")]
pub struct PyTensor(pub Tensor);

#[pymethods]
impl PyTensor {
    fn __repr__(&self) -> String {
        format!("<flowmill tensor {:?}>", self.0)
    }
}

/// The memory of an array that [`to_numpy`] made. It is opaque: nothing turns it back into a tensor, so the array is the only way to the elements.
#[pyclass(frozen, name = "ArrayMemory", module = "flowmill._core")]
struct PyArrayMemory(Tensor);

/// Arrays up to this many bytes are copied both ways: cheaper than keeping their owner.
const COPIED_BYTES: usize = 512;

/// NumPy's number of a type that it knows itself.
fn type_number(dtype: DType) -> Option<NPY_TYPES> {
    Some(match dtype {
        DType::F32 => NPY_TYPES::NPY_FLOAT,
        DType::F64 => NPY_TYPES::NPY_DOUBLE,
        DType::F16 => NPY_TYPES::NPY_HALF,
        DType::I8 | DType::QI8 => NPY_TYPES::NPY_BYTE,
        DType::U8 | DType::QU8 => NPY_TYPES::NPY_UBYTE,
        DType::I16 | DType::QI16 => NPY_TYPES::NPY_SHORT,
        DType::U16 | DType::QU16 => NPY_TYPES::NPY_USHORT,
        DType::I32 | DType::QI32 => NPY_TYPES::NPY_INT,
        DType::U32 => NPY_TYPES::NPY_UINT,
        DType::I64 => NPY_TYPES::NPY_LONG,
        DType::U64 => NPY_TYPES::NPY_ULONG,
        DType::Bool => NPY_TYPES::NPY_BOOL,
        DType::C64 => NPY_TYPES::NPY_CFLOAT,
        DType::C128 => NPY_TYPES::NPY_CDOUBLE,
        DType::String => NPY_TYPES::NPY_OBJECT,
        _ => return None,
    })
}

/// Returns the `numpy.dtype` of an element type; `bfloat16`, the 8-bit floats and the 4-bit integers are those of `ml_dtypes`.
pub(crate) fn numpy_dtype(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyArrayDescr>> {
    if let Some(number) = type_number(dtype) {
        // SAFETY: NumPy gives a new reference to the descriptor of a type that it knows.
        return unsafe {
            let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number as c_int);
            Ok(Bound::from_owned_ptr_or_err(py, descr.cast())?.cast_into_unchecked())
        };
    }
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    if dtype.size().is_none() {
        return Err(PyTypeError::new_err(format!("NumPy has no type for {dtype}")));
    }
    let module = MODULE
        .get_or_try_init(py, || py.import("ml_dtypes").map(Bound::unbind))
        .map_err(|_| PyImportError::new_err(format!("arrays of {dtype} need the package ml_dtypes: pip install flowmill[bfloat16]")))?;
    PyArrayDescr::new(py, module.bind(py).getattr(dtype.name())?)
}

/// Returns true if each item of a list or tuple is a number or a string, or a list or tuple of those. Instances of subclasses do not count.
#[pyfunction]
pub(crate) fn are_plain(values: &Bound<'_, PyAny>) -> bool {
    let is_simple = |value: &Bound<'_, PyAny>| {
        value.is_exact_instance_of::<PyInt>()
            || value.is_exact_instance_of::<PyFloat>()
            || value.is_exact_instance_of::<PyString>()
            || value.is_exact_instance_of::<PyBool>()
            || value.is_exact_instance_of::<PyBytes>()
    };
    all_items(values, |value| is_simple(value) || all_items(value, is_simple))
}

/// Returns true if the value is a list or a tuple and all of its items fit.
fn all_items(values: &Bound<'_, PyAny>, fits: impl Fn(&Bound<'_, PyAny>) -> bool) -> bool {
    if let Ok(list) = values.cast_exact::<PyList>() {
        list.iter().all(|value| fits(&value))
    } else if let Ok(tuple) = values.cast_exact::<PyTuple>() {
        tuple.iter_borrowed().all(|value| fits(&value))
    } else {
        false
    }
}

/// Returns an array, or for a scalar a NumPy scalar (`bytes` for a string), with the tensor's value.
pub(crate) fn to_numpy(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    match tensor.dtype() {
        DType::String => strings_to_numpy(py, &tensor),
        DType::Resource | DType::Variant => Ok(Bound::new(py, PyTensor(tensor))?.into_any()),
        _ => dense_to_numpy(py, tensor),
    }
}

fn strings_to_numpy<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let strings = tensor.as_strings().raise(py)?;
    if tensor.rank() == 0 {
        return Ok(PyBytes::new(py, strings.first().map_or(&[][..], |s| s)).into_any());
    }
    let objects: Vec<Bound<'py, PyBytes>> = strings.iter().map(|s| PyBytes::new(py, s)).collect();
    let array = numpy::PyArray1::<Py<PyAny>>::from_vec(py, objects.into_iter().map(|b| b.into_any().unbind()).collect());
    let dims: Vec<usize> = tensor.shape().to_vec();
    array.call_method1("reshape", (dims,))
}

fn dense_to_numpy(py: Python<'_>, mut tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let descr = numpy_dtype(py, tensor.dtype())?;
    if tensor.rank() == 0 {
        let bytes = tensor.as_bytes().raise(py)?;
        // SAFETY: the data are one element of the descriptor's type, which NumPy copies; it takes references of its own.
        return unsafe {
            let scalar = PY_ARRAY_API.PyArray_Scalar(py, bytes.as_ptr().cast_mut().cast(), descr.as_dtype_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, scalar)
        };
    }
    // Whoever gets an array may write to it; shared data stay as they are.
    let is_given_away = tensor.num_bytes() > COPIED_BYTES && tensor.is_unique();
    let dims: Vec<npy_intp> = tensor.shape().iter().map(|&d| d as npy_intp).collect();
    if !is_given_away {
        let bytes = tensor.as_bytes().raise(py)?;
        // SAFETY: a null pointer lets NumPy allocate.
        let (array, data) = unsafe { new_array(py, descr, dims, std::ptr::null_mut())? };
        if !bytes.is_empty() {
            // SAFETY: a new contiguous array of the same type and shape has as many bytes of its own.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len()) };
        }
        return Ok(array);
    }
    let owner = Bound::new(py, PyArrayMemory(tensor))?;
    let data = owner.get().0.as_bytes().raise(py)?.as_ptr().cast_mut();
    // SAFETY: the data are elements of the descriptor's type for these sizes, alive and unmoved as long as `owner`, which becomes the array's
    // base; the tensor is unique, so that writes are seen by nobody else.
    unsafe {
        let (array, _) = new_array(py, descr, dims, data)?;
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast::<PyArrayObject>(), owner.into_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

/// A contiguous array over `data`, or over new memory where that is null; and where its data are.
///
/// # Safety
/// `data` is null or valid for the array's elements, as long as the array lives.
unsafe fn new_array<'py>(
    py: Python<'py>,
    descr: Bound<'py, PyArrayDescr>,
    mut dims: Vec<npy_intp>,
    data: *mut u8,
) -> PyResult<(Bound<'py, PyAny>, *mut u8)> {
    let flags = if data.is_null() { 0 } else { npyffi::NPY_ARRAY_CARRAY };
    // SAFETY: NewFromDescr steals the descriptor's reference, hence `into_dtype_ptr`; it copies the sizes; the caller vouches for the data.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            descr.into_dtype_ptr(),
            dims.len() as c_int,
            dims.as_mut_ptr(),
            std::ptr::null_mut(),
            data.cast(),
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        let data = (*array.as_ptr().cast::<PyArrayObject>()).fields.data;
        Ok((array, data.cast()))
    }
}

/// Returns a tensor with the value of any object that NumPy can make an array of.
///
/// With `dtype`, the value is converted to it, as `numpy.asarray` does; large arrays of the right type are not copied and must not change
/// while a step uses them.
pub(crate) fn from_python(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    converted(value, dtype, |_| true)
}

/// Returns a tensor with the value of an item of a tuple, whatever happens to the item later.
///
/// The memory of an array is taken over only if the tuple holds the only reference to it. Others are copied: a function may return an array that it
/// keeps and fills again, a view of one, or one array twice.
pub(crate) fn from_item(item: Borrowed<'_, '_, PyAny>) -> PyResult<Tensor> {
    let references = references_to(&item);
    // Converting an array that is what it should be adds a reference to it; else it makes a new array.
    converted(&item, None, |array| {
        if array.is(item) { references == 1 && owns_memory(array) } else { references_to(array) == 1 && owns_memory(array) }
    })
}

fn references_to(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: the object is alive, and this thread has the GIL.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// Returns true if an array is the only one over its memory, and its references are the only way to it.
fn owns_memory(array: &Bound<'_, PyUntypedArray>) -> bool {
    // SAFETY: the array object is alive, and this thread has the GIL.
    let fields = unsafe { &(*array.as_array_ptr()).fields };
    // SAFETY: PyArray_CheckExact only looks at the object's type.
    let is_plain = unsafe { PyArray_CheckExact(array.py(), array.as_ptr()) } != 0;
    let wanted = npyffi::NPY_ARRAY_OWNDATA | npyffi::NPY_ARRAY_WRITEABLE;
    is_plain && fields.base.is_null() && fields.weakreflist.is_null() && fields.flags & wanted == wanted
}

/// Returns a tensor with the value of any object that NumPy can make an array of; it shares the memory of large arrays for which `may_share` is true.
fn converted(
    value: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    may_share: impl FnOnce(&Bound<'_, PyUntypedArray>) -> bool,
) -> PyResult<Tensor> {
    if let Some(tensor) = quick_scalar(value, dtype)? {
        return Ok(tensor);
    }
    if let Some(tensor) = int_vector(value, dtype) {
        return Ok(tensor);
    }
    if let Ok(tensor) = value.cast::<PyTensor>() {
        return Ok(tensor.get().0.clone());
    }
    let py = value.py();
    if dtype == Some(DType::String) || (dtype.is_none() && (value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>())) {
        return strings_from_python(value);
    }
    let descr = dtype.map(|d| numpy_dtype(py, d)).transpose()?;
    let wanted = descr.map_or(std::ptr::null_mut(), PyArrayDescrMethods::into_dtype_ptr);
    // SAFETY: FromAny takes the descriptor's reference and gives a new one to an array, or null with an exception set.
    let array = unsafe {
        let array = PY_ARRAY_API.PyArray_FromAny(
            py,
            value.as_ptr(),
            wanted,
            0,
            0,
            npyffi::NPY_ARRAY_CARRAY_RO | npyffi::NPY_ARRAY_FORCECAST | npyffi::NPY_ARRAY_ENSUREARRAY,
            std::ptr::null_mut(),
        );
        Bound::from_owned_ptr_or_err(py, array)?.cast_into_unchecked::<PyUntypedArray>()
    };
    let found = match dtype {
        Some(dtype) => dtype,
        None => match dtype_of(&array.dtype())? {
            DType::String => return strings_from_python(value),
            dtype => dtype,
        },
    };
    let share = may_share(&array);
    tensor_over(array, found, share)
}

/// Python and NumPy scalars for a known type, without an array in between.
pub(crate) fn quick_scalar(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Option<Tensor>> {
    if value.is_exact_instance_of::<PyFloat>() {
        let x: f64 = value.extract()?;
        return Ok(match dtype {
            Some(DType::F32) => Some(Tensor::scalar(x as f32)),
            Some(DType::F64) => Some(Tensor::scalar(x)),
            None => Some(Tensor::scalar(x as f32)),
            _ => None,
        });
    }
    if value.is_exact_instance_of::<PyBool>() && matches!(dtype, None | Some(DType::Bool)) {
        return Ok(Some(Tensor::scalar(value.extract::<bool>()?)));
    }
    if value.is_exact_instance_of::<PyInt>() {
        return Ok(match dtype {
            Some(DType::I32) => value.extract::<i32>().ok().map(Tensor::scalar),
            Some(DType::I64) => value.extract::<i64>().ok().map(Tensor::scalar),
            Some(DType::F32) => value.extract::<f64>().ok().map(|x| Tensor::scalar(x as f32)),
            Some(DType::F64) => value.extract::<f64>().ok().map(Tensor::scalar),
            _ => None,
        });
    }
    Ok(None)
}

/// Returns a list or a tuple of numbers as a vector of `int32`, without an array in between: most are shapes.
fn int_vector(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> Option<Tensor> {
    fn int(value: Bound<'_, PyAny>) -> Option<i32> {
        if value.is_exact_instance_of::<PyInt>() { value.extract().ok() } else { None }
    }
    if dtype != Some(DType::I32) {
        return None;
    }
    let values: Option<Vec<i32>> = match value.cast::<PyList>() {
        Ok(list) => list.iter().map(int).collect(),
        Err(_) => value.cast::<PyTuple>().ok()?.iter().map(int).collect(),
    };
    Tensor::vector(&values?).ok()
}

/// Returns the element type of a NumPy type.
pub(crate) fn dtype_of(descr: &Bound<'_, PyArrayDescr>) -> PyResult<DType> {
    let name: String = descr.getattr("name")?.extract()?;
    let is_text = matches!(descr.kind(), b'S' | b'U' | b'O' | b'T');
    match DType::from_name(&name) {
        Some(dtype) => Ok(dtype),
        None if is_text => Ok(DType::String),
        // `int` types that C names twice, such as `longlong`.
        None => match (descr.kind(), descr.itemsize()) {
            (b'i', 8) => Ok(DType::I64),
            (b'u', 8) => Ok(DType::U64),
            _ => Err(PyTypeError::new_err(format!("NumPy's type {name} has no counterpart"))),
        },
    }
}

/// Returns a tensor with the elements of a contiguous, aligned array of the type `dtype`: over the array's memory with `share`, unless it is small.
fn tensor_over(array: Bound<'_, PyUntypedArray>, dtype: DType, share: bool) -> PyResult<Tensor> {
    let py = array.py();
    let dims: Vec<i64> = array.shape().iter().map(|&d| d as i64).collect();
    let shape = Shape::from_i64(&dims).raise(py)?;
    let size = dtype.size().ok_or_else(|| PyTypeError::new_err(format!("an array cannot hold {dtype}")))?;
    if array.dtype().itemsize() != size {
        return Err(PyTypeError::new_err(format!("an array of {} cannot be fed as {dtype}", array.dtype())));
    }
    let n = shape.num_elements();
    // SAFETY: the array object is alive; its data pointer is valid for `n` elements of `size` bytes, contiguous and aligned (FromAny was asked so).
    let data = unsafe { (*array.as_array_ptr()).fields.data.cast::<u8>().cast_const() };
    if !share || n * size <= COPIED_BYTES || dtype == DType::Bool {
        // SAFETY: as above; the bytes are copied before the array can go.
        let bytes = if n == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(data, n * size) } };
        return Tensor::copy_from_bytes(dtype, shape, bytes).raise(py);
    }
    fn over<T: Element>(data: *const u8, shape: Shape, owner: Reference) -> Tensor {
        // SAFETY: `data` is valid and aligned for the shape's elements (see the caller) as long as the array `owner` lives.
        unsafe { Tensor::from_foreign(data.cast::<T>(), shape, Arc::new(owner)) }
    }
    let owner = Reference::new(array.into_any().unbind());
    match size {
        1 => over::<u8>(data, shape, owner),
        2 if dtype == DType::F16 => over::<f16>(data, shape, owner),
        2 if dtype == DType::BF16 => over::<bf16>(data, shape, owner),
        2 => over::<u16>(data, shape, owner),
        4 if dtype == DType::F32 => over::<f32>(data, shape, owner),
        4 => over::<u32>(data, shape, owner),
        8 if dtype == DType::F64 => over::<f64>(data, shape, owner),
        8 if dtype == DType::C64 => over::<Complex<f32>>(data, shape, owner),
        8 => over::<u64>(data, shape, owner),
        _ => over::<Complex<f64>>(data, shape, owner),
    }
    .bitcast(dtype)
    .raise(py)
}

fn strings_from_python(value: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    if let Some(text) = string_bytes(value)? {
        return Ok(Tensor::string(text));
    }
    let py = value.py();
    // SAFETY: PyArray_Check only looks at the object's type.
    let is_array = unsafe { PyArray_Check(py, value.as_ptr()) } != 0;
    let array = if is_array { value.clone() } else { py.import("numpy")?.call_method1("array", (value, "O"))? };
    let dims: Vec<i64> = array.getattr("shape")?.extract()?;
    let shape = Shape::from_i64(&dims).raise(py)?;
    let mut strings = Vec::with_capacity(shape.num_elements());
    for item in array.call_method0("ravel")?.call_method0("tolist")?.try_iter()? {
        let item = item?;
        match string_bytes(&item)? {
            Some(text) => strings.push(text),
            None => return Err(PyTypeError::new_err(format!("expected bytes or str, got {}", item.get_type().name()?))),
        }
    }
    if strings.len() != shape.num_elements() {
        return Err(PyValueError::new_err("an array of strings changed while it was read"));
    }
    Tensor::from_strings(shape, strings).raise(py)
}

fn string_bytes(value: &Bound<'_, PyAny>) -> PyResult<Option<Bytes>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Some(Bytes::copy_from_slice(bytes.as_bytes())));
    }
    match value.cast::<PyString>() {
        Ok(text) => Ok(Some(Bytes::copy_from_slice(text.to_str()?.as_bytes()))),
        Err(_) => Ok(None),
    }
}
