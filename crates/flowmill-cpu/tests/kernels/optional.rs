use crate::testing::{Call, run1, types};
use flowmill_kernels::arithmetic::HostArithmetic;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, TensorShapeProto};
use flowmill_tensor::{DType, Result, Tensor};

fn some(values: Vec<Tensor>) -> Tensor {
    run1("OptionalFromValue", &[], values).unwrap()
}

fn get(optional: Tensor, dtypes: &[DType], dims: &[&[i64]]) -> Result<Vec<Option<Tensor>>> {
    let shapes: Vec<TensorShapeProto> = dims.iter().map(|d| TensorShapeProto::of(d.iter().copied())).collect();
    let shapes: AttrValue = Value::List(Box::new(ListValue { shape: shapes, ..ListValue::default() })).into();
    let attrs = [("output_types", types(dtypes)), ("output_shapes", shapes)];
    Call::new("OptionalGetValue").attrs(&attrs).input(optional).outputs(dtypes.len()).run()
}

#[test]
fn an_optional_gives_back_what_it_was_made_of() {
    let out = get(some(vec![Tensor::scalar(1f32), Tensor::string("a")]), &[DType::F32, DType::String], &[&[], &[]]).unwrap();
    assert_eq!(out[0].as_ref().unwrap().to_scalar::<f32>().unwrap(), 1.0);
    assert_eq!(out[1].as_ref().unwrap().as_strings().unwrap(), ["a"]);
    let none = run1("OptionalNone", &[], vec![]).unwrap();
    assert!(!run1("OptionalHasValue", &[], vec![none.clone()]).unwrap().to_scalar::<bool>().unwrap());
    assert!(run1("OptionalHasValue", &[], vec![some(vec![])]).unwrap().to_scalar::<bool>().unwrap());
    assert_eq!(get(none, &[], &[]).unwrap_err().message(), "The given optional does not have a value.");
}

#[test]
fn types_and_shapes_are_checked() {
    let one = || some(vec![Tensor::scalar(1f32)]);
    let message = |result: Result<_>| result.map(drop).unwrap_err().message().to_owned();
    assert_eq!(
        message(get(one(), &[DType::I32], &[&[]])),
        "The given optional does not match the expected type for component 0. Expected: int32. Actual: float."
    );
    assert_eq!(
        message(get(one(), &[DType::F32], &[&[2]])),
        "The given optional does not match the expected shape for component 0. Expected: [2]. Actual: []."
    );
    assert_eq!(message(get(one(), &[DType::F32; 2], &[&[], &[]])), "The given optional has 1 components, expected 2");
    assert_eq!(message(get(Tensor::scalar(1f32), &[], &[])), "Input to OptionalGetValue must be an OptionalVariant object.");
}

#[test]
fn optionals_add_up() {
    let value = |x: f32| some(vec![Tensor::scalar(x)]);
    let sum = value(1.0).as_variants().unwrap()[0].value().add(&value(2.0).as_variants().unwrap()[0], &HostArithmetic).unwrap();
    let out = get(Tensor::variant(sum), &[DType::F32], &[&[]]).unwrap();
    assert_eq!(out[0].as_ref().unwrap().to_scalar::<f32>().unwrap(), 3.0);
    let none = run1("OptionalNone", &[], vec![]).unwrap();
    let e = value(1.0).as_variants().unwrap()[0].value().add(&none.as_variants().unwrap()[0], &HostArithmetic).unwrap_err();
    assert_eq!(e.message(), "Cannot add optionals because one has a value and the other doesn't.");
}
