//! The arithmetic of ops: how many operations a node computes, as a function of the shapes of its tensors.

/// One tensor of a node, among its data inputs or its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A data input.
    Input(u8),
    /// An output.
    Output(u8),
}

/// The number of operations of a node, by family of ops. A multiplication and an addition are two operations.
///
/// Static cost estimates read it. The numbers are for real elements; estimates do not depend on the element type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// Nothing is known besides the other traits of the op: see `flowmill-cost`.
    #[default]
    Unknown,
    /// The outputs share the memory of an input, or of a variable. No element is read.
    Nothing,
    /// This many operations per element of the largest tensor of the node.
    PerElement(u16),
    /// A matrix product: two operations per element of output 0 and index of the contracted dimension of input 0. That dimension is the last one; the
    /// last but one if the boolean attribute of this name is true.
    Product(&'static str),
    /// A product of tensors in the notation of the attribute `equation`: two operations per combination of all indices.
    Einsum,
    /// Each row of a tensor, along its last dimension, is multiplied with a matrix: two operations per row and element of the matrix.
    Rows {
        /// The tensor with the rows.
        rows: Operand,
        /// The matrix.
        matrix: Operand,
    },
    /// A convolution or one of its gradients: two operations per element of the convolved image and element of the filter for one output channel, the
    /// last dimension of the filter.
    Convolution {
        /// The output of the convolution, or the gradient of that output.
        image: Operand,
        /// The filter, or the gradient of the filter.
        filter: Operand,
    },
    /// Like [`Work::Convolution`], of each channel alone: the output channels are the last two dimensions of the filter.
    DepthwiseConvolution {
        /// The output of the convolution, or the gradient of that output.
        image: Operand,
        /// The filter, or the gradient of the filter.
        filter: Operand,
    },
    /// A depthwise convolution with the filter in input 1 between convolutions of one position, whose filters are the first of `num_expansion` inputs from
    /// input 2 on, and the first of the last `num_projection` inputs.
    SeparableConvolution,
    /// Products of the queries in input 0 with keys, and of their scores with values: two operations per key and element of the queries and of the result.
    /// Input 2 has a value for each key; its dimension of keys is the last one but one, or but two if element 2 of the attribute `interleaved` is true.
    Attention,
    /// One operation per element of the smallest image and element of a window, whose size is the attribute `ksize`.
    Window,
    /// This many times `rows · columns · min(rows, columns)` of each matrix of input 0, which are its last two dimensions.
    Cubic(u8),
    /// A Fourier transform over this many inner dimensions; 0 means all: `5 · n · log2(n)` per transform of `n` elements.
    Fourier(u8),
    /// Sorting: `log2(n)` operations per element, for vectors of `n` elements along the last dimension of input 0.
    Sort,
}
