//! The registry of kernels: it maps ops, with their types, to the kernels that compute them.

use crate::device::Device;
use crate::function::FunctionLibraryRuntime;
use crate::kernel::Kernel;
use crate::resource::ResourceManager;
use crate::tuning::Tuner;
use flowmill_graph::{Attrs, ElementwiseFunction, Node, OpDef};
use flowmill_tensor::{DType, Error, PartialShape, Result, Tensor, bail, error};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, OnceLock};

/// A function that makes the kernel of one node, or returns the error for attributes that no kernel supports.
pub type MakeKernel = fn(&KernelInit<'_>) -> Result<Arc<dyn Kernel>>;

/// The kernels of one device type, by op.
#[derive(Clone, Default)]
pub struct KernelRegistry {
    by_op: FxHashMap<&'static str, SmallVec<[KernelDef; 1]>>,
    /// The text of [`KernelRegistry::set_type_table`].
    type_table: &'static str,
    types: OnceLock<Arc<TypeTable>>,
}

/// The combinations of types that each op's kernel computes.
type TypeTable = FxHashMap<&'static str, Vec<TypeCombination>>;

/// One combination of types: for each listed type attribute of a node, the types that it may have. Other type attributes may have any type that the
/// op allows.
pub type TypeCombination = Vec<(&'static str, Vec<DType>)>;

/// The least precision in which kernels may multiply `float32` by constant weights. Results and all else stay `float32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InferencePrecision {
    /// `float32`.
    #[default]
    F32,
    /// `bfloat16`: both factors are rounded to 8 significant bits, and the products are summed in `float32`.
    Bf16,
}

impl std::str::FromStr for InferencePrecision {
    type Err = Error;

    /// Parses `f32` or `bf16`, or the names of the types.
    fn from_str(name: &str) -> Result<InferencePrecision> {
        match name {
            "f32" | "float32" => Ok(InferencePrecision::F32),
            "bf16" | "bfloat16" => Ok(InferencePrecision::Bf16),
            _ => bail!(InvalidArgument, "inference_precision must be 'f32' or 'bf16', not '{name}'"),
        }
    }
}

/// The registration of a kernel: the function that makes it, and constraints on the nodes that it computes.
#[derive(Clone, Debug)]
pub struct KernelDef {
    make: MakeKernel,
    /// The type attributes that are constrained, each with the types that it, or each element of a list, may have.
    constraints: Vec<(&'static str, &'static [DType])>,
    host_memory: Vec<&'static str>,
    any_memory: Vec<&'static str>,
    priority: i32,
    functions: fn(ElementwiseFunction) -> bool,
    channels_last: bool,
    copies_from_host: bool,
}

impl KernelDef {
    /// Makes a registration for all types, with all tensors in the device's memory and priority 0.
    pub fn new(make: MakeKernel) -> KernelDef {
        KernelDef {
            make,
            constraints: Vec::new(),
            host_memory: Vec::new(),
            any_memory: Vec::new(),
            priority: 0,
            functions: |_| false,
            channels_last: false,
            copies_from_host: false,
        }
    }

    /// Restricts the kernel to nodes whose type attribute `name` is one of `types`. All elements of an attribute that is a list must be among
    /// `types`.
    #[must_use]
    pub fn constrain(mut self, name: &'static str, types: &'static [DType]) -> KernelDef {
        self.constraints.push((name, types));
        self
    }

    /// Declares that the kernel reads or writes the inputs and outputs of this name in the host's memory on every device.
    #[must_use]
    pub fn host_memory(mut self, name: &'static str) -> KernelDef {
        self.host_memory.push(name);
        self
    }

    /// Declares that the kernel takes the input of this name, or leaves the output, in any memory: it reads no elements and passes them on where they are.
    #[must_use]
    pub fn any_memory(mut self, name: &'static str) -> KernelDef {
        self.any_memory.push(name);
        self
    }

    /// Sets the priority. If several registrations fit a node, the one with the highest priority is used.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> KernelDef {
        self.priority = priority;
        self
    }

    /// Declares which functions a fused kernel can apply: those for which `functions` returns true.
    #[must_use]
    pub fn fuses(mut self, functions: fn(ElementwiseFunction) -> bool) -> KernelDef {
        self.functions = functions;
        self
    }

    /// Declares that the kernel computes on images whose channels are in the last dimension, and transposes all others.
    #[must_use]
    pub fn channels_last(mut self) -> KernelDef {
        self.channels_last = true;
        self
    }

    /// Declares that the kernel copies from or to the host's memory itself, or waits for its device, so that a device cannot record its work.
    #[must_use]
    pub fn copies_from_host(mut self) -> KernelDef {
        self.copies_from_host = true;
        self
    }

    /// Returns true if a device that records work ([`Device::adopt_strand`](crate::Device::adopt_strand)) may record what the kernel enqueues and do it again
    /// in later calls, unless the op is stateful: the work, and the outputs that the kernel leaves in the host's memory, depend only on the shapes of its
    /// inputs and on the values of those in the host's memory.
    pub fn is_replayable(&self) -> bool {
        !self.copies_from_host
    }

    /// Returns the constraints on type attributes, in the order of the calls of [`KernelDef::constrain`].
    pub fn constraints(&self) -> &[(&'static str, &'static [DType])] {
        &self.constraints
    }

    /// Returns true if the input or output of this name is in the host's memory.
    pub fn is_in_host_memory(&self, name: &str) -> bool {
        self.host_memory.contains(&name)
    }

    /// Returns true if the input or output of this name is in any memory.
    pub fn is_in_any_memory(&self, name: &str) -> bool {
        self.any_memory.contains(&name)
    }

    /// Returns true if `may_have` returns true for the types of each constraint.
    fn fits(&self, may_have: impl Fn(&str, &[DType]) -> bool) -> bool {
        self.constraints.iter().all(|(name, types)| may_have(name, types))
    }
}

/// Returns true if the type attribute `name` is one of `types`, or is a list whose elements are all among `types`. Returns true if it is missing.
fn has_type_of(attrs: &Attrs, name: &str, types: &[DType]) -> bool {
    if !attrs.contains(name) {
        return true;
    }
    match attrs.get::<DType>(name) {
        Ok(dtype) => types.contains(&dtype),
        Err(_) => attrs.list::<DType>(name).is_ok_and(|all| all.iter().all(|dtype| types.contains(dtype))),
    }
}

/// Parses a table of types. Lines of another form are skipped.
fn parse_table(text: &'static str) -> TypeTable {
    let mut table = TypeTable::default();
    for line in text.lines() {
        let mut words = line.split(' ');
        let Some(op) = words.next().filter(|op| !op.is_empty() && !op.starts_with('#')) else { continue };
        let attr =
            |word: &'static str| word.split_once('=').map(|(name, types)| (name, types.split(',').filter_map(DType::from_name).collect()));
        table.entry(op).or_default().push(words.filter_map(attr).collect());
    }
    table
}

impl KernelRegistry {
    /// Makes an empty registry.
    pub fn new() -> KernelRegistry {
        KernelRegistry::default()
    }

    /// Registers the kernel of `op` for all types, and replaces all earlier registrations for the op.
    pub fn add(&mut self, op: &'static str, make: MakeKernel) {
        self.by_op.insert(op, smallvec![KernelDef::new(make)]);
    }

    /// Registers one more kernel of `op`. If several registrations of the same priority fit a node, the last one is used.
    pub fn register(&mut self, op: &'static str, def: KernelDef) {
        self.by_op.entry(op).or_default().push(def);
    }

    /// Returns the registration that is used for a node of `op` with these attributes, without making the kernel.
    pub fn find(&self, op: &str, attrs: &Attrs) -> Option<&KernelDef> {
        // The last of equal ones.
        self.by_op.get(op)?.iter().filter(|def| def.fits(|name, types| has_type_of(attrs, name, types))).max_by_key(|def| def.priority)
    }

    /// Sets the table of the types that kernels registered without constraints compute. Each line of the text is one combination: the op, and the
    /// types of each attribute, such as `Cast SrcT=float,double DstT=int32`. An op without a line has a kernel for all types that it allows.
    pub fn set_type_table(&mut self, table: &'static str) {
        (self.type_table, self.types) = (table, OnceLock::new());
    }

    /// Returns the combinations of types that the table of types lists for `op`. An empty list means that all types are supported.
    pub fn type_combinations(&self, op: &str) -> &[TypeCombination] {
        let types = self.types.get_or_init(|| Arc::new(parse_table(self.type_table)));
        types.get(op).map_or(&[], Vec::as_slice)
    }

    /// Returns true if there is a kernel for a node of `op` with these attributes. The kernel is not made.
    pub fn supports(&self, op: &str, attrs: &Attrs) -> bool {
        self.has_kernel(op, |name, types| has_type_of(attrs, name, types))
    }

    /// Returns true if there is a kernel of `op` for types of which `may_have` returns true: it is asked whether a type attribute can be one of these.
    /// The types must satisfy both the constraints of a registration and a combination of the table.
    fn has_kernel(&self, op: &str, may_have: impl Fn(&str, &[DType]) -> bool) -> bool {
        let combinations = self.type_combinations(op);
        let is_listed = |combination: &TypeCombination| combination.iter().all(|(name, types)| may_have(name, types));
        self.defs(op).iter().any(|def| def.fits(&may_have)) && (combinations.is_empty() || combinations.iter().any(is_listed))
    }

    /// Returns true if a kernel of the fused op `fused` can apply this function to elements of type `dtype`: see [`KernelDef::fuses`].
    pub fn fuses(&self, fused: &str, function: ElementwiseFunction, dtype: DType) -> bool {
        self.defs(fused).iter().any(|def| (def.functions)(function)) && self.supports_type(fused, dtype)
    }

    /// Returns true if there is a kernel for nodes of `op` whose attribute `T` is `dtype`. The kernel is not made.
    pub fn supports_type(&self, op: &str, dtype: DType) -> bool {
        self.has_kernel(op, |name, types| name != "T" || types.contains(&dtype))
    }

    /// Returns true if the kernels of `op` transpose images whose channels are not in the last dimension: see [`KernelDef::channels_last`].
    pub fn wants_channels_last(&self, op: &str) -> bool {
        self.defs(op).iter().any(|def| def.channels_last)
    }

    /// Returns all registrations of `op`.
    pub fn defs(&self, op: &str) -> &[KernelDef] {
        self.by_op.get(op).map_or(&[], SmallVec::as_slice)
    }

    /// Returns true if the op has a kernel for any of its types.
    pub fn contains(&self, op: &str) -> bool {
        self.by_op.contains_key(op)
    }

    /// Returns all ops with a kernel, sorted.
    pub fn ops(&self) -> Vec<&'static str> {
        let mut ops: Vec<_> = self.by_op.keys().copied().collect();
        ops.sort_unstable();
        ops
    }

    /// Makes the kernel of a graph's node.
    ///
    /// # Errors
    /// Returns the errors of [`KernelRegistry::make`].
    pub(crate) fn make_for(&self, node: &Node, inputs: &KnownInputs, home: &KernelHome<'_>) -> Result<Arc<dyn Kernel>> {
        let input_types: Vec<DType> = node.input_types().iter().map(|t| t.dtype).collect();
        let output_types: Vec<DType> = node.output_types().iter().map(|t| t.dtype).collect();
        self.make(&KernelInit {
            name: node.name(),
            op_def: node.op_def(),
            attrs: node.attrs(),
            input_types: &input_types,
            output_types: &output_types,
            input_shapes: &inputs.shapes,
            constants: &inputs.constants,
            device: home.device,
            resources: home.resources,
            functions: home.functions,
            precision: home.precision,
            tuner: home.tuner,
        })
    }

    /// Makes the kernel of a node.
    ///
    /// # Errors
    /// Returns `NotFound` if the op has no kernel, or none for the node's types, and the errors of the kernel's maker.
    pub fn make(&self, init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        let op = init.op_def.name.as_str();
        let made = match self.find(op, init.attrs) {
            Some(def) => (def.make)(init),
            None if self.contains(op) => init.unsupported(),
            None => Err(error!(NotFound, "No registered '{op}' OpKernel for {} devices", init.device.attributes().device_type())),
        };
        let kernel = made.map_err(|e| e.at_node(init.name, op))?;
        Ok(init.device.adopt(init.name, kernel))
    }
}

/// The static knowledge of a node's inputs, for the maker of its kernel: see [`KernelInit`].
#[derive(Default)]
pub(crate) struct KnownInputs {
    pub(crate) shapes: Vec<PartialShape>,
    pub(crate) constants: Vec<Option<Tensor>>,
}

/// The place that a kernel is made for: see [`KernelInit`].
pub(crate) struct KernelHome<'a> {
    pub(crate) device: &'a Arc<dyn Device>,
    pub(crate) resources: &'a Arc<ResourceManager>,
    pub(crate) functions: &'a Arc<FunctionLibraryRuntime>,
    pub(crate) precision: InferencePrecision,
    pub(crate) tuner: &'a Arc<Tuner>,
}

/// The information that is available to the maker of a kernel: its node, and the plan's static knowledge of the inputs.
pub struct KernelInit<'a> {
    /// The node's name.
    pub name: &'a str,
    /// The node's op.
    pub op_def: &'a OpDef,
    /// The node's attributes, with defaults filled in.
    pub attrs: &'a Attrs,
    /// Element types of the data inputs.
    pub input_types: &'a [DType],
    /// Element types of the outputs.
    pub output_types: &'a [DType],
    /// Static shapes of the inputs. May have fewer entries than there are inputs; the other shapes are unknown.
    pub input_shapes: &'a [PartialShape],
    /// Values of the inputs that are constants of the graph, so that weights can be packed once. May have fewer entries than there are inputs.
    pub constants: &'a [Option<Tensor>],
    /// The device that the kernel will run on.
    pub device: &'a Arc<dyn Device>,
    /// The session's resources on the device.
    pub resources: &'a Arc<ResourceManager>,
    /// The functions of the graph.
    pub functions: &'a Arc<FunctionLibraryRuntime>,
    /// The least precision in which the kernel may multiply by constant weights.
    pub precision: InferencePrecision,
    /// Chooses between ways to compute the node.
    pub tuner: &'a Arc<Tuner>,
}

impl KernelInit<'_> {
    /// Returns the type attribute `name`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if it is missing.
    pub fn dtype(&self, name: &str) -> Result<DType> {
        self.attrs.get(name)
    }

    /// Returns the value of input `i` if it is a constant.
    pub fn constant(&self, i: usize) -> Option<&Tensor> {
        self.constants.get(i)?.as_ref()
    }

    /// Returns the static shape of input `i`.
    pub fn input_shape(&self, i: usize) -> PartialShape {
        self.input_shapes.get(i).cloned().unwrap_or_default()
    }

    /// Returns the error for an op that has no kernel for these types.
    ///
    /// # Errors
    /// Always returns `NotFound`.
    pub fn unsupported<T>(&self) -> Result<T> {
        let types = self.input_types.iter().chain(self.output_types).map(|t| t.enum_name()).collect::<Vec<_>>().join(", ");
        bail!(
            NotFound,
            "No registered '{}' OpKernel for '{}' devices compatible with node {{{{node {}}}}} (types: {types})",
            self.op_def.name,
            self.device.attributes().device_type(),
            self.name
        )
    }
}
