//! The ops and kernels that graphs and sessions use, and custom ones among them.

use crate::builder::gradients::{GradientFn, OpGradient};
use crate::graph::{Effects, OpDef, OpTraits, ShapeFn};
use crate::static_values::Kernels;
use crate::{
    FileAccess, Graph, GraphBuilder, ImportOptions, KernelRegistry, OpRegistry, Result, Session, SessionOptions, files, import_graph_def,
};
use flowmill_runtime::MakeKernel;
use flowmill_tensor::sync::RwLock;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The ops that graphs may hold and the kernels that compute them: TensorFlow's, and custom ones of a program.
///
/// A value, cheap to clone. A [`GraphBuilder`], a loaded graph or a [`Session`] that is made from it has its ops.
///
/// ```
/// use flowmill::kernel::from_fn;
/// use flowmill::prelude::*;
/// use flowmill::{CustomOp, OpSet};
///
/// # fn main() -> flowmill::Result<()> {
/// let cube = CustomOp::new("Cube", "(x: float) -> (y: float)")
///     .shape(|c| Ok(c.set_output(0, c.input(0))))
///     .gradient(|scoped, op| {
///         let dy = op.dy(scoped, 0)?;
///         GraphBuilder::lend(scoped, |b| {
///             let (x, dy) = (b.output(op.inputs[0]), b.output(dy));
///             let dx = dy * 3.0 * b.square(x)?;
///             Ok(vec![Some(dx.ok()?.id().into())])
///         })
///     })
///     .kernel(|_| {
///         from_fn(|ctx| {
///             let x = ctx.input(0)?;
///             let cubes: Vec<f32> = x.as_slice::<f32>()?.iter().map(|x| x * x * x).collect();
///             let y = Tensor::from_slice(x.shape().clone(), &cubes)?;
///             Ok(ctx.set_output(0, y))
///         })
///     });
/// let ops = OpSet::standard()?.with(cube)?;
///
/// let b = ops.graph_builder();
/// let x = b.constant([1.0f32, 2.0])?;
/// let y = b.op("Cube").input(x).output()?;
/// let [slope] = b.gradients(y, [x])?;
/// let [y, slope] = b.session(SessionOptions::default())?.runner().fetch([y, slope])?;
/// assert_eq!(y.as_slice::<f32>()?, [1.0, 8.0]);
/// assert_eq!(slope.as_slice::<f32>()?, [3.0, 12.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpSet {
    registry: Arc<OpRegistry>,
    kernels: Arc<KernelRegistry>,
}

impl OpSet {
    /// Returns every op and kernel of Flowmill.
    ///
    /// # Errors
    /// None in practice; see [`registry`](crate::registry).
    pub fn standard() -> Result<OpSet> {
        Ok(OpSet { registry: crate::registry()?, kernels: crate::kernels() })
    }

    /// Returns the ops of a graph's registry, with the standard kernels.
    pub(crate) fn with_registry(registry: Arc<OpRegistry>) -> OpSet {
        OpSet { registry, kernels: crate::kernels() }
    }

    /// Returns these ops and one more.
    ///
    /// # Errors
    /// `AlreadyExists` if the op's name is taken, `InvalidArgument` if its declaration is malformed.
    pub fn with(&self, op: CustomOp) -> Result<OpSet> {
        self.with_all([op])
    }

    /// Returns these ops and more of them.
    ///
    /// # Errors
    /// `AlreadyExists` for an op whose name is taken, `InvalidArgument` for one whose declaration is malformed.
    pub fn with_all(&self, ops: impl IntoIterator<Item = CustomOp>) -> Result<OpSet> {
        let (mut registry, mut kernels) = ((*self.registry).clone(), (*self.kernels).clone());
        for op in ops {
            registry.add(op.definition()?)?;
            if let Some(make) = op.kernel {
                kernels.add(op.name, make);
            }
        }
        let kernels = Arc::new(kernels);
        let registry = Arc::new(registry.with_evaluator(Arc::new(Kernels::new(kernels.clone()))));
        Ok(OpSet { registry, kernels })
    }

    /// Returns the definitions.
    pub fn registry(&self) -> &Arc<OpRegistry> {
        &self.registry
    }

    /// Returns the kernels.
    pub fn kernels(&self) -> &Arc<KernelRegistry> {
        &self.kernels
    }

    /// Returns an empty graph.
    pub fn new_graph(&self) -> Graph {
        Graph::new(self.registry.clone())
    }

    /// Returns a builder with an empty graph.
    pub fn graph_builder(&self) -> GraphBuilder {
        GraphBuilder::with_graph(self.clone(), self.new_graph())
    }

    /// Loads the graph in a file that holds a `GraphDef`, such as a frozen graph, in wire format or as text.
    ///
    /// # Errors
    /// `NotFound` for a missing file or op, `DataLoss` if the file holds no graph, `InvalidArgument` for a graph that is not valid.
    pub fn load_graph(&self, path: impl AsRef<Path>, access: FileAccess) -> Result<Graph> {
        let mut graph = self.new_graph();
        let (graph_def, _bytes) = files::load_graph_def_with(path, access)?;
        import_graph_def(&mut graph, graph_def, &ImportOptions::default())?;
        Ok(graph)
    }

    /// Returns a session on a graph.
    ///
    /// # Errors
    /// `ResourceExhausted` if the session's threads cannot be started, `InvalidArgument` for options that contradict each other.
    pub fn session(&self, graph: Graph, options: SessionOptions) -> Result<Arc<Session>> {
        Ok(Arc::new(Session::new(Arc::new(RwLock::new(graph)), self.kernels.clone(), options)?))
    }
}

impl fmt::Debug for OpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpSet").field("num_ops", &self.registry.len()).finish_non_exhaustive()
    }
}

/// The declaration of an op that Flowmill does not have. [`OpSet`] has an example.
#[derive(Clone)]
#[must_use = "an op takes part once it is in an `OpSet`"]
pub struct CustomOp {
    name: &'static str,
    signature: &'static str,
    attrs: &'static str,
    traits: OpTraits,
    shape_fn: Option<ShapeFn>,
    gradient: OpGradient,
    kernel: Option<MakeKernel>,
}

impl CustomOp {
    /// Declares the op `name` with arguments as in `(x: T, rest: N * T, values: Tin) -> (y: float)`.
    ///
    /// A name after a colon is that of an attribute or an element type with TensorFlow's C++ name (`float`, `int64`, `half`, `string`). An attribute
    /// that is a list of types makes a list of tensors.
    pub fn new(name: &'static str, signature: &'static str) -> CustomOp {
        CustomOp { name, signature, attrs: "", traits: OpTraits::default(), shape_fn: None, gradient: OpGradient::Undefined, kernel: None }
    }

    /// Declares the attributes, separated by semicolons: `T: {float, half} = float; N: int >= 1; mode: {'up', 'down'}; sizes: list(int) = [1, 1]`.
    pub fn attrs(self, attrs: &'static str) -> CustomOp {
        CustomOp { attrs, ..self }
    }

    /// Says that the op has state or side effects, so that it is never computed ahead of a step or merged with an equal node.
    pub fn stateful(self) -> CustomOp {
        CustomOp { traits: OpTraits { effects: Effects::State, ..self.traits }, ..self }
    }

    /// Says that a node takes more than about ten microseconds for usual sizes, so that other nodes of the step run on other threads at the same time.
    pub fn costly(self) -> CustomOp {
        CustomOp { traits: OpTraits { costly: true, ..self.traits }, ..self }
    }

    /// Sets the function that infers the static shapes of the outputs. Without one they are unknown.
    pub fn shape(self, shape_fn: ShapeFn) -> CustomOp {
        CustomOp { shape_fn: Some(shape_fn), ..self }
    }

    /// Sets the function that adds the gradients of the inputs, given those of the outputs. Without one, differentiating through the op is an error.
    pub fn gradient(self, gradient: GradientFn) -> CustomOp {
        CustomOp { gradient: OpGradient::Function(gradient), ..self }
    }

    /// Says that no gradient flows through the op.
    pub fn not_differentiable(self) -> CustomOp {
        CustomOp { gradient: OpGradient::NotDifferentiable, ..self }
    }

    /// Sets the function that makes the kernel of a node. [`kernel::from_fn`](crate::kernel::from_fn) makes one out of a closure.
    pub fn kernel(self, make: MakeKernel) -> CustomOp {
        CustomOp { kernel: Some(make), ..self }
    }

    fn definition(&self) -> Result<OpDef> {
        let mut op_def = flowmill_ops::definition(self.name, self.signature, self.attrs)?;
        op_def.traits = self.traits;
        op_def.shape_fn = self.shape_fn;
        op_def.gradient = self.gradient;
        Ok(op_def)
    }
}

impl fmt::Debug for CustomOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomOp").field("name", &self.name).field("signature", &self.signature).finish_non_exhaustive()
    }
}
