//! The values of one feature over a batch.

use super::example::Feature;
use flowmill_proto::wire::Malformed;
use flowmill_tensor::{Allocator, Bytes, DType, Result, Shape, Tensor, bail, memory_limit};

/// Values of one of the three types that features have, row by row.
#[derive(Clone, Debug)]
pub(super) enum Column {
    Floats(Vec<f32>),
    Integers(Vec<i64>),
    Strings(Vec<Bytes>),
}

impl Column {
    /// Returns an empty column.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a type that features do not have.
    pub(super) fn new(dtype: DType) -> Result<Column> {
        Ok(match dtype {
            DType::F32 => Column::Floats(Vec::new()),
            DType::I64 => Column::Integers(Vec::new()),
            DType::String => Column::Strings(Vec::new()),
            _ => bail!(InvalidArgument, "Invalid data type {dtype}: a feature holds float, int64 or string"),
        })
    }

    /// Returns the elements of a tensor.
    pub(super) fn of(tensor: &Tensor) -> Result<Column> {
        Ok(match tensor.dtype() {
            DType::F32 => Column::Floats(tensor.as_slice::<f32>()?.to_vec()),
            DType::I64 => Column::Integers(tensor.as_slice::<i64>()?.to_vec()),
            DType::String => Column::Strings(tensor.as_strings()?.to_vec()),
            dtype => return Column::new(dtype),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Column::Floats(v) => v.len(),
            Column::Integers(v) => v.len(),
            Column::Strings(v) => v.len(),
        }
    }

    /// Appends the values of a feature of the column's type, which is a part of `message`.
    pub(super) fn read(&mut self, feature: &Feature<'_>, message: &Bytes) -> Result<(), Malformed> {
        match self {
            Column::Floats(v) => feature.floats(v),
            Column::Integers(v) => feature.integers(v),
            Column::Strings(v) => feature.strings(message, v),
        }
    }

    /// Appends the values of a column of the same type.
    pub(super) fn append(&mut self, other: &Column) {
        match (self, other) {
            (Column::Floats(v), Column::Floats(o)) => v.extend_from_slice(o),
            (Column::Integers(v), Column::Integers(o)) => v.extend_from_slice(o),
            (Column::Strings(v), Column::Strings(o)) => v.extend_from_slice(o),
            _ => {}
        }
    }

    /// Returns rows of `counts` values each, padded to `width` values with the only value of `padding`.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past the memory limit.
    pub(super) fn pad(&self, counts: &[usize], width: usize, padding: &Column) -> Result<Column> {
        fn rows<T: Clone>(values: &[T], counts: &[usize], width: usize, padding: &T) -> Result<Vec<T>> {
            let bytes = counts.len().checked_mul(width).and_then(|n| n.checked_mul(size_of::<T>()));
            if bytes.is_none_or(|bytes| bytes > memory_limit()) {
                bail!(ResourceExhausted, "OOM when padding {} rows to {width} values", counts.len());
            }
            let mut padded = Vec::with_capacity(counts.len() * width);
            let mut rest = values;
            for (i, &count) in counts.iter().enumerate() {
                let (row, others) = rest.split_at(count.min(rest.len()));
                padded.extend_from_slice(row);
                padded.resize((i + 1) * width, padding.clone());
                rest = others;
            }
            Ok(padded)
        }
        Ok(match (self, padding) {
            (Column::Floats(v), Column::Floats(p)) => Column::Floats(rows(v, counts, width, p.first().unwrap_or(&0.0))?),
            (Column::Integers(v), Column::Integers(p)) => Column::Integers(rows(v, counts, width, p.first().unwrap_or(&0))?),
            (Column::Strings(v), Column::Strings(p)) => Column::Strings(rows(v, counts, width, p.first().unwrap_or(&Bytes::new()))?),
            _ => bail!(Internal, "the padding of a feature has another type than the feature"),
        })
    }

    /// Returns the column as a vector.
    pub(super) fn into_vector(self, alloc: &Allocator) -> Result<Tensor> {
        let n = self.len();
        self.into_tensor(alloc, [n])
    }

    /// Returns the column as a tensor.
    pub(super) fn into_tensor(self, alloc: &Allocator, shape: impl Into<Shape>) -> Result<Tensor> {
        match self {
            Column::Floats(v) => alloc.from_slice(shape, &v),
            Column::Integers(v) => alloc.from_slice(shape, &v),
            Column::Strings(v) => alloc.from_strings(shape, v),
        }
    }
}
