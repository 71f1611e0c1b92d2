//! Ops on iterators, and ops that turn a whole dataset into tensors.

use super::args::Args;
use super::batch::stack;
use super::context::{FunctionAttr, IteratorContext};
use super::element::{Elements, Signature, check_room, of_tensor};
use super::iterator::{IteratorResource, element_outputs};
use super::seeds::set_anonymous;
use crate::data_flow::object_of;
use crate::data_flow::optional::optional;
use crate::data_flow::reader::masked_crc;
use crate::data_flow::wait_list::Outcome;
use crate::files::file_error;
use crate::from_fn::{blocking_from_fn, from_fn};
use crate::lookup::initialize;
use crate::state::resource_name;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use flowmill_graph::Attrs;
use flowmill_proto::NameAttrList;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry, ResourceManager, container_name};
use flowmill_tensor::{DType, EncodedVariant, Error, PartialShape, Result, Tensor, Variant, bail, error};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["Iterator", "IteratorV2"] {
        registry.add(op, make_iterator);
    }
    for op in ["AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"] {
        registry.add(op, make_anonymous);
    }
    registry.add("OneShotIterator", make_one_shot);
    registry.add("MakeIterator", |_| {
        blocking_from_fn(|ctx| {
            let dataset = of_tensor(ctx.input(0)?)?;
            iterator_of(ctx, 1)?.set(&dataset, ctx.device_step())
        })
    });
    for op in ["IteratorGetNext", "IteratorGetNextSync"] {
        registry.add(op, |init| make_get_next(init, element_outputs));
    }
    registry.add("IteratorGetNextAsOptional", |init| {
        make_get_next(init, |signature, element| {
            element.iter().try_for_each(|element| signature.check_element(element))?;
            Ok(vec![Some(optional(element))])
        })
    });
    registry.add("DeleteIterator", |_| {
        from_fn(|ctx| {
            iterator_of(ctx, 0)?.clear();
            Ok(())
        })
    });
    registry.add("SerializeIterator", |_| from_fn(serialize));
    registry.add("DeserializeIterator", |_| {
        blocking_from_fn(|ctx| {
            let iterator = iterator_of(ctx, 0)?;
            iterator.restore(place_of(ctx.input(1)?)?, ctx.device_step())
        })
    });
    registry.add("IteratorToStringHandle", |_| from_fn(to_string_handle));
    for op in ["IteratorFromStringHandle", "IteratorFromStringHandleV2"] {
        registry.add(op, make_from_string_handle);
    }
    for op in ["IteratorGetDevice", "ExperimentalIteratorGetDevice"] {
        registry.add(op, |_| {
            from_fn(|ctx| {
                iterator_of(ctx, 0)?;
                ctx.set_output(0, ctx.allocator().string(ctx.device().attributes().name.to_string())?);
                Ok(())
            })
        });
    }
    for op in ["DatasetCardinality", "ExperimentalDatasetCardinality"] {
        registry.add(op, |_| {
            from_fn(|ctx| {
                let cardinality = of_tensor(ctx.input(0)?)?.cardinality;
                ctx.set_output(0, Tensor::scalar(cardinality));
                Ok(())
            })
        });
    }
    registry.add("DatasetToSingleElement", make_single_element);
    registry.add("ReduceDataset", make_reduce);
    registry.add("InitializeTableFromDataset", |_| {
        whole_dataset(1, |_, elements, inputs| {
            let mut pairs = Vec::new();
            while let Some(pair) = elements.next()? {
                check_room(pairs.len())?;
                pairs.push(pair);
            }
            if let Some(pair) = pairs.iter().find(|pair| pair.len() != 2) {
                bail!(InvalidArgument, "Dataset should have two output types only, not {}", pair.len());
            }
            // An empty dataset leaves the table unchanged.
            if let ([keys, values], Some(table)) = (&stack(&pairs)?[..], inputs.first()) {
                initialize(table, keys, values)?;
            }
            Ok(Vec::new())
        })
    });
    for op in ["DatasetToTFRecord", "ExperimentalDatasetToTFRecord"] {
        registry.add(op, |_| whole_dataset(0, |_, elements, inputs| write_tf_records(elements, &inputs[1..])));
    }
}

/// Returns the signature of elements that the attributes declare.
fn signature(init: &KernelInit<'_>) -> Result<Signature> {
    Signature::of_attrs(init.attrs)?.ok_or_else(|| error!(InvalidArgument, "attributes 'output_types' and 'output_shapes' are missing"))
}

/// Returns the iterator that a handle holds, or the session's iterator that it names.
fn find(handle: &Tensor, ctx: &flowmill_runtime::DeviceStep) -> Result<Arc<IteratorResource>> {
    let Ok([named]) = handle.as_resources() else { bail!(InvalidArgument, "resource_handle must be a scalar") };
    ctx.resources.check_device(named)?;
    match named.object() {
        Some(_) => object_of(Some(handle), &ctx.resources, "an iterator"),
        None => ctx.resources.lookup(named.container(), named.name()),
    }
}

fn iterator_of(ctx: &KernelContext<'_>, input: usize) -> Result<Arc<IteratorResource>> {
    find(ctx.input(input)?, ctx.device_step())
}

/// Returns a handle that names an iterator of the session. It does not hold the iterator: plans hold handles, and iterators hold plans.
fn named_handle(resources: &ResourceManager, container: &str, name: &str) -> Tensor {
    resources.handle(container, name, None, Vec::new())
}

/// Makes the kernel of `IteratorV2`, whose output is the session's iterator under the node's name.
fn make_iterator(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = signature(init)?;
    let (container, name) = (init.attrs.get_or("container", "")?.to_owned(), resource_name(init)?.to_owned());
    from_fn(move |ctx| {
        let iterator = ctx.resources().lookup_or_create(&container, &name, || Ok(IteratorResource::new(signature.clone())))?;
        signature.check(iterator.signature())?;
        ctx.set_output(0, named_handle(ctx.resources(), &container, &name));
        Ok(())
    })
}

fn make_anonymous(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = signature(init)?;
    from_fn(move |ctx| {
        set_anonymous(ctx, "AnonymousIterator", Arc::new(IteratorResource::new(signature.clone())));
        Ok(())
    })
}

/// Makes the kernel of `OneShotIterator`. The first step that uses the iterator calls the function that returns the dataset.
fn make_one_shot(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if !init.attrs.get_or("shared_name", "")?.is_empty() {
        bail!(InvalidArgument, "OneShotIteratorOp does not currently support the 'shared_name' attr.");
    }
    let signature = signature(init)?;
    let factory: &NameAttrList = init.attrs.get("dataset_factory")?;
    let factory = init.functions.instantiate(&factory.name, &Attrs::from(factory.attr.clone()))?;
    let (container, name) = (init.attrs.get_or("container", "")?.to_owned(), init.name.to_owned());
    blocking_from_fn(move |ctx| {
        let step = ctx.device_step();
        let iterator = step.resources.lookup_or_create(&container, &name, || Ok(IteratorResource::new(signature.clone())))?;
        if !iterator.is_initialized() {
            let _making = iterator.making.lock();
            if !iterator.is_initialized() {
                let dataset = match &factory.call(Vec::new(), step)?[..] {
                    [dataset] => of_tensor(dataset)?,
                    _ => bail!(InvalidArgument, "The `dataset_factory` function must return a single scalar of dtype DT_VARIANT."),
                };
                iterator.set(&dataset, step)?;
            }
        }
        ctx.set_output(0, named_handle(ctx.resources(), &container, &name));
        Ok(())
    })
}

/// A function that converts an iterator's result into a kernel's outputs.
type ToOutputs = fn(&Signature, Option<Vec<Tensor>>) -> Outcome;

/// A kernel that waits for an iterator's next element.
struct GetNext {
    signature: Arc<Signature>,
    to_outputs: ToOutputs,
}

fn make_get_next(init: &KernelInit<'_>, to_outputs: ToOutputs) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(GetNext { signature: Arc::new(signature(init)?), to_outputs }))
}

impl Kernel for GetNext {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "iterators are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for GetNext {
    fn start(&self, call: AsyncContext) {
        let iterator = match call.inputs().first() {
            Some(handle) => find(handle, call.device_step()),
            None => Err(error!(Internal, "Missing input 0")),
        };
        let (signature, to_outputs) = (self.signature.clone(), self.to_outputs);
        match iterator {
            Ok(iterator) => iterator.get_next(call, Box::new(move |element| to_outputs(&signature, element))),
            Err(e) => call.done(Err(e)),
        }
    }
}

/// The type of the variant that holds an iterator's position: one vector, as [`IteratorResource::place`] returns it.
const PLACE: &str = "flowmill::IteratorPlace";

/// Computes `SerializeIterator`, whose output is the position of an iterator in its dataset.
fn serialize(ctx: &mut KernelContext<'_>) -> Result<()> {
    let place = ctx.allocator().vector(&iterator_of(ctx, 0)?.place()?)?;
    let state = EncodedVariant { type_name: PLACE.to_owned(), metadata: Default::default(), tensors: vec![place] };
    ctx.set_output(0, Tensor::from_variants([1], vec![Variant::new(state)])?);
    Ok(())
}

fn place_of(serialized: &Tensor) -> Result<&[i64]> {
    match serialized.as_variants()?.first().and_then(|variant| variant.get::<EncodedVariant>()) {
        Some(EncodedVariant { type_name, tensors, .. }) if type_name == PLACE && tensors.len() == 1 => tensors[0].as_slice(),
        Some(other) => bail!(InvalidArgument, "The state of an iterator is a {PLACE}, not a {}.", other.type_name),
        None => bail!(InvalidArgument, "The state of an iterator is what SerializeIterator returns."),
    }
}

/// Outputs a handle as text: container and name. An anonymous iterator gets a name for that.
fn to_string_handle(ctx: &mut KernelContext<'_>) -> Result<()> {
    let handle = ctx.handle(0)?;
    let (container, mut name) = (handle.container().to_owned(), handle.name().to_owned());
    if handle.object().is_some() {
        let iterator = iterator_of(ctx, 0)?;
        name = format!("{name}_{:p}", Arc::as_ptr(&iterator));
        ctx.resources().insert(&container, &name, iterator)?;
    }
    ctx.set_output(0, ctx.allocator().string(format!("{}/{name}", container_name(&container)))?);
    Ok(())
}

fn make_from_string_handle(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let types = init.attrs.list::<DType>("output_types")?;
    let shapes = init.attrs.list::<PartialShape>("output_shapes")?;
    if !types.is_empty() && !shapes.is_empty() && types.len() != shapes.len() {
        bail!(InvalidArgument, "If both 'output_types' and 'output_shapes' are set, they must have the same length.");
    }
    from_fn(move |ctx| {
        let text = match ctx.input(0)?.as_strings()? {
            [text] if ctx.input(0)?.rank() == 0 => String::from_utf8_lossy(text).into_owned(),
            _ => bail!(InvalidArgument, "string_handle must be a scalar"),
        };
        let Some((container, name)) = text.split_once('/') else {
            bail!(InvalidArgument, "Could not parse string_handle as a valid ResourceHandle");
        };
        let iterator: Arc<IteratorResource> = ctx.resources().lookup(container, name)?;
        let held = iterator.signature();
        let expected = Signature {
            types: if types.is_empty() { held.types.clone() } else { types.clone() },
            shapes: if shapes.is_empty() { held.shapes.clone() } else { shapes.clone() },
        };
        expected.check(held)?;
        ctx.set_output(0, named_handle(ctx.resources(), container, name));
        Ok(())
    })
}

/// A kernel that iterates over a whole dataset, on a separate thread.
struct WholeDataset(Arc<dyn Fn(&Arc<IteratorContext>, &[Tensor]) -> Outcome + Send + Sync>);

impl Kernel for WholeDataset {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "iteration over a dataset is asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for WholeDataset {
    fn start(&self, call: AsyncContext) {
        let ctx = IteratorContext::new(call.device_step());
        let (run, their_ctx) = (self.0.clone(), ctx.clone());
        // If no thread can be started, the call ends without a result, which its step reports as an error.
        drop(ctx.threads.spawn(move || {
            let closing = their_ctx.clone();
            let on_cancel = call.step().cancel.on_cancel(move |_| closing.close());
            let outcome = run(&their_ctx, call.inputs());
            drop(on_cancel);
            their_ctx.close();
            call.done(outcome);
        }));
    }
}

/// Makes a kernel that iterates over the dataset in input `dataset`.
fn whole_dataset(
    dataset: usize,
    run: impl Fn(&Arc<IteratorContext>, &mut Elements, &[Tensor]) -> Outcome + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(WholeDataset(Arc::new(move |ctx, inputs| {
        let dataset = inputs.get(dataset).ok_or_else(|| error!(Internal, "Missing input {dataset}"))?;
        let mut elements = of_tensor(dataset)?.elements(ctx)?;
        run(ctx, &mut elements, inputs)
    }))))
}

fn make_single_element(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = signature(init)?;
    whole_dataset(0, move |_, elements, _| {
        let Some(element) = elements.next()? else { bail!(InvalidArgument, "Dataset was empty.") };
        let outputs = element_outputs(&signature, Some(element))?;
        if elements.next()?.is_some() {
            bail!(InvalidArgument, "Dataset had more than one element.");
        }
        Ok(outputs)
    })
}

/// Makes the kernel of `ReduceDataset`: `f` computes the next state from a state and an element.
fn make_reduce(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let f = FunctionAttr::new(init, "f", "other_arguments")?;
    let (signature, state) = (signature(init)?, Args::of(init)?.range("initial_state")?);
    whole_dataset(0, move |ctx, elements, inputs| {
        let f = f.capture_of(inputs)?;
        let mut state = inputs.get(state.clone()).map(<[Tensor]>::to_vec).unwrap_or_default();
        while let Some(element) = elements.next()? {
            state = f.call(ctx, state.into_iter().chain(element).collect())?;
        }
        element_outputs(&signature, Some(state))
    })
}

/// Writes elements, which are strings, as records to a file. Inputs: the file's name, the compression.
fn write_tf_records(elements: &mut Elements, inputs: &[Tensor]) -> Outcome {
    let [name, compression] = inputs else { bail!(Internal, "inputs are missing") };
    let ([name], [compression]) = (name.as_strings()?, compression.as_strings()?) else {
        bail!(InvalidArgument, "filename and compression_type must be scalars");
    };
    let path = String::from_utf8_lossy(name).into_owned();
    let failed = |e: std::io::Error| file_error(&path, &e);
    let file = BufWriter::new(File::create(&path).map_err(failed)?);
    let mut file = match &compression[..] {
        b"ZLIB" => {
            let mut file = ZlibEncoder::new(file, Compression::default());
            write_records(elements, &mut file, &failed)?;
            file.finish().map_err(failed)?
        }
        b"GZIP" => {
            let mut file = GzEncoder::new(file, Compression::default());
            write_records(elements, &mut file, &failed)?;
            file.finish().map_err(failed)?
        }
        b"" => {
            let mut file = file;
            write_records(elements, &mut file, &failed)?;
            file
        }
        other => bail!(Unimplemented, "compression {:?} is not supported for files that a dataset writes", String::from_utf8_lossy(other)),
    };
    file.flush().map_err(failed)?;
    Ok(Vec::new())
}

fn write_records(elements: &mut Elements, file: &mut impl Write, failed: &impl Fn(std::io::Error) -> Error) -> Result<()> {
    while let Some(element) = elements.next()? {
        let record = match &element[..] {
            [record] if record.rank() == 0 => record.as_strings()?,
            _ => bail!(InvalidArgument, "elements must be scalar strings"),
        };
        for record in record {
            let length = (record.len() as u64).to_le_bytes();
            for part in [&length[..], &masked_crc(&length), record, &masked_crc(record)] {
                file.write_all(part).map_err(failed)?;
            }
        }
    }
    Ok(())
}
