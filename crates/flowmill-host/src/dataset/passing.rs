//! Datasets with the elements of their inputs: options, measurements, limits of threads, rewriting, assertions and waiting.

use super::args::{Args, Call, dataset_kernel};
use super::element::{Dataset, DatasetRef, Elements};
use super::parallel::{AUTOTUNE, Pipe, PipeOptions, Task, auto_threads};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Resource, Result, bail};
use std::sync::Arc;
use std::time::Duration;

/// Ops whose elements are those of `input_dataset`. Their other arguments concern performance or statistics only.
const PASSING: [&str; 25] = [
    "OptionsDataset",
    "ModelDataset",
    "OptimizeDataset",
    "OptimizeDatasetV2",
    "FinalizeDataset",
    "NonSerializableDataset",
    "ExperimentalNonSerializableDataset",
    "LatencyStatsDataset",
    "ExperimentalLatencyStatsDataset",
    "BytesProducedStatsDataset",
    "ExperimentalBytesProducedStatsDataset",
    "SetStatsAggregatorDataset",
    "ExperimentalSetStatsAggregatorDataset",
    "PrivateThreadPoolDataset",
    "ExperimentalPrivateThreadPoolDataset",
    "MaxIntraOpParallelismDataset",
    "ExperimentalMaxIntraOpParallelismDataset",
    "ThreadPoolDataset",
    "ExperimentalThreadPoolDataset",
    "AutoShardDataset",
    "ExperimentalAutoShardDataset",
    "AssertNextDataset",
    "ExperimentalAssertNextDataset",
    "AssertPrevDataset",
    "RewriteDataset",
];

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in PASSING {
        registry.add(op, make_passing);
    }
    for op in ["SleepDataset", "ExperimentalSleepDataset"] {
        registry.add(op, |init| dataset_kernel(init, sleep));
    }
    registry.add("PrefetchDataset", |init| dataset_kernel(init, prefetch));
    for op in [
        "ThreadPoolHandle",
        "ExperimentalThreadPoolHandle",
        "StatsAggregatorHandle",
        "StatsAggregatorHandleV2",
        "ExperimentalStatsAggregatorHandle",
    ] {
        registry.add(op, make_handle);
    }
    for op in ["StatsAggregatorSummary", "ExperimentalStatsAggregatorSummary"] {
        registry.add(op, |_| {
            from_fn(|ctx| {
                ctx.set_output(0, ctx.allocator().string("")?);
                Ok(())
            })
        });
    }
    for op in ["WrapDatasetVariant", "UnwrapDatasetVariant"] {
        registry.add(op, |_| {
            from_fn(|ctx| {
                if ctx.input(0)?.rank() != 0 {
                    bail!(InvalidArgument, "Dataset tensor must be a scalar of dtype DT_VARIANT, got shape {}", ctx.input(0)?.shape());
                }
                ctx.forward(0, 0)
            })
        });
    }
}

fn make_passing(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let limit = ["max_intra_op_parallelism", "num_threads"].into_iter().find(|name| init.op_def.inputs.iter().any(|arg| arg.name == *name));
    let shards = Args::of(init)?.has("num_workers");
    let asserts_next = init.op_def.name.ends_with("AssertNextDataset");
    let asserts_previous = init.op_def.name == "AssertPrevDataset";
    dataset_kernel(init, move |call| {
        let input = call.input()?;
        if let Some(name) = limit
            && call.scalar::<i64>(name)? < 0
        {
            bail!(InvalidArgument, "`{name}` must be >= 0");
        }
        if asserts_previous {
            assert_previous(call, &input)?;
        }
        if asserts_next {
            call.args.tensor(call.ctx, "transformations")?.as_strings()?;
        }
        if shards {
            return shard(call, &input);
        }
        Ok(Dataset::over(&input, call.signature_or(&input), input.cardinality, Ok))
    })
}

/// Checks, for `AssertPrevDataset`, that the datasets before it are of the given kinds, the nearest first.
fn assert_previous(call: &Call<'_, '_>, input: &DatasetRef) -> Result<()> {
    let mut before = Some(input);
    for expected in call.args.tensor(call.ctx, "transformations")?.as_strings()? {
        let expected = String::from_utf8_lossy(expected);
        let Some(dataset) = before else { bail!(InvalidArgument, "Asserted transformation {expected} but the input ended before it.") };
        if !expected.starts_with(dataset.kind.as_str()) {
            bail!(InvalidArgument, "Asserted transformation {expected} but encountered {} transformation instead.", dataset.kind);
        }
        before = dataset.input.as_ref();
    }
    Ok(())
}

/// Makes the dataset of `AutoShardDataset`, which has every `num_workers`th element.
fn shard(call: &Call<'_, '_>, input: &DatasetRef) -> Result<Dataset> {
    let (workers, index): (i64, i64) = (call.scalar("num_workers")?, call.scalar("index")?);
    if workers <= 0 {
        bail!(InvalidArgument, "num_workers must be greater than zero.");
    }
    if index < 0 || index >= workers {
        bail!(InvalidArgument, "index must be between 0 and {}", workers - 1);
    }
    let cardinality = match input.cardinality {
        known if known >= 0 => known / workers + i64::from(index < known % workers),
        other => other,
    };
    Ok(Dataset::over(input, call.signature_or(input), cardinality, move |mut elements| {
        let mut before = index;
        Ok(Elements::new(move || {
            if elements.skip(before)? < before {
                return Ok(None);
            }
            before = workers - 1;
            elements.next()
        }))
    }))
}

fn sleep(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let Ok(micros) = u64::try_from(call.scalar::<i64>("sleep_microseconds")?) else {
        bail!(InvalidArgument, "`sleep_microseconds` must be >= 0");
    };
    let (source, signature, cardinality) = (input.clone(), call.signature_or(&input), input.cardinality);
    let dataset = Dataset::new(signature, cardinality, move |ctx| {
        let (mut elements, ctx) = (source.elements(ctx)?, ctx.clone());
        Ok(Elements::new(move || {
            ctx.sleep(Duration::from_micros(micros))?;
            elements.next()
        }))
    });
    Ok(dataset.with_input(input))
}

/// Makes the dataset of `PrefetchDataset`, which computes up to `buffer_size` elements ahead.
fn prefetch(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let buffer_size: i64 = call.scalar("buffer_size")?;
    if buffer_size < 0 && buffer_size != AUTOTUNE {
        bail!(InvalidArgument, "buffer_size must be >= 0 or set buffer_size to be {AUTOTUNE} for auto-tuning");
    }
    let capacity = usize::try_from(buffer_size).unwrap_or_else(|_| auto_threads());
    let (source, signature, cardinality) = (input.clone(), call.signature_or(&input), input.cardinality);
    let dataset = Dataset::new(signature, cardinality, move |ctx| {
        let mut elements = source.elements(ctx)?;
        if capacity == 0 {
            return Ok(elements);
        }
        let mut pipe = Pipe::new(ctx, PipeOptions { workers: 1, capacity, ordered: true }, move || {
            Ok(elements.next()?.map(|element| Box::new(move || Ok(element)) as Task<_>))
        });
        Ok(Elements::new(move || pipe.next()))
    });
    Ok(dataset.with_input(input))
}

/// The object behind handles of thread pools and of statistics, which have no effect here.
struct Nothing;

impl Resource for Nothing {
    fn type_name(&self) -> &'static str {
        "Nothing"
    }
}

fn make_handle(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let name = resource_name(init)?.to_owned();
    from_fn(move |ctx| {
        ctx.set_output(0, ctx.resources().handle("", &name, Some(Arc::new(Nothing)), Vec::new()));
        Ok(())
    })
}
