//! `DirectedInterleaveDataset`: each element comes from the dataset that another dataset chooses.

use super::args::{Call, dataset_kernel};
use super::element::{Dataset, Elements, INFINITE, UNKNOWN};
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{DType, Result, bail};

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"] {
        registry.add(op, |init| {
            let stops = init.attrs.get_or("stop_on_empty_dataset", false)?;
            dataset_kernel(init, move |call| directed_interleave(call, stops))
        });
    }
}

fn directed_interleave(call: &mut Call<'_, '_>, stop_on_empty_dataset: bool) -> Result<Dataset> {
    let selector = call.args.dataset(call.ctx, "selector_input_dataset")?;
    if selector.signature.types != [DType::I64] || selector.signature.shapes.iter().any(|shape| shape.rank().is_some_and(|rank| rank != 0))
    {
        bail!(InvalidArgument, "The selector input must be a dataset of scalar int64 elements.");
    }
    let inputs = call.args.datasets(call.ctx, "data_input_datasets")?;
    let Some(first) = inputs.first() else { bail!(InvalidArgument, "there is no dataset to choose from") };
    if let Some((i, other)) = inputs.iter().enumerate().find(|(_, input)| input.signature.types != first.signature.types) {
        bail!(
            InvalidArgument,
            "All inputs must have the same output_dtypes. First input has types {:?}, and input {i} has types {:?}.",
            first.signature.types,
            other.signature.types
        );
    }
    let cardinality = if inputs.iter().any(|input| input.cardinality == INFINITE) { INFINITE } else { UNKNOWN };
    Ok(Dataset::new(call.signature_or(first), cardinality, move |ctx| {
        let mut selector = selector.elements(ctx)?;
        let mut inputs = inputs.iter().map(|input| input.elements(ctx)).collect::<Result<Vec<_>>>()?;
        Ok(Elements::new(move || {
            while let Some(choice) = selector.next()? {
                let chosen = choice.first().map_or(Ok(-1), |index| index.to_i64())?;
                let count = inputs.len();
                let Some(input) = usize::try_from(chosen).ok().and_then(|chosen| inputs.get_mut(chosen)) else {
                    bail!(InvalidArgument, "Selector index out of range: {chosen} >= {count}");
                };
                if input.has_ended() {
                    continue;
                }
                let element = input.next()?;
                if element.is_some() || stop_on_empty_dataset || inputs.iter().all(Elements::has_ended) {
                    return Ok(element);
                }
            }
            Ok(None)
        }))
    }))
}
