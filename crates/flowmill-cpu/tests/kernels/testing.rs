//! Calls of kernels as a plan and the executor would make them, without a graph.

use flowmill_graph::{Attrs, OpDef, OpRegistry};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, DataType, TensorShapeProto};
use flowmill_runtime::tuning::Tuner;
use flowmill_runtime::{
    AsyncContext, Cost, DeviceStep, FunctionLibraryRuntime, HostDevice, InferencePrecision, Kernel, KernelContext, KernelInit,
    KernelRegistry, RefVariable, ResourceManager, ScalarOp,
};
use flowmill_tensor::{Code, DType, PartialShape, Result, Tensor, bail};
use std::sync::{Arc, LazyLock, mpsc};

/// The number of outputs of a call that does not specify how many outputs its node has.
const DEFAULT_OUTPUTS: usize = 8;

/// Runs `op` once. The result has eight slots; those that the kernel set are `Some`.
///
/// The element types of the inputs are those of the tensors. If the kernel has a [`ScalarOp`] for them, its result is compared, too.
pub fn run(op: &str, attrs: &[(&str, AttrValue)], inputs: Vec<Tensor>) -> Result<Vec<Option<Tensor>>> {
    Call::new(op).attrs(attrs).inputs(inputs).run()
}

/// Runs `op` and returns its first output.
pub fn run1(op: &str, attrs: &[(&str, AttrValue)], inputs: Vec<Tensor>) -> Result<Tensor> {
    Call::new(op).attrs(attrs).inputs(inputs).run1()
}

/// Returns the elements of a result.
pub fn floats(result: Result<Tensor>) -> Vec<f32> {
    result.unwrap().as_slice::<f32>().unwrap().to_vec()
}

/// Returns the message of an `InvalidArgument`.
pub fn message(result: Result<Tensor>) -> String {
    let e = result.map(drop).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    e.message().to_owned()
}

/// Returns a `type` attribute.
pub fn ty(dtype: DType) -> AttrValue {
    DataType::try_from(dtype.number()).unwrap_or_default().into()
}

/// Returns a `list(type)` attribute.
pub fn types(dtypes: &[DType]) -> AttrValue {
    Value::List(Box::new(ListValue { r#type: dtypes.iter().map(|t| t.number()).collect(), ..ListValue::default() })).into()
}

/// Returns a `list(int)` attribute.
pub fn ints(values: &[i64]) -> AttrValue {
    Value::List(Box::new(ListValue { i: values.to_vec(), ..ListValue::default() })).into()
}

/// Returns a `list(bool)` attribute.
pub fn bools(values: &[bool]) -> AttrValue {
    Value::List(Box::new(ListValue { b: values.to_vec(), ..ListValue::default() })).into()
}

/// Returns a `list(string)` attribute.
pub fn strings(values: &[&str]) -> AttrValue {
    Value::List(Box::new(ListValue { s: values.iter().map(|s| s.as_bytes().to_vec().into()).collect(), ..ListValue::default() })).into()
}

/// Returns a `shape` attribute; -1 is an unknown size.
pub fn shape(dims: &[i64]) -> AttrValue {
    TensorShapeProto::of(dims.iter().copied()).into()
}

/// A call of a kernel, for tests that need more than [`run`].
pub struct Call {
    op_def: OpDef,
    attrs: Attrs,
    inputs: Vec<Tensor>,
    constants: Vec<Option<Tensor>>,
    precision: InferencePrecision,
    input_shapes: Vec<PartialShape>,
    output_types: Vec<DType>,
    num_outputs: usize,
    resources: Arc<ResourceManager>,
    functions: Arc<FunctionLibraryRuntime>,
}

/// The op catalogue, for the properties of ops besides their signatures.
static OPS: LazyLock<OpRegistry> = LazyLock::new(|| flowmill_ops::registry().unwrap());

impl Call {
    /// Returns a call of `op` without attributes and inputs.
    pub fn new(op: &str) -> Call {
        let functions = FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined."));
        Call {
            op_def: OpDef { name: op.to_owned(), traits: OPS.get(op).map(|def| def.traits).unwrap_or_default(), ..OpDef::default() },
            attrs: Attrs::default(),
            inputs: Vec::new(),
            constants: Vec::new(),
            precision: InferencePrecision::F32,
            input_shapes: Vec::new(),
            output_types: Vec::new(),
            num_outputs: DEFAULT_OUTPUTS,
            resources: Arc::default(),
            functions: Arc::new(functions),
        }
    }

    /// Sets an attribute.
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> Call {
        self.attrs.set(name, value);
        self
    }

    /// Sets attributes.
    pub fn attrs(mut self, attrs: &[(&str, AttrValue)]) -> Call {
        attrs.iter().for_each(|(name, value)| self.attrs.set(*name, value.clone()));
        self
    }

    /// Adds an input.
    pub fn input(mut self, tensor: Tensor) -> Call {
        self.inputs.push(tensor);
        self
    }

    /// Adds inputs.
    pub fn inputs(mut self, tensors: Vec<Tensor>) -> Call {
        self.inputs.extend(tensors);
        self
    }

    /// Declares the inputs so far to be constants of the graph, in a session of this precision.
    pub fn constant(mut self, precision: InferencePrecision) -> Call {
        (self.constants, self.precision) = (self.inputs.iter().cloned().map(Some).collect(), precision);
        self
    }

    /// Sets the static shapes of the inputs.
    pub fn input_shapes(mut self, shapes: &[&[i64]]) -> Call {
        self.input_shapes = shapes.iter().map(|dims| PartialShape::new(dims)).collect();
        self
    }

    /// Makes the kernel, and returns the cost that a plan counts for the node.
    pub fn cost(&self) -> Cost {
        Cost::of(&*self.kernel().unwrap(), &self.op_def.traits)
    }

    /// Sets the number of outputs of the node.
    pub fn outputs(mut self, num_outputs: usize) -> Call {
        self.num_outputs = num_outputs;
        self.output_types = vec![DType::F32; num_outputs];
        self
    }

    /// Shares resources with other calls.
    pub fn resources(mut self, resources: &Arc<ResourceManager>) -> Call {
        self.resources = resources.clone();
        self
    }

    /// Sets the functions that the kernel may call.
    pub fn functions(mut self, functions: &Arc<FunctionLibraryRuntime>) -> Call {
        self.functions = functions.clone();
        self
    }

    /// Makes the kernel without running it.
    pub fn kernel(&self) -> Result<Arc<dyn Kernel>> {
        let mut registry = KernelRegistry::new();
        flowmill_host::register_all(&mut registry);
        flowmill_cpu::register_all(&mut registry);
        let input_types: Vec<DType> = self.inputs.iter().map(element_type).collect();
        registry.make(&KernelInit {
            name: "n",
            op_def: &self.op_def,
            attrs: &self.attrs,
            input_types: &input_types,
            output_types: &self.output_types,
            input_shapes: &self.input_shapes,
            constants: &self.constants,
            device: &HostDevice::cpu(0, Arc::default()),
            resources: &self.resources,
            functions: &self.functions,
            precision: self.precision,
            tuner: Tuner::off(),
        })
    }

    /// Makes the kernel and runs it.
    pub fn run(self) -> Result<Vec<Option<Tensor>>> {
        let kernel = self.kernel()?;
        self.run_with(&kernel)
    }

    /// Makes the kernel, runs it, and returns its first output.
    pub fn run1(self) -> Result<Tensor> {
        let op = self.op_def.name.clone();
        match self.run()?.into_iter().next().flatten() {
            Some(tensor) => Ok(tensor),
            None => bail!(Internal, "{op} left its output unset"),
        }
    }

    /// Runs a kernel that was made before.
    pub fn run_with(self, kernel: &Arc<dyn Kernel>) -> Result<Vec<Option<Tensor>>> {
        let step = Arc::new(DeviceStep::on_host(self.resources, self.functions));
        if let Some(kernel) = kernel.as_async() {
            let (sender, receiver) = mpsc::channel();
            kernel.start(AsyncContext::new(self.inputs, step, Box::new(move |result| drop(sender.send(result)))));
            return receiver.recv().unwrap_or_else(|_| bail!(Internal, "the kernel never called done"));
        }
        let scalar = kernel.scalar_op().and_then(|op| eval_scalar(op, &self.inputs));
        let mut inputs: Vec<_> = self.inputs.into_iter().map(Some).collect();
        let mut outputs = vec![None; self.num_outputs];
        kernel.compute(&mut KernelContext::new(&mut inputs, &mut outputs, &step))?;
        if let Some((dtype, bits)) = scalar {
            let found = outputs.first().and_then(Option::as_ref).and_then(|t| t.scalar_bits(dtype));
            assert_eq!(found, Some(bits), "{}: compute and scalar_op differ", self.op_def.name);
        }
        Ok(outputs)
    }
}

/// Returns the element type that a plan would report: behind a reference, the variable's.
fn element_type(tensor: &Tensor) -> DType {
    let handle = tensor.as_resources().ok().and_then(|handles| handles.first());
    handle.and_then(|h| h.get::<RefVariable>()).map_or(tensor.dtype(), |v| v.dtype())
}

fn eval_scalar(op: ScalarOp, inputs: &[Tensor]) -> Option<(DType, u64)> {
    match (op, inputs) {
        (ScalarOp::Unary { from, to, f }, [x]) => Some((to, f(x.scalar_bits(from)?))),
        (ScalarOp::Binary { from, to, f }, [x, y]) => Some((to, f(x.scalar_bits(from)?, y.scalar_bits(from)?))),
        _ => None,
    }
}

/// Returns the index along each dimension of element number `flat` of a tensor with these sizes.
pub fn index_of(flat: usize, dims: &[usize]) -> Vec<usize> {
    let mut rest = flat;
    let mut index = vec![0; dims.len()];
    for (i, size) in index.iter_mut().zip(dims).rev() {
        *i = rest % size;
        rest /= size;
    }
    index
}
