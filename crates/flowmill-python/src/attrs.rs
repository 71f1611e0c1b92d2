//! Attributes and static shapes from Python's values, and as those.

use crate::convert::from_python;
use crate::errors::Raise;
use flowmill_graph::{AttrDef, AttrType};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, Message, NameAttrList, TensorProto, TensorShapeProto};
use flowmill_tensor::{Bytes, PartialShape};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyBytes, PyFloat, PyInt, PyList, PyString};

/// Returns a serialised `AttrValue`.
pub(crate) fn attr_value(bytes: &[u8]) -> PyResult<AttrValue> {
    AttrValue::decode(bytes).map_err(|e| PyValueError::new_err(format!("an AttrValue that cannot be parsed: {e}")))
}

/// Returns a Python value as an attribute of the declared kind.
pub(crate) fn attr_from_python(value: &Bound<'_, PyAny>, attr: &AttrDef) -> PyResult<AttrValue> {
    let wrong = || PyTypeError::new_err(format!("Expected {} for argument '{}' not {value}.", attr.ty.name(), attr.name));
    let one = |kind| element(value, kind).map_err(|_| wrong());
    Ok(match attr.ty {
        AttrType::ListString => list(value, AttrType::String, wrong)?,
        AttrType::ListInt => list(value, AttrType::Int, wrong)?,
        AttrType::ListFloat => list(value, AttrType::Float, wrong)?,
        AttrType::ListBool => list(value, AttrType::Bool, wrong)?,
        AttrType::ListType => list(value, AttrType::Type, wrong)?,
        AttrType::ListShape => list(value, AttrType::Shape, wrong)?,
        AttrType::ListTensor => list(value, AttrType::Tensor, wrong)?,
        AttrType::ListFunc => list(value, AttrType::Func, wrong)?,
        kind => one(kind)?,
    }
    .into())
}

fn list(value: &Bound<'_, PyAny>, kind: AttrType, wrong: impl Fn() -> PyErr) -> PyResult<Value> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let mut all = ListValue::default();
    for item in value.try_iter().map_err(|_| wrong())? {
        match element(&item?, kind).map_err(|_| wrong())? {
            Value::S(v) => all.s.push(v),
            Value::I(v) => all.i.push(v),
            Value::F(v) => all.f.push(v),
            Value::B(v) => all.b.push(v),
            Value::Type(v) => all.r#type.push(v),
            Value::Shape(v) => all.shape.push(*v),
            Value::Tensor(v) => all.tensor.push(*v),
            Value::Func(v) => all.func.push(*v),
            Value::List(_) | Value::Placeholder(_) => return Err(wrong()),
        }
    }
    Ok(Value::List(Box::new(all)))
}

fn element(value: &Bound<'_, PyAny>, kind: AttrType) -> PyResult<Value> {
    let malformed = |_| PyValueError::new_err("a message that cannot be parsed");
    Ok(match kind {
        AttrType::String => match value.cast::<PyBytes>() {
            Ok(bytes) => Value::S(Bytes::copy_from_slice(bytes.as_bytes())),
            Err(_) => Value::S(Bytes::from(value.extract::<String>()?)),
        },
        AttrType::Int => Value::I(int(value)?),
        AttrType::Float => Value::F(float(value)?),
        AttrType::Bool => Value::B(value.cast::<PyBool>()?.is_true()),
        AttrType::Type => Value::Type(value.extract()?),
        AttrType::Shape => Value::Shape(Box::new(shape_from_python(value)?)),
        AttrType::Tensor => Value::Tensor(Box::new(match value.cast::<PyBytes>() {
            Ok(bytes) => TensorProto::decode(bytes.as_bytes()).map_err(malformed)?,
            Err(_) => from_python(value, None)?.to_proto().raise(value.py())?,
        })),
        AttrType::Func => Value::Func(Box::new(match value.cast::<PyBytes>() {
            Ok(bytes) => NameAttrList::decode(bytes.as_bytes()).map_err(malformed)?,
            Err(_) => NameAttrList { name: value.extract()?, ..NameAttrList::default() },
        })),
        _ => return Err(PyTypeError::new_err("not a value of this kind")),
    })
}

/// Whatever `int()` takes but text, as TensorFlow converts it: a float is cut, a dimension is its size.
fn int(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if value.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("text is not a number"));
    }
    if value.is_exact_instance_of::<PyInt>() {
        return value.extract();
    }
    value.py().get_type::<PyInt>().call1((value,))?.extract()
}

/// Returns a real number: of Python, of NumPy, or of any other class of `numbers.Real`.
fn float(value: &Bound<'_, PyAny>) -> PyResult<f32> {
    if !value.is_exact_instance_of::<PyFloat>() && !value.is_exact_instance_of::<PyInt>() {
        let real = value.py().import("numbers")?.getattr("Real")?;
        if !value.is_instance(&real)? {
            return Err(PyTypeError::new_err("not a real number"));
        }
    }
    Ok(value.extract::<f64>()? as f32)
}

fn shape_from_python(value: &Bound<'_, PyAny>) -> PyResult<TensorShapeProto> {
    Ok(partial_shape(value.extract()?).to_proto())
}

/// `None` for an unknown rank, −1 for sizes that are not known.
pub(crate) fn partial_shape(dims: Option<Vec<i64>>) -> PartialShape {
    dims.map_or_else(PartialShape::unknown, |dims| dims.iter().map(|&d| d.max(-1)).collect())
}

pub(crate) fn attr_to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    let message = |m: &dyn Fn() -> Vec<u8>| PyBytes::new(py, &m()).into_any();
    Ok(match value {
        Value::S(s) => ("string", PyBytes::new(py, s).into_any()),
        Value::I(i) => ("int", i.into_bound_py_any(py)?),
        Value::F(f) => ("float", f.into_bound_py_any(py)?),
        Value::B(b) => ("bool", b.into_bound_py_any(py)?),
        Value::Type(t) => ("type", t.into_bound_py_any(py)?),
        Value::Shape(s) => ("shape", message(&|| s.encode_to_vec())),
        Value::Tensor(t) => ("tensor", message(&|| t.encode_to_vec())),
        Value::Func(f) => ("func", message(&|| f.encode_to_vec())),
        Value::Placeholder(p) => ("placeholder", p.into_bound_py_any(py)?),
        Value::List(list) => return list_to_python(py, list),
    })
}

fn list_to_python<'py>(py: Python<'py>, list: &ListValue) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    fn messages<'py, M: Message>(py: Python<'py>, all: &[M]) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, all.iter().map(|m| PyBytes::new(py, &m.encode_to_vec())))?.into_any())
    }
    Ok(if !list.s.is_empty() {
        ("string", PyList::new(py, list.s.iter().map(|s| PyBytes::new(py, s)))?.into_any())
    } else if !list.i.is_empty() {
        ("int", PyList::new(py, &list.i)?.into_any())
    } else if !list.f.is_empty() {
        ("float", PyList::new(py, &list.f)?.into_any())
    } else if !list.b.is_empty() {
        ("bool", PyList::new(py, &list.b)?.into_any())
    } else if !list.r#type.is_empty() {
        ("type", PyList::new(py, &list.r#type)?.into_any())
    } else if !list.shape.is_empty() {
        ("shape", messages(py, &list.shape)?)
    } else if !list.tensor.is_empty() {
        ("tensor", messages(py, &list.tensor)?)
    } else if !list.func.is_empty() {
        ("func", messages(py, &list.func)?)
    } else {
        ("list", PyList::empty(py).into_any())
    })
}

/// `None` for an unknown rank, −1 for unknown sizes.
pub(crate) fn shape_to_python(shape: &PartialShape) -> Option<Vec<i64>> {
    shape.dims().map(<[i64]>::to_vec)
}
