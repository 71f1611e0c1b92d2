//! Variants, and the tensors that they are made of.

use crate::{Bytes, Result, Tensor, bail};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The value of a `variant` tensor's element: a tensor list, an optional, a dataset.
#[derive(Clone)]
pub struct Variant(Arc<dyn VariantValue>);

/// A type whose values a [`Variant`] can hold.
///
/// The object itself is in the host's memory. The tensors that it is made of may be in the memory of a device: all of them are in one memory, except
/// strings and handles, which are always in the host's. If the variant goes to another device, its tensors are copied and the object is made again.
pub trait VariantValue: Any + Send + Sync {
    /// TensorFlow's registered type name, such as `tensorflow::TensorList`.
    fn type_name(&self) -> &'static str;

    /// Returns the tensors that go with the value to the memory of another device. By default there are none, and all devices share the value.
    fn tensors(&self) -> Box<dyn Iterator<Item = &Tensor> + '_> {
        Box::new(std::iter::empty())
    }

    /// Returns the value with other tensors in place of [`VariantValue::tensors`], in the same order and with the same elements.
    ///
    /// # Errors
    /// Returns `Internal` for fewer tensors.
    fn with_tensors(&self, tensors: Vec<Tensor>) -> Result<Variant> {
        bail!(Internal, "a variant of type {} has no tensors, but is made of {}", self.type_name(), tensors.len())
    }

    /// Returns the variant that `ZerosLike` makes of this one.
    ///
    /// # Errors
    /// Returns `Unimplemented` for a type without zeros, and the errors of the arithmetic.
    fn zeros_like(&self, arithmetic: &dyn TensorArithmetic) -> Result<Variant>;

    /// Returns the sum that `AddN` makes of this one and another.
    ///
    /// # Errors
    /// Returns `Unimplemented` for a type without sums, `InvalidArgument` for values that do not fit together, and the errors of the arithmetic.
    fn add(&self, other: &Variant, arithmetic: &dyn TensorArithmetic) -> Result<Variant>;
}

/// Zeros and sums of tensors in the memory of one device.
pub trait TensorArithmetic {
    /// Returns zeros of the type and shape of a tensor that holds no variants.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a type without a zero, and `ResourceExhausted` if the memory is full.
    fn dense_zeros_like(&self, tensor: &Tensor) -> Result<Tensor>;

    /// Adds `value` to `sum`, which has the same type and shape and holds no variants.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a type without a sum, and `ResourceExhausted` if the memory is full.
    fn add_to_dense(&self, sum: &mut Tensor, value: &Tensor) -> Result<()>;
}

impl dyn TensorArithmetic + '_ {
    /// Returns zeros of the type and shape of `tensor`; each variant supplies its own zero.
    ///
    /// # Errors
    /// Returns the errors of [`TensorArithmetic::dense_zeros_like`] and [`VariantValue::zeros_like`].
    pub fn zeros_like(&self, tensor: &Tensor) -> Result<Tensor> {
        let Ok(variants) = tensor.as_variants() else { return self.dense_zeros_like(tensor) };
        let zeros = variants.iter().map(|variant| variant.value().zeros_like(self)).collect::<Result<_>>()?;
        Tensor::from_variants(tensor.shape().clone(), zeros)
    }

    /// Adds `value` to `sum`, which has the same type and shape; each variant adds in its own way.
    ///
    /// # Errors
    /// Returns the errors of [`TensorArithmetic::add_to_dense`] and [`VariantValue::add`].
    pub fn add_to(&self, sum: &mut Tensor, value: &Tensor) -> Result<()> {
        let Ok(variants) = sum.as_variants() else { return self.add_to_dense(sum, value) };
        let pairs = variants.iter().zip(value.as_variants()?);
        let sums = pairs.map(|(a, b)| a.value().add(b, self)).collect::<Result<_>>()?;
        *sum = Tensor::from_variants(sum.shape().clone(), sums)?;
        Ok(())
    }
}

impl Variant {
    /// Wraps a value.
    pub fn new<T: VariantValue>(value: T) -> Variant {
        Variant(Arc::new(value))
    }

    /// Returns the value, if it is a `T`.
    pub fn get<T: VariantValue>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// Returns the value for changing in place: only if it is a `T` that nothing else holds.
    pub fn get_mut<T: VariantValue>(&mut self) -> Option<&mut T> {
        let any: &mut dyn Any = Arc::get_mut(&mut self.0)?;
        any.downcast_mut()
    }

    /// Returns the value through its trait.
    pub fn value(&self) -> &dyn VariantValue {
        &*self.0
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<variant {}>", self.0.type_name())
    }
}

/// A variant in its wire form, which files hold: the name of its type, bytes and tensors.
#[derive(Clone, Debug)]
pub struct EncodedVariant {
    /// The registered name of the type.
    pub type_name: String,
    /// Bytes that only the type understands.
    pub metadata: Bytes,
    /// The tensors that it is made of.
    pub tensors: Vec<Tensor>,
}

impl VariantValue for EncodedVariant {
    fn type_name(&self) -> &'static str {
        "EncodedVariant"
    }

    fn tensors(&self) -> Box<dyn Iterator<Item = &Tensor> + '_> {
        Box::new(self.tensors.iter())
    }

    fn with_tensors(&self, tensors: Vec<Tensor>) -> Result<Variant> {
        let EncodedVariant { type_name, metadata, .. } = self.clone();
        Ok(Variant::new(EncodedVariant { type_name, metadata, tensors }))
    }

    fn zeros_like(&self, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(Unimplemented, "a variant of type {} has no zeros", self.type_name)
    }

    fn add(&self, _: &Variant, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(Unimplemented, "variants of type {} cannot be added", self.type_name)
    }
}
