//! Ragged tensors and optionals, also in variants.

use crate::{check, numbers, type_attr};
use flowmill::builder::ScopedBuilder;
use flowmill::{DType, OutputId, PartialShape, Result, Tensor};
use flowmill_proto::attr_value::ListValue;

/// Splits of three rows, the second without values, of seven values.
fn splits(b: &mut ScopedBuilder<'_>) -> Result<OutputId> {
    b.vector(&[0i64, 2, 2, 7])
}

/// Times its elements' numbers.
fn weighted(b: &mut ScopedBuilder<'_>, y: OutputId) -> Result<OutputId> {
    let (shape, count, zero, one) = (b.call("Shape", &[y])?, b.call("Size", &[y])?, b.scalar(0i32)?, b.scalar(1i32)?);
    let numbers = b.call("Range", &[zero, count, one])?;
    let numbers = b.cast(numbers, DType::F64)?;
    let numbers = b.call("Reshape", &[numbers, shape])?;
    let product = b.call("Mul", &[y, numbers])?;
    b.call("Mul", &[y, product])
}

fn kinds(names: &[&str]) -> ListValue {
    ListValue { s: names.iter().map(|name| name.as_bytes().to_vec().into()).collect(), ..ListValue::default() }
}

#[test]
fn to_tensors() {
    for (default, shape) in [(&[][..], [-1i64, -1]), (&[], [3, 3]), (&[], [4, 6]), (&[2], [-1, -1]), (&[1], [-1, 6])] {
        check("RaggedTensorToTensor", &[numbers(&[7, 2]), numbers(default)], |b, x| {
            let (shape, splits) = (b.vector(&[shape[0], shape[1], 2])?, splits(b)?);
            let node = b.op("RaggedTensorToTensor").inputs(&[shape, x[0], x[1], splits]);
            let y = node.attr("row_partition_types", kinds(&["ROW_SPLITS"])).output()?;
            weighted(b, y)
        });
    }
    check("RaggedTensorToTensor of row numbers", &[numbers(&[4]), numbers(&[])], |b, x| {
        let (shape, rows, numbers) = (b.vector(&[-1i64, -1])?, b.scalar(3i64)?, b.vector(&[0i64, 0, 2, 2])?);
        let node = b.op("RaggedTensorToTensor").inputs(&[shape, x[0], x[1], rows, numbers]);
        let y = node.attr("row_partition_types", kinds(&["FIRST_DIM_SIZE", "VALUE_ROWIDS"])).output()?;
        weighted(b, y)
    });
}

#[test]
fn gathered_rows() {
    check("RaggedGather", &[numbers(&[7, 2])], |b, x| {
        let (splits, indices) = (splits(b)?, b.constant("i", &Tensor::from_slice([2usize, 2], &[2i32, 0, 1, 2])?)?);
        let node = b.op("RaggedGather").inputs(&[splits, x[0], indices]).attr("OUTPUT_RAGGED_RANK", 2i64).finish()?;
        weighted(b, node.output(2))
    });
    check("RaggedGather of rows of rows", &[numbers(&[7])], |b, x| {
        let (outer, splits, indices) = (b.vector(&[0i64, 1, 3])?, splits(b)?, b.vector(&[1i32, 1, 0])?);
        let node = b.op("RaggedGather").inputs(&[outer, splits, x[0], indices]).attr("OUTPUT_RAGGED_RANK", 2i64).finish()?;
        weighted(b, node.output(2))
    });
}

/// The values that a variant holds.
fn values(b: &mut ScopedBuilder<'_>, variant: OutputId, input_rank: i64, output_rank: u32) -> Result<OutputId> {
    let node = b.op("RaggedTensorFromVariant").input(variant).attr("input_ragged_rank", input_rank);
    let node = node.attr("output_ragged_rank", i64::from(output_rank)).attr("Tvalues", type_attr(DType::F64)).finish()?;
    Ok(node.output(output_rank))
}

#[test]
fn variants() {
    for (batched, input_rank) in [(false, 1), (true, 0)] {
        check("RaggedTensorToVariant", &[numbers(&[7, 2])], |b, x| {
            let splits = splits(b)?;
            let variant = b.op("RaggedTensorToVariant").inputs(&[splits, x[0]]).attr("batched_input", batched).output()?;
            let y = values(b, variant, input_rank, 1)?;
            weighted(b, y)
        });
    }
    check("RaggedTensorToVariant without rows", &[numbers(&[3])], |b, x| {
        let variant = b.op("RaggedTensorToVariant").inputs(x).attr("batched_input", false).output()?;
        let (first, second) = (values(b, variant, 0, 0)?, values(b, variant, 0, 0)?);
        let exp = b.call("Exp", &[second])?;
        b.call("Mul", &[first, exp])
    });
}

#[test]
fn optionals() {
    check("OptionalFromValue", &[numbers(&[2, 2]), numbers(&[3])], |b, x| {
        let optional = b.op("OptionalFromValue").inputs(x).output()?;
        let types = ListValue { r#type: vec![DType::F64.number(); 2], ..ListValue::default() };
        let shapes = [&[2i64, 2][..], &[-1]].map(|dims| PartialShape::new(dims).to_proto()).to_vec();
        let shapes = ListValue { shape: shapes, ..ListValue::default() };
        let node = b.op("OptionalGetValue").input(optional).attr("output_types", types).attr("output_shapes", shapes).finish()?;
        let (first, second) = (weighted(b, node.output(0))?, weighted(b, node.output(1))?);
        let (axes, again) = (b.vector(&[0i32, 1])?, b.call("Exp", &[second])?);
        let sum = b.call("Sum", &[first, axes])?;
        b.call("Mul", &[sum, again])
    });
}
