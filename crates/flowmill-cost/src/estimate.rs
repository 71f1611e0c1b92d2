//! Static estimates: what a node computes, reads and writes, from the shapes of its tensors and the traits of its op.

use crate::kernel_class::{KernelClass, THIN_CONVOLUTION_CHANNELS, THIN_PRODUCT_ROWS};
use crate::machine::KernelWork;
use crate::saturating::total;
use flowmill_graph::{Attrs, Effects, ElementwiseFunction, Graph, Node, Operand, OutputId, Role, ShapeAnalysis, Work};
use flowmill_tensor::{DType, PartialShape};

/// Operations per element of a costly op whose work is not declared.
const COSTLY_OPERATIONS: f64 = 16.0;
/// The elements of a window whose size is not an attribute.
const USUAL_WINDOW: f64 = 9.0;
/// The bytes of an element without a fixed size: a string or a handle.
const OBJECT_BYTES: u64 = 32;

/// The estimated costs of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeEstimate {
    /// Arithmetic operations. A multiplication and an addition are two.
    pub operations: f64,
    /// Bytes that the kernel reads.
    pub bytes_read: u64,
    /// Bytes that the kernel writes.
    pub bytes_written: u64,
    /// The operations and the bytes, by class of kernel: one part for the node's kernel, another for its epilogue, or one for each class of kernels in the
    /// functions that the node calls.
    pub work: Vec<KernelWork>,
    /// Bytes of each output.
    pub outputs: Vec<u64>,
    /// Bytes that the node holds between steps: the value of a constant or of a variable.
    pub resident: u64,
    /// True if the node takes no time: its output is there before the step starts, or it belongs to the step.
    pub is_free: bool,
    /// False if a size was unknown, and the assumed one was used in its place.
    pub is_exact: bool,
}

/// Estimates the nodes of one graph.
pub(crate) struct Estimator<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) shapes: &'a ShapeAnalysis,
    /// The shapes of outputs of nodes that a step had, if there was one.
    pub(crate) observed: Option<&'a StepShapes<'a>>,
    /// The value of sizes that are not known.
    pub(crate) unknown_size: u64,
}

/// A function that returns the shape that output `i` of a node had in a step, if the node ran in it.
pub type StepShapes<'a> = dyn Fn(&Node, usize) -> Option<PartialShape> + 'a;

/// The sizes of a tensor, as far as they are known.
struct Sizes {
    dims: Vec<f64>,
    is_exact: bool,
}

impl Sizes {
    fn elements(&self) -> f64 {
        self.dims.iter().product()
    }

    /// Returns the size of the dimension this far from the last one; 1 if there are fewer.
    fn size_from_last(&self, i: usize) -> f64 {
        self.dims.iter().rev().nth(i).copied().unwrap_or(1.0)
    }
}

impl Estimator<'_> {
    /// Returns the estimate of a node. Functions that the node calls are not included.
    pub(crate) fn node(&self, node: &Node) -> NodeEstimate {
        let inputs: Vec<(Sizes, u64)> = (0..node.num_inputs()).map(|i| self.input(node, i)).collect();
        let outputs: Vec<(Sizes, u64)> = (0..node.num_outputs()).map(|i| self.output(node, i)).collect();
        let mut estimate = NodeEstimate {
            outputs: outputs.iter().map(|(_, bytes)| *bytes).collect(),
            is_exact: inputs.iter().chain(&outputs).all(|(sizes, _)| sizes.is_exact),
            ..NodeEstimate::default()
        };
        estimate.resident = self.resident(node, &estimate);
        match node.role() {
            Role::Const | Role::Placeholder | Role::Arg | Role::Retval => estimate.is_free = true,
            Role::Kernel => {}
            role if role.calls_functions() => {}
            // The other roles hand over tensors, or nothing.
            _ => return estimate,
        }
        let traits = node.traits();
        if estimate.is_free || traits.passes_on || traits.reads_shape || traits.work == Work::Nothing || estimate.resident > 0 {
            return estimate;
        }
        let input_sizes = |i: usize| inputs.get(i).map(|(sizes, _)| sizes);
        let operand = |operand: Operand| match operand {
            Operand::Input(i) => inputs.get(usize::from(i)).map(|(sizes, _)| sizes),
            Operand::Output(i) => outputs.get(usize::from(i)).map(|(sizes, _)| sizes),
        };
        let elements = |operand_of: Operand| operand(operand_of).map_or(0.0, Sizes::elements);
        let largest = inputs.iter().chain(&outputs).map(|(sizes, _)| sizes.elements()).fold(0.0, f64::max);
        let smallest_image = || inputs.iter().chain(&outputs).map(|(sizes, _)| sizes).filter(|s| s.dims.len() > 2).map(Sizes::elements);
        let (class, operations) = match traits.work {
            Work::Nothing => (KernelClass::Other, 0.0),
            Work::Unknown if traits.elementwise.is_some() => {
                let each = traits.elementwise.map_or(1, |function| function.operations());
                // A function of many operands, as `AddN`, is applied between each two.
                (KernelClass::Elementwise, largest * f64::from(each) * inputs.len().saturating_sub(1).max(1) as f64)
            }
            Work::Unknown if traits.reduces => (KernelClass::Elementwise, largest),
            Work::Unknown if traits.costly => (KernelClass::Other, largest * COSTLY_OPERATIONS),
            Work::Unknown => match program_operations(node.attrs()) {
                Some(each) => (KernelClass::Elementwise, largest * each),
                None => (KernelClass::Other, 0.0),
            },
            Work::PerElement(operations) => (KernelClass::Elementwise, largest * f64::from(operations)),
            Work::Product(transposed) => {
                let is_transposed: bool = node.attrs().get_or(transposed, false).unwrap_or(false);
                let contracted = input_sizes(0).map_or(1.0, |a| a.size_from_last(usize::from(is_transposed)));
                let rows = outputs.first().map_or(1.0, |(product, _)| product.size_from_last(1).min(product.size_from_last(0)));
                (product_class(rows), 2.0 * outputs.first().map_or(0.0, |(sizes, _)| sizes.elements()) * contracted)
            }
            Work::Einsum => (KernelClass::Product, 2.0 * einsum_combinations(node.attrs(), &inputs)),
            Work::Rows { rows, matrix } => {
                let per_row = operand(rows).map_or(1.0, |sizes| sizes.size_from_last(0)).max(1.0);
                let rows = elements(rows) / per_row;
                (product_class(rows), 2.0 * rows * elements(matrix))
            }
            Work::Convolution { image, filter } => {
                let channels = operand(filter).map_or(1.0, |sizes| sizes.size_from_last(0)).max(1.0);
                let class = operand(filter).map_or(KernelClass::Convolution, convolution_class);
                (class, 2.0 * elements(image) * elements(filter) / channels)
            }
            Work::DepthwiseConvolution { image, filter } => {
                let channels = operand(filter).map_or(1.0, |sizes| sizes.size_from_last(0) * sizes.size_from_last(1)).max(1.0);
                (KernelClass::DepthwiseConvolution, 2.0 * elements(image) * elements(filter) / channels)
            }
            Work::SeparableConvolution => {
                let count = |name: &str| usize::try_from(node.attrs().get_or(name, 0i64).unwrap_or(0)).unwrap_or(0);
                let positions = |sizes: Option<&Sizes>| sizes.map_or(1.0, |s| s.elements() / s.size_from_last(0).max(1.0));
                let filter = |i: usize| input_sizes(i).map_or(0.0, Sizes::elements);
                let (expansion, projection) = (count("num_expansion"), count("num_projection"));
                let (before, after) = (positions(input_sizes(0)), positions(outputs.first().map(|(sizes, _)| sizes)));
                let expanded = if expansion > 0 { before * filter(2) } else { 0.0 };
                let projected = if projection > 0 { after * filter(inputs.len().saturating_sub(projection)) } else { 0.0 };
                (KernelClass::PointwiseConvolution, 2.0 * (expanded + after * filter(1) + projected))
            }
            Work::Attention => {
                let is_interleaved = node.attrs().list::<bool>("interleaved").ok().and_then(|of| of.get(2).copied()).unwrap_or(false);
                let keys = input_sizes(2).map_or(1.0, |values| values.size_from_last(1 + usize::from(is_interleaved)));
                (KernelClass::Product, 2.0 * keys * (elements(Operand::Input(0)) + elements(Operand::Output(0))))
            }
            Work::Window => {
                let window =
                    node.attrs().list::<i64>("ksize").map_or(USUAL_WINDOW, |sizes| sizes.iter().map(|&size| size as f64).product());
                (KernelClass::Window, smallest_image().reduce(f64::min).unwrap_or(largest) * window)
            }
            Work::Cubic(factor) => {
                let (rows, columns) = input_sizes(0).map_or((1.0, 1.0), |a| (a.size_from_last(1), a.size_from_last(0)));
                (KernelClass::Other, f64::from(factor) * input_sizes(0).map_or(0.0, Sizes::elements) * rows.min(columns))
            }
            Work::Fourier(rank) => {
                let rank = if rank == 0 { usize::MAX } else { usize::from(rank) };
                let n: f64 = input_sizes(0).map_or(1.0, |x| x.dims.iter().rev().take(rank).product());
                (KernelClass::Other, 5.0 * largest * n.max(1.0).log2())
            }
            Work::Sort => (KernelClass::Other, input_sizes(0).map_or(0.0, |x| x.elements() * x.size_from_last(0).max(1.0).log2())),
        };
        estimate.operations = operations;
        let (read, written) = (total(inputs.iter().map(|(_, bytes)| *bytes)), total(estimate.outputs.iter().copied()));
        // An op that only moves elements reads those that it writes, such as a slice.
        let moves = estimate.operations == 0.0 && written > 0;
        estimate.bytes_read = if moves { read.min(written) } else { read };
        // An op without outputs writes to a variable or to another object.
        estimate.bytes_written = if written == 0 && traits.effects == Effects::State { read } else { written };
        let bytes = estimate.bytes_read as f64 + estimate.bytes_written as f64;
        estimate.work.push(KernelWork { class, calls: 1.0, operations, bytes });
        let is_linear = matches!(traits.work, Work::Product(_) | Work::Convolution { .. } | Work::DepthwiseConvolution { .. });
        let program = program_operations(node.attrs()).filter(|_| is_linear).unwrap_or(0.0);
        let epilogue = (epilogue_operations(node.attrs()) + program) * outputs.first().map_or(0.0, |(sizes, _)| sizes.elements());
        if epilogue > 0.0 {
            estimate.operations += epilogue;
            estimate.work.push(KernelWork { class: KernelClass::Elementwise, operations: epilogue, ..KernelWork::default() });
        }
        estimate
    }

    fn input(&self, node: &Node, i: usize) -> (Sizes, u64) {
        let shape = self.graph.input(node.id(), i).map_or_else(PartialShape::unknown, |tensor| self.shape(tensor));
        self.sizes(&shape, node.input_types().get(i).map(|t| t.dtype))
    }

    fn output(&self, node: &Node, i: usize) -> (Sizes, u64) {
        let tensor = OutputId { node: node.id(), slot: i as u32 };
        self.sizes(&self.shape(tensor), node.output_types().get(i).map(|t| t.dtype))
    }

    fn shape(&self, tensor: OutputId) -> PartialShape {
        let observed = self.observed.zip(self.graph.get(tensor.node)).and_then(|(observed, node)| observed(node, tensor.slot as usize));
        observed.unwrap_or_else(|| self.shapes.shape(tensor))
    }

    fn sizes(&self, shape: &PartialShape, dtype: Option<DType>) -> (Sizes, u64) {
        let unknown = self.unknown_size as f64;
        let dims = match shape.dims() {
            Some(dims) => dims.iter().map(|&d| if d < 0 { unknown } else { d as f64 }).collect(),
            None => vec![unknown],
        };
        let sizes = Sizes { dims, is_exact: shape.is_fully_defined() };
        let element = dtype.and_then(DType::size).map_or(OBJECT_BYTES, |size| size as u64);
        let bytes = (sizes.elements() * element as f64) as u64;
        (sizes, bytes)
    }

    /// Returns the bytes that a node holds between steps: those of a constant, and those of an object without inputs whose attributes `shape` and
    /// `dtype` say what it holds.
    fn resident(&self, node: &Node, estimate: &NodeEstimate) -> u64 {
        if node.role() == Role::Const {
            return total(estimate.outputs.iter().copied());
        }
        if node.num_inputs() > 0 || node.traits().effects != Effects::State {
            return 0;
        }
        let attrs = node.attrs();
        match (attrs.get::<PartialShape>("shape"), attrs.get::<DType>("dtype")) {
            (Ok(shape), Ok(dtype)) => self.sizes(&shape, Some(dtype)).1,
            _ => 0,
        }
    }
}

/// Returns the product of the sizes of all indices of an equation such as `ij,jk->ik`. Dimensions behind `...` count as one index of each operand.
fn einsum_combinations(attrs: &Attrs, inputs: &[(Sizes, u64)]) -> f64 {
    let Ok(equation) = attrs.get::<&str>("equation") else { return 0.0 };
    let operands = equation.split("->").next().unwrap_or_default().split(',');
    let mut sizes: Vec<(char, f64)> = Vec::new();
    let mut ellipsis = 1.0f64;
    for (labels, (input, _)) in operands.zip(inputs) {
        let names: Vec<char> = labels.chars().filter(|c| c.is_alphabetic()).collect();
        let before = labels.split("...").next().unwrap_or_default().chars().filter(|c| c.is_alphabetic()).count();
        let hidden = input.dims.len().saturating_sub(names.len());
        let others: f64 = input.dims.iter().skip(before).take(hidden).product();
        ellipsis = ellipsis.max(others);
        for (i, &name) in names.iter().enumerate() {
            let at = if i < before { i } else { i + hidden };
            let size = input.dims.get(at).copied().unwrap_or(1.0);
            match sizes.iter_mut().find(|(other, _)| *other == name) {
                Some((_, known)) => *known = known.max(size),
                None => sizes.push((name, size)),
            }
        }
    }
    ellipsis * sizes.iter().map(|(_, size)| size).product::<f64>()
}

/// Returns the class of a product of a matrix of this many rows.
fn product_class(rows: f64) -> KernelClass {
    if rows < THIN_PRODUCT_ROWS as f64 { KernelClass::ThinProduct } else { KernelClass::Product }
}

/// Returns the class of a convolution with a filter of these sizes, of which the last two are input channels and output channels.
fn convolution_class(filter: &Sizes) -> KernelClass {
    let (inputs, window) = (filter.size_from_last(1), filter.dims.iter().rev().skip(2).product::<f64>());
    if inputs < THIN_CONVOLUTION_CHANNELS as f64 {
        KernelClass::ThinConvolution
    } else if window <= 1.0 {
        KernelClass::PointwiseConvolution
    } else {
        KernelClass::Convolution
    }
}

/// Returns the operations per element of the functions that a kernel applies to its results, which the attribute `fused_ops` lists.
fn epilogue_operations(attrs: &Attrs) -> f64 {
    let functions = attrs.list::<&str>("fused_ops").unwrap_or_default();
    functions.into_iter().map(function_operations).sum()
}

/// Returns the operations per element of a fused element-wise node, whose attribute `program` has an instruction for each; `None` for other nodes.
fn program_operations(attrs: &Attrs) -> Option<f64> {
    let program = attrs.list::<&str>("program").ok()?;
    Some(program.into_iter().map(|instruction| function_operations(instruction.split(' ').next().unwrap_or_default())).sum())
}

fn function_operations(name: &str) -> f64 {
    name.parse::<ElementwiseFunction>().map_or(1.0, |function| f64::from(function.operations()))
}
