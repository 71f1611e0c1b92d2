//! The kernels that batch the inputs of concurrent calls: `Batch`, `Unbatch`, `UnbatchGrad`, `BatchFunction`.
//!
//! These kernels are asynchronous: a call that waits for others does not occupy a thread.

mod batcher;
mod queue;
mod request;
mod unbatch;
mod unbatch_grad;

use crate::state::resource_name;
use batcher::{Batcher, Options};
use flowmill_graph::Attrs;
use flowmill_proto::NameAttrList;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Error, Result, Shape, Tensor, bail, error};
use queue::QueueOptions;
use request::Work;
use std::sync::Arc;
use std::time::Duration;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("Batch", make_batch);
    registry.add("BatchFunction", make_batch_function);
    registry.add("Unbatch", unbatch::make);
    registry.add("UnbatchGrad", unbatch_grad::make);
}

/// The number of batches in progress at once if the node leaves that to the scheduler.
const ADAPTIVE_BATCH_THREADS: usize = 64;

/// The kernel of `Batch` and `BatchFunction`, which combines the inputs of concurrent calls.
struct Batching {
    container: String,
    name: String,
    queue: String,
    node: String,
    /// The options of the node's batcher, or the reason that it cannot be made.
    options: Result<Options>,
    num_batched: usize,
    output_types: Vec<DType>,
    work: Work,
    /// The error with which every call fails, if any.
    fault: Option<Error>,
}

fn make_batch(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let allowed = allowed_sizes(init, "final entry in allowed_batch_sizes must equal max_batch_size", false)?;
    batching(init, allowed, false, Work::PassOn, init.input_types.len(), None)
}

fn make_batch_function(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let splits = init.attrs.get_or("enable_large_batch_splitting", false)?;
    let fault = "final entry in allowed_batch_sizes must equal max_batch_size when enable_large_batch_splitting is False";
    let allowed = allowed_sizes(init, fault, splits)?;
    let f: &NameAttrList = init.attrs.get("f")?;
    let function = init.functions.instantiate(&f.name, &Attrs::from(f.attr.clone()))?;
    let num_batched = init.attrs.list::<DType>("Tin")?.len();
    let resource = init.input_types.iter().take(num_batched).position(|&t| t == DType::Resource);
    let fault = match (resource, function.num_args()) {
        (Some(i), _) => Some(error!(InvalidArgument, "BatchFunction cannot take resource inputs but input {i} is a resource.")),
        (None, Some(num_args)) if num_args != init.input_types.len() => {
            let passed = init.input_types.len();
            Some(error!(InvalidArgument, "Function takes {num_args} argument(s) but {passed} argument(s) were passed"))
        }
        _ => None,
    };
    let work = Work::Call { function, captured: Vec::new(), num_outputs: init.output_types.len() };
    batching(init, allowed, splits, work, num_batched, fault)
}

fn batching(
    init: &KernelInit<'_>,
    allowed: Vec<usize>,
    splits: bool,
    work: Work,
    num_batched: usize,
    fault: Option<Error>,
) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(Batching {
        container: init.attrs.get_or("container", "")?.to_owned(),
        name: resource_name(init)?.to_owned(),
        queue: init.attrs.get_or("batching_queue", "")?.to_owned(),
        node: init.name.to_owned(),
        options: options(init, allowed, splits),
        num_batched,
        output_types: init.output_types.to_vec(),
        work,
        fault,
    }))
}

/// Returns the attribute `allowed_batch_sizes`: sizes that ascend to `max_batch_size`, or, if tasks are split, to any size.
fn allowed_sizes(init: &KernelInit<'_>, fault: &str, splits: bool) -> Result<Vec<usize>> {
    let sizes = init.attrs.list::<i64>("allowed_batch_sizes")?;
    if sizes.is_sorted_by(|a, b| a < b) {
        if sizes.last().is_some_and(|&last| !splits && Ok(last) != init.attrs.get("max_batch_size")) {
            bail!(InvalidArgument, "{fault}");
        }
        return Ok(sizes.into_iter().filter_map(|size| usize::try_from(size).ok()).collect());
    }
    bail!(InvalidArgument, "allowed_batch_sizes entries must be monotonically increasing")
}

/// Returns a limit; a negative one means no limit.
fn limit(value: i64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn options(init: &KernelInit<'_>, allowed: Vec<usize>, splits: bool) -> Result<Options> {
    let attr = |name: &str| init.attrs.get::<i64>(name);
    let is_batch_function = init.attrs.contains("f");
    let num_threads = attr("num_batch_threads")?;
    let is_adaptive = is_batch_function && (num_threads <= 0 || init.attrs.get_or("_enable_adaptive_scheduler", false)?);
    if num_threads < 1 && !is_adaptive {
        bail!(InvalidArgument, "num_batch_threads must be positive; was {num_threads}");
    }
    let splits = splits || is_adaptive;
    let max_task_size = limit(attr("max_batch_size")?);
    if max_task_size == 0 {
        bail!(InvalidArgument, "input_batch_size_limit must be positive; was 0");
    }
    let Ok(timeout) = u64::try_from(attr("batch_timeout_micros")?) else {
        bail!(InvalidArgument, "batch_timeout_micros must be non-negative; was {}", attr("batch_timeout_micros")?);
    };
    let max_enqueued_batches = limit(attr("max_enqueued_batches")?);
    if max_enqueued_batches == 0 && splits {
        bail!(InvalidArgument, "max_enqueued_batches must be positive; was 0");
    }
    let max_batch_size = if splits { allowed.last().copied().unwrap_or(max_task_size) } else { max_task_size };
    if max_batch_size > max_task_size {
        bail!(
            InvalidArgument,
            "When enable_large_batch_splitting is true, input_batch_size_limit must be greater than or equal to max_execution_batch_size."
        );
    }
    let cuts = splits && init.attrs.get_or("batch_padding_policy", "PAD_UP")? == "BATCH_DOWN";
    let queue = QueueOptions {
        max_task_size,
        max_batch_size,
        max_enqueued_batches: max_enqueued_batches.max(1),
        timeout: Duration::from_micros(timeout),
        splits,
        cut_to: if cuts { allowed.clone() } else { Vec::new() },
    };
    let num_batch_threads = if is_adaptive { ADAPTIVE_BATCH_THREADS } else { limit(num_threads) };
    Ok(Options { num_batch_threads, queue, pad_to: allowed })
}

impl Kernel for Batching {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "batching is asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Batching {
    fn start(&self, mut ctx: AsyncContext) {
        if let Some(fault) = &self.fault {
            return ctx.done(Err(fault.clone()));
        }
        let create = || self.options.clone().map(Batcher::new);
        let batcher = match ctx.resources().lookup_or_create(&self.container, &self.name, create) {
            Ok(batcher) => batcher,
            Err(e) => return ctx.done(Err(e)),
        };
        let rest = ctx.take_inputs(self.num_batched);
        let inputs = ctx.take_inputs(0);
        match self.num_rows(&inputs) {
            Err(e) => ctx.done(Err(e)),
            Ok(0) => {
                let empty = self.output_types.iter().map(|&dtype| ctx.allocator().zeros(dtype, Shape::new(&[0])).map(Some)).collect();
                ctx.done(empty);
            }
            Ok(_) => {
                let mut work = self.work.clone();
                if let Work::Call { captured, .. } = &mut work {
                    *captured = rest;
                }
                batcher.submit(&self.queue, inputs, work, ctx);
            }
        }
    }
}

impl Batching {
    /// Returns the number of rows that all inputs have.
    fn num_rows(&self, inputs: &[Tensor]) -> Result<usize> {
        let shapes = || {
            let lines = inputs.iter().enumerate().map(|(i, input)| format!(" - input {i} of {} has shape {}\n", self.node, input.shape()));
            lines.collect::<String>()
        };
        let mut num_rows = None;
        for input in inputs {
            let Some(&rows) = input.shape().first() else {
                bail!(
                    InvalidArgument,
                    "Batching input tensors must have at least one dimension.\nBelow are the input tensors: \n{}",
                    shapes()
                );
            };
            if *num_rows.get_or_insert(rows) != rows {
                bail!(
                    InvalidArgument,
                    "Batching input tensors supplied in a given op invocation must have equal 0th-dimension size.\nBelow are the input \
                     tensors: \n{}",
                    shapes()
                );
            }
        }
        Ok(num_rows.unwrap_or(0))
    }
}
