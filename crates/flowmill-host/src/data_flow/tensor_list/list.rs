//! The value of a tensor list's variant.

use flowmill_kernels::storage::Storage;
use flowmill_runtime::KernelContext;
use flowmill_tensor::{DType, PartialShape, Result, Shape, Tensor, TensorArithmetic, Variant, VariantValue, bail};

/// A list of tensors of one type, with value semantics: a change does not affect other holders of the old list, and is made in place if there are none.
#[derive(Clone)]
pub(crate) struct TensorList {
    /// The type of the elements.
    pub(super) dtype: DType,
    /// The known part of every element's shape.
    pub(super) element_shape: PartialShape,
    /// The most elements that the list may have.
    pub(super) max_num_elements: Option<usize>,
    /// The elements; `None` for one that was reserved and never set. Such an element reads as zeros once its shape is known.
    pub(super) elements: Vec<Option<Tensor>>,
}

impl VariantValue for TensorList {
    fn type_name(&self) -> &'static str {
        "tensorflow::TensorList"
    }

    fn tensors(&self) -> Box<dyn Iterator<Item = &Tensor> + '_> {
        Box::new(self.elements.iter().flatten())
    }

    fn with_tensors(&self, tensors: Vec<Tensor>) -> Result<Variant> {
        let mut tensors = tensors.into_iter();
        let elements: Vec<_> = self.elements.iter().map(|element| element.as_ref().and_then(|_| tensors.next())).collect();
        if elements.iter().flatten().count() != self.elements.iter().flatten().count() || tensors.next().is_some() {
            bail!(Internal, "a tensor list is made of another number of tensors");
        }
        Ok(Variant::new(TensorList { elements, ..self.without_elements() }))
    }

    fn zeros_like(&self, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let elements = self.elements.iter().map(|e| e.as_ref().map(|e| arithmetic.zeros_like(e)).transpose()).collect::<Result<_>>()?;
        Ok(Variant::new(TensorList { elements, ..self.without_elements() }))
    }

    fn add(&self, other: &Variant, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let Some(other) = other.get::<TensorList>() else {
            bail!(Internal, "Trying to add a tensor list and a {}", other.value().type_name());
        };
        if self.dtype != other.dtype {
            bail!(
                InvalidArgument,
                "Trying to add two lists of tensors of different dtypes. One is {} and the other is {}",
                self.dtype.cpp_name(),
                other.dtype.cpp_name()
            );
        }
        if self.elements.len() != other.elements.len() {
            bail!(
                InvalidArgument,
                "Trying to add two lists of tensors with different lengths. One is {} and the other is {}",
                self.elements.len(),
                other.elements.len()
            );
        }
        let Ok(element_shape) = self.element_shape.merge(&other.element_shape) else {
            bail!(
                InvalidArgument,
                "Trying to add two lists of tensors with incompatible element shapes. One is {} and the other is {}",
                self.element_shape,
                other.element_shape
            );
        };
        let pairs = self.elements.iter().zip(&other.elements);
        let elements = pairs.map(|(a, b)| add_elements(a.as_ref(), b.as_ref(), arithmetic)).collect::<Result<_>>()?;
        Ok(Variant::new(TensorList { element_shape, elements, dtype: self.dtype, max_num_elements: self.max_num_elements }))
    }
}

fn add_elements(a: Option<&Tensor>, b: Option<&Tensor>, arithmetic: &dyn TensorArithmetic) -> Result<Option<Tensor>> {
    let (Some(a), Some(b)) = (a, b) else { return Ok(a.or(b).cloned()) };
    if a.shape() != b.shape() {
        bail!(
            InvalidArgument,
            "Trying to add two tensors with incompatible element shapes. One is {} and the other is {}",
            a.shape(),
            b.shape()
        );
    }
    let mut sum = a.clone();
    arithmetic.add_to(&mut sum, b)?;
    Ok(Some(sum))
}

impl TensorList {
    /// Returns an empty list with the other properties of this one.
    fn without_elements(&self) -> TensorList {
        TensorList { elements: Vec::new(), element_shape: self.element_shape.clone(), ..*self }
    }

    /// Returns a list of `len` elements that were never set.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if they exceed the memory limit.
    pub(super) fn reserved(dtype: DType, element_shape: PartialShape, len: usize) -> Result<TensorList> {
        let mut list = TensorList { dtype, element_shape, max_num_elements: None, elements: Vec::new() };
        list.resize(len)?;
        Ok(list)
    }

    /// Truncates the list, or adds elements that were never set.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the elements exceed the memory limit.
    pub(super) fn resize(&mut self, len: usize) -> Result<()> {
        let more = len.saturating_sub(self.elements.len());
        let room = flowmill_tensor::memory_limit().saturating_sub(flowmill_tensor::live_bytes()) / size_of::<Option<Tensor>>();
        if more > room || self.elements.try_reserve(more).is_err() {
            bail!(ResourceExhausted, "OOM when allocating a tensor list with {len} elements");
        }
        self.elements.resize(len, None);
        Ok(())
    }

    /// Checks that the list's elements have the type that an op expects.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the list has another type.
    pub(super) fn check_dtype(&self, dtype: DType) -> Result<()> {
        if dtype != self.dtype {
            bail!(InvalidArgument, "Invalid data types; op elements {} but list elements {}", dtype.cpp_name(), self.dtype.cpp_name());
        }
        Ok(())
    }

    /// Sets element `index`, which may be past the end if `grow`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for an index out of range, or an item of another type or shape.
    pub(super) fn set(&mut self, index: i64, item: Tensor, grow: bool) -> Result<()> {
        self.check_dtype(item.dtype())?;
        let len = self.elements.len();
        let Some(i) = usize::try_from(index).ok().filter(|&i| i < len || grow) else {
            bail!(InvalidArgument, "Trying to modify element {index} in a list with {len} elements.");
        };
        if !self.element_shape.is_compatible_with(item.shape()) {
            bail!(
                InvalidArgument,
                "Tried to set a tensor with incompatible shape at a list index. Item element shape: {} list shape: {}",
                item.shape(),
                self.element_shape
            );
        }
        if i >= len {
            self.resize(i + 1)?;
        }
        self.elements[i] = Some(item);
        Ok(())
    }

    /// Adds an element at the end.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a full list, or an item of another type or shape.
    pub(super) fn push(&mut self, item: Tensor) -> Result<()> {
        self.check_dtype(item.dtype())?;
        if !self.element_shape.is_compatible_with(item.shape()) {
            bail!(
                InvalidArgument,
                "Tried to append a tensor with incompatible shape to a list. Op element shape: {} list shape: {}",
                item.shape(),
                self.element_shape
            );
        }
        if let Some(max) = self.max_num_elements.filter(|&max| self.elements.len() >= max) {
            bail!(InvalidArgument, "Tried to push item into a full list list size: {} max_num_elements: {max}", self.elements.len());
        }
        self.elements.push(Some(item));
        Ok(())
    }

    /// Returns the known part of the shape of every element, from the list, from `shape`, and from `elements`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if they contradict each other.
    pub(super) fn merged_shape<'a>(
        &self,
        shape: &PartialShape,
        elements: impl Iterator<Item = &'a Option<Tensor>>,
    ) -> Result<PartialShape> {
        let mut merged = merge_shapes(shape, &self.element_shape)?;
        if !self.element_shape.is_fully_defined() {
            for element in elements.flatten() {
                merged = merge_shapes(&merged, &element.shape().into())?;
            }
        }
        Ok(merged)
    }

    /// Returns elements, all of shape `shape`, along a new outermost dimension.
    ///
    /// # Errors
    /// Returns `Internal` if an element has another shape; `ResourceExhausted` past the memory limit.
    pub(super) fn stack<'a>(
        &self,
        ctx: &KernelContext<'_>,
        storage: &impl Storage,
        count: usize,
        shape: &Shape,
        elements: impl Iterator<Item = &'a Option<Tensor>>,
    ) -> Result<Tensor> {
        let mut stacked = shape.clone();
        stacked.insert(0, count);
        let elements: Vec<&Option<Tensor>> = elements.collect();
        let zeros = if elements.iter().any(|e| e.is_none()) { Some(storage.zeros(ctx, shape.clone())?) } else { None };
        let blocks = elements.iter().filter_map(|element| element.as_ref().or(zeros.as_ref()));
        storage.concat(ctx, stacked, blocks)
    }
}

/// Merges two partially known shapes.
///
/// # Errors
/// Returns `InvalidArgument` if they contradict each other.
pub(super) fn merge_shapes(a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
    match a.merge(b) {
        Ok(shape) => Ok(shape),
        Err(_) if a.rank() != b.rank() => {
            let (x, y) = (a.rank().unwrap_or(0), b.rank().unwrap_or(0));
            bail!(InvalidArgument, "PartialTensorShape: Incompatible ranks during merge: {x} vs. {y}")
        }
        Err(_) => bail!(InvalidArgument, "PartialTensorShape: Incompatible shapes during merge: {a} vs. {b}"),
    }
}
