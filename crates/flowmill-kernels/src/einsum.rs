//! The labels of an einsum's operands and of its result, and their sizes.

use crate::array::nd::row_major;
use flowmill_graph::{EinsumEquation, EinsumLabel};
use flowmill_tensor::{Result, Shape, Tensor, bail};
use std::collections::BTreeMap;

/// The sizes of all labels.
pub type LabelSizes = BTreeMap<EinsumLabel, usize>;

/// An equation for operands of certain shapes.
pub struct EinsumTerms {
    /// The labels of each operand's dimensions.
    pub operands: Vec<Vec<EinsumLabel>>,
    /// The size of each label.
    pub sizes: LabelSizes,
    /// The labels of the result's dimensions, of which some may be equal.
    pub named: Vec<EinsumLabel>,
    /// The distinct labels of the result.
    pub output: Vec<EinsumLabel>,
    /// The shape of the result.
    pub shape: Shape,
}

impl EinsumTerms {
    /// Finds the labels and sizes of an equation for operands of these shapes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for shapes that do not fit the equation.
    pub fn new(equation: &EinsumEquation, shapes: &[&Shape]) -> Result<EinsumTerms> {
        if shapes.len() != equation.num_inputs() {
            bail!(InvalidArgument, "Expecting {} inputs but got {}", equation.num_inputs(), shapes.len());
        }
        let mut operands = Vec::new();
        let mut sizes = LabelSizes::new();
        for (i, shape) in shapes.iter().enumerate() {
            let labels = equation.input_labels(i, shape.rank())?;
            for (axis, (label, &size)) in labels.iter().zip(shape.iter()).enumerate() {
                let known = sizes.entry(*label).or_insert(size);
                let broadcasts = matches!(label, EinsumLabel::Ellipsis(_)) && (size == 1 || *known == 1);
                if broadcasts && *known == 1 {
                    *known = size;
                } else if *known != size && !broadcasts {
                    bail!(
                        InvalidArgument,
                        "Expected dimension {known} at axis {axis} of the input shaped {shape} but got dimension {size}"
                    );
                }
            }
            operands.push(labels);
        }
        let ellipsis = sizes.keys().filter(|l| matches!(l, EinsumLabel::Ellipsis(_))).count();
        let named = equation.output_labels(ellipsis);
        if named.iter().any(|label| !sizes.contains_key(label)) {
            bail!(InvalidArgument, "Output subscripts '{}' have a label that no input has", equation.output());
        }
        if sizes.keys().any(|label| matches!(label, EinsumLabel::Ellipsis(_)) && !named.contains(label)) {
            bail!(
                InvalidArgument,
                "Output subscripts '{}' need an ellipsis, because an input's ellipsis has dimensions",
                equation.output()
            );
        }
        let shape: Shape = named.iter().map(|l| sizes[l]).collect();
        shape.checked_num_elements()?;
        let output = named.iter().enumerate().filter(|(i, label)| !named[..*i].contains(label)).map(|(_, l)| *l).collect();
        Ok(EinsumTerms { operands, sizes, named, output, shape })
    }
}

/// An operand with distinct labels. Its element at index (0, …) is the first of the tensor.
#[derive(Clone)]
pub struct View {
    /// The tensor.
    pub tensor: Tensor,
    /// The labels.
    pub labels: Vec<EinsumLabel>,
    /// The distance of two elements for each label.
    pub strides: Vec<usize>,
}

impl View {
    /// Returns the view of a tensor whose dimensions have these labels. A repeated label selects a diagonal, and a dimension of one element is
    /// repeated to the size of its label.
    pub fn new(tensor: &Tensor, labels: &[EinsumLabel], sizes: &LabelSizes) -> View {
        let mut view = View { tensor: tensor.clone(), labels: Vec::new(), strides: Vec::new() };
        for ((label, &stride), &size) in labels.iter().zip(&tensor.shape().strides()).zip(tensor.shape().iter()) {
            let stride = if size == 1 && sizes.get(label) != Some(&1) { 0 } else { stride };
            match view.labels.iter().position(|l| l == label) {
                Some(i) => view.strides[i] += stride,
                None => {
                    view.labels.push(*label);
                    view.strides.push(stride);
                }
            }
        }
        view
    }

    /// Returns the stride of a label; 0 for a label that the operand lacks.
    pub fn stride(&self, label: &EinsumLabel) -> usize {
        self.labels.iter().position(|l| l == label).map_or(0, |i| self.strides[i])
    }

    /// Returns true if the elements lie in the order of these labels, without gaps.
    pub fn is_in_order(&self, labels: &[EinsumLabel], sizes: &LabelSizes) -> bool {
        let shape: Vec<usize> = labels.iter().map(|l| sizes[l]).collect();
        let adjacent = row_major(&shape);
        shape.iter().product::<usize>() == self.tensor.num_elements()
            && labels.iter().zip(&shape).zip(&adjacent).all(|((l, &size), &stride)| size == 1 || self.stride(l) as isize == stride)
    }
}
