use crate::{Bytes, DType, PartialShape, Result, Tensor, bail};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// An object that lives across steps and is reached through a handle: a variable, a table, a queue, a stack.
pub trait Resource: Any + Send + Sync {
    /// Returns a word for messages, such as `Var` or `HashTable`.
    fn type_name(&self) -> &'static str;
}

/// The value of a `resource` tensor's element: names an object and, if it exists, holds it.
#[derive(Clone)]
pub struct ResourceHandle(Arc<HandleInner>);

#[derive(Clone)]
struct HandleInner {
    device: Option<Arc<str>>,
    container: String,
    name: String,
    object: Option<Arc<dyn Resource>>,
    elements: Vec<(DType, PartialShape)>,
}

impl ResourceHandle {
    /// Returns a handle of `name` in `container` that holds `object`; `elements` gives the types and shapes of what the object contains.
    pub fn new(container: &str, name: &str, object: Option<Arc<dyn Resource>>, elements: Vec<(DType, PartialShape)>) -> ResourceHandle {
        let (container, name) = (container.to_owned(), name.to_owned());
        ResourceHandle(Arc::new(HandleInner { device: None, container, name, object, elements }))
    }

    /// Returns the handle with the full name of the device that the resource is on.
    pub fn on_device(mut self, device: Arc<str>) -> ResourceHandle {
        Arc::make_mut(&mut self.0).device = Some(device);
        self
    }

    /// Returns the full name of the device that the resource is on, if the handle names one.
    pub fn device(&self) -> Option<&Arc<str>> {
        self.0.device.as_ref()
    }

    /// The container the name belongs to; the default one is `""`… as given by the op.
    pub fn container(&self) -> &str {
        &self.0.container
    }

    /// The resource's name within its container.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Types and static shapes of what the resource holds, if the op declared them.
    pub fn elements(&self) -> &[(DType, PartialShape)] {
        &self.0.elements
    }

    /// Returns the object, if it is a `T`.
    pub fn get<T: Resource>(&self) -> Option<&T> {
        let object: &dyn Any = self.0.object.as_deref()?;
        object.downcast_ref()
    }

    /// Returns the object itself.
    pub fn object(&self) -> Option<&Arc<dyn Resource>> {
        self.0.object.as_ref()
    }
}

impl PartialEq for ResourceHandle {
    fn eq(&self, other: &ResourceHandle) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        std::ptr::eq(a, b) || (&a.device, &a.container, &a.name) == (&b.device, &b.container, &b.name)
    }
}

impl fmt::Debug for ResourceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.0.object.as_ref().map_or("none", |o| o.type_name());
        write!(f, "<resource {}/{}: {kind}>", self.0.container, self.0.name)
    }
}

/// The value of a `variant` tensor's element: a tensor list, an optional, a dataset.
#[derive(Clone)]
pub struct Variant(Arc<dyn VariantValue>);

/// A type whose values a [`Variant`] can hold.
pub trait VariantValue: Any + Send + Sync {
    /// TensorFlow's registered type name, such as `tensorflow::TensorList`.
    fn type_name(&self) -> &'static str;
    /// Returns the variant that `ZerosLike` makes of this one.
    fn zeros_like(&self) -> Result<Variant>;
    /// Returns the sum that `AddN` makes of this one and another.
    fn add(&self, other: &Variant) -> Result<Variant>;
    /// Returns the value with its tensors in memory of their own, as [`crate::Tensor::into_owned`] makes them; `None` if they all are.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    fn owned(&self) -> Result<Option<Variant>>;
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

    fn zeros_like(&self) -> Result<Variant> {
        bail!(Unimplemented, "a variant of type {} has no zeros", self.type_name)
    }

    fn add(&self, _: &Variant) -> Result<Variant> {
        bail!(Unimplemented, "variants of type {} cannot be added", self.type_name)
    }

    fn owned(&self) -> Result<Option<Variant>> {
        let tensors = self.tensors.iter().map(|tensor| tensor.clone().into_owned()).collect::<Result<_>>()?;
        Ok(Some(Variant::new(EncodedVariant { tensors, ..self.clone() })))
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<variant {}>", self.0.type_name())
    }
}
