//! Elements, datasets, the signatures of their elements, and iterators.

use flowmill_graph::Attrs;
use flowmill_tensor::{DType, PartialShape, Result, Tensor, TensorArithmetic, Variant, VariantValue, bail, check_memory};
use std::sync::Arc;

use super::context::IteratorContext;

/// The components of one element.
pub(super) type Element = Vec<Tensor>;

/// The bytes that a small element takes, including its tensors' headers.
const SMALL_ELEMENT: usize = 256;

/// Checks that there is memory for twice `held` elements if `held` is a power of two. Code that stores elements calls it before it adds one to the
/// `held` ones that it has. Small tensors are not counted one by one, so an endless dataset of scalars would otherwise fill the memory.
///
/// # Errors
/// Returns `ResourceExhausted` if there is not enough memory.
pub(super) fn check_room(held: usize) -> Result<()> {
    if held.is_power_of_two() { check_memory::<[u8; SMALL_ELEMENT]>(held) } else { Ok(()) }
}

/// The number of elements of a dataset that never ends.
pub(super) const INFINITE: i64 = -1;
/// The number of elements of a dataset that is not known without running it.
pub(super) const UNKNOWN: i64 = -2;

/// The element types and static shapes of a dataset's components.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Signature {
    pub(super) types: Vec<DType>,
    pub(super) shapes: Vec<PartialShape>,
}

impl Signature {
    /// Reads the attributes `output_types` and `output_shapes`. `None` if the op has no such attributes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the two lists differ in length.
    pub(super) fn of_attrs(attrs: &Attrs) -> Result<Option<Signature>> {
        let Some(types) = ["output_types", "Toutput_types"].into_iter().find(|name| attrs.contains(name)) else { return Ok(None) };
        if !attrs.contains("output_shapes") {
            return Ok(None);
        }
        let (types, shapes): (Vec<DType>, Vec<PartialShape>) = (attrs.list(types)?, attrs.list("output_shapes")?);
        if types.len() != shapes.len() {
            bail!(
                InvalidArgument,
                "output_types and output_shapes must be same length, got:\noutput_types: {}\noutput_shapes: {}",
                types.len(),
                shapes.len()
            );
        }
        Ok(Some(Signature { types, shapes }))
    }

    /// Returns the signature of elements that have exactly the types and shapes of `element`.
    pub(super) fn of_element(element: &[Tensor]) -> Signature {
        Signature { types: element.iter().map(Tensor::dtype).collect(), shapes: element.iter().map(|t| t.shape().into()).collect() }
    }

    /// Checks that a dataset of signature `received` can be used in place of one with this signature.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if it cannot.
    pub(super) fn check(&self, received: &Signature) -> Result<()> {
        self.check_types(received.types.len(), received.types.iter().copied())?;
        if self.shapes.len() != received.shapes.len() {
            return wrong_count(self.shapes.len(), "shapes", received.shapes.len());
        }
        for (i, (expected, shape)) in self.shapes.iter().zip(&received.shapes).enumerate() {
            if expected.merge(shape).is_err() {
                bail!(InvalidArgument, "Incompatible shapes at component {i}: expected {expected} but got {shape}.");
            }
        }
        Ok(())
    }

    /// Checks that an element has this signature.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if its number of components, its types or its shapes differ.
    pub(super) fn check_element(&self, element: &[Tensor]) -> Result<()> {
        self.check_types(element.len(), element.iter().map(Tensor::dtype))?;
        for (i, (expected, component)) in self.shapes.iter().zip(element).enumerate() {
            if !expected.is_compatible_with(component.shape()) {
                bail!(InvalidArgument, "Incompatible shapes at component {i}: expected {expected} but got {}.", component.shape());
            }
        }
        Ok(())
    }

    fn check_types(&self, count: usize, received: impl Iterator<Item = DType>) -> Result<()> {
        if self.types.len() != count {
            return wrong_count(self.types.len(), "types", count);
        }
        for (i, (expected, received)) in self.types.iter().zip(received).enumerate() {
            if *expected != received {
                let (expected, received) = (expected.cpp_name(), received.cpp_name());
                bail!(InvalidArgument, "Data type mismatch at component {i}: expected {expected} but got {received}.");
            }
        }
        Ok(())
    }
}

fn wrong_count<T>(expected: usize, what: &str, received: usize) -> Result<T> {
    bail!(InvalidArgument, "Number of components does not match: expected {expected} {what} but got {received}.")
}

/// A function that makes an iterator of a dataset.
type MakeElements = dyn Fn(&Arc<IteratorContext>) -> Result<Elements> + Send + Sync;

/// A sequence of elements that can be iterated over any number of times. It is immutable.
pub(super) struct Dataset {
    pub(super) signature: Signature,
    /// The number of elements, [`INFINITE`] or [`UNKNOWN`].
    pub(super) cardinality: i64,
    /// The name of the dataset's op, shortened, such as `BatchV2`, which `AssertNextDataset` compares.
    pub(super) kind: String,
    /// The input dataset that this one transforms, if it has exactly one.
    pub(super) input: Option<DatasetRef>,
    make: Box<MakeElements>,
}

/// A dataset that its consumers share.
pub(super) type DatasetRef = Arc<Dataset>;

impl Dataset {
    /// Returns a dataset whose iterators `make` returns.
    pub(super) fn new(
        signature: Signature,
        cardinality: i64,
        make: impl Fn(&Arc<IteratorContext>) -> Result<Elements> + Send + Sync + 'static,
    ) -> Dataset {
        Dataset { signature, cardinality, kind: String::new(), input: None, make: Box::new(make) }
    }

    /// Like [`Dataset::new`], for a dataset that transforms the elements of `input`.
    pub(super) fn over(
        input: &DatasetRef,
        signature: Signature,
        cardinality: i64,
        make: impl Fn(Elements) -> Result<Elements> + Send + Sync + 'static,
    ) -> Dataset {
        let source = input.clone();
        Dataset::new(signature, cardinality, move |ctx| make(source.elements(ctx)?)).with_input(input.clone())
    }

    /// Returns the dataset with `input` recorded as the dataset that it transforms.
    pub(super) fn with_input(self, input: DatasetRef) -> Dataset {
        Dataset { input: Some(input), ..self }
    }

    /// Returns a new iterator.
    ///
    /// # Errors
    /// Returns the error that the dataset's kind documents.
    pub(super) fn elements(&self, ctx: &Arc<IteratorContext>) -> Result<Elements> {
        ctx.cancel.check()?;
        (self.make)(ctx)
    }
}

/// An iterator over elements. At the end it drops the iterators that it is made of.
pub(super) struct Elements(Option<Box<dyn FnMut() -> Result<Option<Element>> + Send>>);

impl Elements {
    /// Returns an iterator that calls `next` until that returns `None`. After an error, `next` is called again.
    pub(super) fn new(next: impl FnMut() -> Result<Option<Element>> + Send + 'static) -> Elements {
        Elements(Some(Box::new(next)))
    }

    /// Returns the next element, or `None` at the end.
    ///
    /// # Errors
    /// Returns the error that takes the element's place. The iterator can still be used.
    pub(super) fn next(&mut self) -> Result<Option<Element>> {
        let Some(next) = &mut self.0 else { return Ok(None) };
        let element = next()?;
        if element.is_none() {
            self.0 = None;
        }
        Ok(element)
    }

    /// Returns true if [`Elements::next`] has returned `None`.
    pub(super) fn has_ended(&self) -> bool {
        self.0.is_none()
    }

    /// Skips `count` elements. Returns how many were skipped.
    ///
    /// # Errors
    /// Returns an error of [`Elements::next`].
    pub(super) fn skip(&mut self, count: i64) -> Result<i64> {
        for skipped in 0..count {
            if self.next()?.is_none() {
                return Ok(skipped);
            }
        }
        Ok(count)
    }
}

/// A dataset in a `variant` tensor.
struct DatasetVariant(DatasetRef);

impl VariantValue for DatasetVariant {
    fn type_name(&self) -> &'static str {
        "tensorflow::DatasetVariantWrapper"
    }

    fn zeros_like(&self, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(Unimplemented, "a dataset has no zeros")
    }

    fn add(&self, _: &Variant, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(Unimplemented, "datasets cannot be added")
    }
}

/// Wraps a dataset.
pub(super) fn to_tensor(dataset: DatasetRef) -> Tensor {
    Tensor::variant(Variant::new(DatasetVariant(dataset)))
}

/// Returns the dataset in a scalar of type `variant`.
///
/// # Errors
/// Returns `InvalidArgument` if the tensor holds none.
pub(super) fn of_tensor(tensor: &Tensor) -> Result<DatasetRef> {
    match tensor.as_variants() {
        Ok([value]) if tensor.rank() == 0 => match value.get::<DatasetVariant>() {
            Some(DatasetVariant(dataset)) => Ok(dataset.clone()),
            None => bail!(InvalidArgument, "Tensor must be a Dataset object."),
        },
        _ => bail!(InvalidArgument, "Dataset tensor must be a scalar of dtype DT_VARIANT."),
    }
}
