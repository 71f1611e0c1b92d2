//! Which kernel computes which op.

use crate::function::FunctionLibraryRuntime;
use crate::kernel::Kernel;
use crate::resource::ResourceManager;
use flowmill_graph::{Attrs, OpDef};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Makes the kernel of one node, or says why there is none for its attributes.
pub type MakeKernel = fn(&KernelInit<'_>) -> Result<Arc<dyn Kernel>>;

/// The kernels of one device type, by op.
#[derive(Clone, Default)]
pub struct KernelRegistry {
    by_op: FxHashMap<&'static str, MakeKernel>,
}

impl KernelRegistry {
    /// An empty registry.
    pub fn new() -> KernelRegistry {
        KernelRegistry::default()
    }

    /// Registers the kernel of `op`; a second registration replaces the first.
    pub fn add(&mut self, op: &'static str, make: MakeKernel) {
        self.by_op.insert(op, make);
    }

    /// Whether the op has a kernel for any of its types.
    pub fn contains(&self, op: &str) -> bool {
        self.by_op.contains_key(op)
    }

    /// All ops with a kernel, sorted.
    pub fn ops(&self) -> Vec<&'static str> {
        let mut ops: Vec<_> = self.by_op.keys().copied().collect();
        ops.sort_unstable();
        ops
    }

    /// Makes the kernel of a node.
    ///
    /// # Errors
    /// `NotFound` where the op has no kernel; whatever its maker says.
    pub fn make(&self, init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        match self.by_op.get(init.op_def.name.as_str()) {
            Some(make) => make(init).map_err(|e| e.at_node(init.name, &init.op_def.name)),
            None => Err(flowmill_tensor::error!(NotFound, "No registered '{}' OpKernel for CPU devices", init.op_def.name)
                .at_node(init.name, &init.op_def.name)),
        }
    }
}

/// What a kernel may know when it is made: its node and what the plan knows of its inputs.
pub struct KernelInit<'a> {
    /// The node's name.
    pub name: &'a str,
    /// The node's op.
    pub op_def: &'a OpDef,
    /// The node's attributes, defaults filled in.
    pub attrs: &'a Attrs,
    /// Element types of the data inputs.
    pub input_types: &'a [DType],
    /// Element types of the outputs.
    pub output_types: &'a [DType],
    /// Static shapes of the inputs; may be shorter than the inputs where nothing is known.
    pub input_shapes: &'a [PartialShape],
    /// Inputs that are constants of the graph, for packing weights once; may be shorter than the inputs.
    pub constants: &'a [Option<Tensor>],
    /// The session's resources.
    pub resources: &'a Arc<ResourceManager>,
    /// The functions of the graph.
    pub functions: &'a Arc<FunctionLibraryRuntime>,
}

impl KernelInit<'_> {
    /// The type attribute `name`.
    ///
    /// # Errors
    /// `InvalidArgument` where it is missing.
    pub fn dtype(&self, name: &str) -> Result<DType> {
        self.attrs.get(name)
    }

    /// The constant that input `i` is, if it is one.
    pub fn constant(&self, i: usize) -> Option<&Tensor> {
        self.constants.get(i)?.as_ref()
    }

    /// The static shape of input `i`.
    pub fn input_shape(&self, i: usize) -> PartialShape {
        self.input_shapes.get(i).cloned().unwrap_or_default()
    }

    /// The error for an op that has no kernel for these types.
    ///
    /// # Errors
    /// Always `NotFound`.
    pub fn unsupported<T>(&self) -> Result<T> {
        let types = self.input_types.iter().chain(self.output_types).map(|t| t.enum_name()).collect::<Vec<_>>().join(", ");
        bail!(
            NotFound,
            "No registered '{}' OpKernel for 'CPU' devices compatible with node {{{{node {}}}}} (types: {types})",
            self.op_def.name,
            self.name
        )
    }
}
