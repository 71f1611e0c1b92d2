use crate::{DType, PartialShape};
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
