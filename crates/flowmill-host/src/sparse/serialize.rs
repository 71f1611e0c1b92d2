//! Conversion of sparse tensors to three strings or variants and back: `SerializeSparse`, `SerializeManySparse`, `DeserializeSparse`,
//! `DeserializeManySparse`.

use super::{Sparse, index_matrix, pick};
use crate::blocks::concat_blocks;
use crate::from_fn::from_fn;
use flowmill_proto::{Message, TensorProto};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, TensorArithmetic, Variant, VariantValue, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SerializeSparse", |init| make_serialize(init, false));
    registry.add("SerializeManySparse", |init| make_serialize(init, true));
    registry.add("DeserializeSparse", make_deserialize);
    registry.add("DeserializeManySparse", make_deserialize);
}

/// A variant that holds one of the three tensors.
struct Part(Tensor);

impl VariantValue for Part {
    fn type_name(&self) -> &'static str {
        "tensorflow::Tensor"
    }

    fn tensors(&self) -> Box<dyn Iterator<Item = &Tensor> + '_> {
        Box::new(std::iter::once(&self.0))
    }

    fn with_tensors(&self, tensors: Vec<Tensor>) -> Result<Variant> {
        let [tensor] = <[Tensor; 1]>::try_from(tensors).map_err(|all| error!(Internal, "one tensor is made of {}", all.len()))?;
        Ok(Variant::new(Part(tensor)))
    }

    fn zeros_like(&self, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(Unimplemented, "a serialised sparse tensor has no zeros")
    }

    fn add(&self, _: &Variant, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(Unimplemented, "serialised sparse tensors have no sum")
    }
}

/// Returns a sparse tensor's indices, values and shape as one vector of variants.
///
/// # Errors
/// Returns `ResourceExhausted` past the memory limit.
pub(crate) fn as_variants(parts: [Tensor; 3]) -> Result<Tensor> {
    Tensor::from_variants(Shape::from([3]), parts.into_iter().map(|part| Variant::new(Part(part))).collect())
}

fn make_serialize(init: &KernelInit<'_>, many: bool) -> Result<Arc<dyn Kernel>> {
    let as_variants = init.attrs.get_or("out_type", DType::String)? == DType::Variant;
    from_fn(move |ctx| {
        let serialized =
            if many { split(ctx.allocator(), &Sparse::input(ctx, 0)?)? } else { vec![[0, 1, 2].map(|i| ctx.input(i).cloned())] };
        let parts = serialized.into_iter().flatten().collect::<Result<Vec<Tensor>>>()?;
        if !many {
            Sparse::input(ctx, 0)?;
        }
        let shape = if many { Shape::from([parts.len() / 3, 3]) } else { Shape::from([3]) };
        let out = if as_variants {
            Tensor::from_variants(shape, parts.into_iter().map(|part| Variant::new(Part(part))).collect())?
        } else {
            let texts = parts.iter().map(|part| Ok(part.to_content_proto()?.encode_to_vec().into()));
            ctx.allocator().from_strings(shape, texts.collect::<Result<_>>()?)?
        };
        ctx.set_output(0, out);
        Ok(())
    })
}

/// Returns one sparse tensor per index of the first dimension.
fn split(alloc: &Allocator, sparse: &Sparse<'_>) -> Result<Vec<[Result<Tensor>; 3]>> {
    let Some((&count, dims)) = sparse.dims.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        bail!(InvalidArgument, "Rank of input SparseTensor should be > 1, but saw rank: {}", sparse.rank());
    };
    let Ok(count) = usize::try_from(count) else { bail!(InvalidArgument, "the number of sparse tensors is negative: {count}") };
    // Each index needs three messages, even if it has no values.
    Shape::from([count, 3]).checked_num_elements()?;
    alloc.uninit(DType::I64, [count, 3])?;
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut last = 0;
    for i in 0..sparse.len() {
        let at = sparse.row(i)[0];
        let row = usize::try_from(at).ok().and_then(|at| rows.get_mut(at));
        match row {
            Some(row) if at >= last => row.push(i),
            Some(_) => bail!(InvalidArgument, "indices[{i}] is out of order. Many sparse ops require sorted indices."),
            None => bail!(InvalidArgument, "Received unexpected column 0 value in input SparseTensor: {at} < 0 or >= N (= {count})"),
        }
        last = at;
    }
    let parts = rows.iter().map(|row| {
        let indices: Vec<i64> = row.iter().flat_map(|&i| sparse.row(i)[1..].iter().copied()).collect();
        [index_matrix(alloc, &indices, dims.len(), row.len()), pick(alloc, sparse.values, row), alloc.vector(dims)]
    });
    Ok(parts.collect())
}

fn make_deserialize(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let many = init.op_def.name == "DeserializeManySparse";
    from_fn(move |ctx| deserialize(ctx, dtype, many))
}

fn parts(serialized: &Tensor) -> Result<Vec<Tensor>> {
    if let Ok(variants) = serialized.as_variants() {
        let part = |v: &Variant| match v.get::<Part>() {
            Some(part) => Ok(part.0.clone()),
            None => bail!(InvalidArgument, "Could not get a tensor from serialized_sparse: it holds {v:?}"),
        };
        return variants.iter().map(part).collect();
    }
    let parse = |(i, text): (usize, &flowmill_tensor::Bytes)| match TensorProto::decode(text.clone()) {
        Ok(proto) => Tensor::from_proto(&proto),
        Err(_) => bail!(InvalidArgument, "Could not parse serialized proto: serialized_sparse[{}, {}]", i / 3, i % 3),
    };
    serialized.as_strings()?.iter().enumerate().map(parse).collect()
}

/// Outputs the sparse tensors of all triples, stacked. The outer dimensions are those of the triples.
fn deserialize(ctx: &mut KernelContext<'_>, dtype: DType, many: bool) -> Result<()> {
    let serialized = ctx.input(0)?;
    if many && serialized.rank() != 2 {
        bail!(InvalidArgument, "Serialized sparse should be a matrix, but received shape {}", serialized.shape());
    }
    let Some((&width, outer)) = serialized.shape().split_last() else {
        bail!(InvalidArgument, "Serialized sparse should have non-zero rank but received shape {}", serialized.shape());
    };
    if width != 3 {
        bail!(InvalidArgument, "Serialized sparse should have 3 as the last dimension but received shape {}", serialized.shape());
    }
    let outer: Vec<i64> = outer.iter().map(|&d| d as i64).collect();
    let parts = parts(serialized)?;
    if parts.is_empty() {
        bail!(InvalidArgument, "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    let mut tensors = Vec::with_capacity(parts.len() / 3);
    for (i, triple) in parts.as_chunks::<3>().0.iter().enumerate() {
        let [indices, values, shape] = triple;
        if indices.dtype() != DType::I64 || shape.dtype() != DType::I64 {
            bail!(InvalidArgument, "Expected serialized_sparse[{i}] to have indices and a shape of type int64");
        }
        if values.dtype() != dtype {
            bail!(
                InvalidArgument,
                "Requested SparseTensor of type {} but SparseTensor[{i}].values.dtype() == {}",
                dtype.cpp_name(),
                values.dtype().cpp_name()
            );
        }
        tensors.push(Sparse::new(indices, values, shape)?);
    }
    let rank = tensors.first().map_or(0, Sparse::rank);
    if let Some((i, tensor)) = tensors.iter().enumerate().find(|(_, tensor)| tensor.rank() != rank) {
        bail!(
            InvalidArgument,
            "Inconsistent shape across SparseTensors: rank prior to SparseTensor[{i}] was: {rank} but rank of SparseTensor[{i}] is: {}",
            tensor.rank()
        );
    }
    let outputs = stacked(ctx.allocator(), &outer, &tensors, dtype)?;
    outputs.into_iter().enumerate().for_each(|(i, output)| ctx.set_output(i, output));
    Ok(())
}

/// Stacks sparse tensors of one rank and of type `dtype`. Returns the indices, values and shape of a tensor whose first dimensions are `outer`.
/// Each other dimension has the greatest size among the tensors.
pub(super) fn stacked(alloc: &Allocator, outer: &[i64], tensors: &[Sparse<'_>], dtype: DType) -> Result<[Tensor; 3]> {
    let rank = tensors.first().map_or(0, Sparse::rank);
    let mut dims = vec![0i64; rank];
    let mut indices = Vec::new();
    for (i, tensor) in tensors.iter().enumerate() {
        dims.iter_mut().zip(tensor.dims).for_each(|(d, &size)| *d = (*d).max(size));
        let mut place = vec![0; outer.len()];
        let mut rest = i as i64;
        for (p, &size) in place.iter_mut().zip(outer).rev() {
            (*p, rest) = (rest % size, rest / size);
        }
        for row in 0..tensor.len() {
            indices.extend(place.iter().chain(tensor.row(row)));
        }
    }
    let count = tensors.iter().map(Sparse::len).sum();
    let values = concat_blocks(alloc, dtype, Shape::from([count]), tensors.iter().map(|t| (t.values, 0..t.len())))?;
    let dims = [outer, &dims].concat();
    let indices = index_matrix(alloc, &indices, dims.len(), count)?;
    Ok([indices, values, alloc.vector(&dims)?])
}
