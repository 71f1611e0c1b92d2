//! Objects that live across steps, by container and name.

use flowmill_graph::DeviceName;
use flowmill_tensor::sync::{Mutex, MutexGuard};
use flowmill_tensor::{DType, Error, PartialShape, Resource, ResourceHandle, Result, Tensor, bail, error};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// A session's variables, tables, queues and the like on one device.
#[derive(Default)]
pub struct ResourceManager {
    /// The device's full name, which handles have.
    device: Option<Arc<str>>,
    containers: Mutex<BTreeMap<String, BTreeMap<String, Arc<dyn Resource>>>>,
}

/// The container of ops that name none, as TensorFlow calls it.
const DEFAULT_CONTAINER: &str = "localhost";

/// Returns the name of a container; `""` means the default one.
pub fn container_name(container: &str) -> &str {
    if container.is_empty() { DEFAULT_CONTAINER } else { container }
}

impl ResourceManager {
    /// Makes a manager without resources, on no particular device.
    pub fn new() -> ResourceManager {
        ResourceManager::default()
    }

    /// Makes a manager without resources, of the device with this full name.
    pub fn on(device: &DeviceName) -> ResourceManager {
        ResourceManager { device: Some(device.to_string().into()), ..ResourceManager::default() }
    }

    /// Returns the full name of the device.
    pub fn device(&self) -> Option<&Arc<str>> {
        self.device.as_ref()
    }

    /// Returns a tensor with a handle of `name` in `container`, which names the device and holds `object`. `elements` are the types and shapes of
    /// what the object contains.
    pub fn handle(&self, container: &str, name: &str, object: Option<Arc<dyn Resource>>, elements: Vec<(DType, PartialShape)>) -> Tensor {
        let handle = ResourceHandle::new(container, name, object, elements);
        Tensor::resource(match &self.device {
            Some(device) => handle.on_device(device.clone()),
            None => handle,
        })
    }

    /// Checks that a handle's resource is on the device.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if it is on another device.
    #[inline]
    pub fn check_device(&self, handle: &ResourceHandle) -> Result<()> {
        match (handle.device(), &self.device) {
            (Some(theirs), Some(ours)) if !Arc::ptr_eq(theirs, ours) && theirs != ours => Err(on_other_device(handle.name(), theirs, ours)),
            _ => Ok(()),
        }
    }

    /// Returns the `T` called `name`. If it does not exist, `create` makes it.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the name belongs to an object of another kind, and the error of `create`.
    pub fn lookup_or_create<T: Resource>(&self, container: &str, name: &str, create: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let mut containers = self.containers.lock();
        let resources = containers.entry(container_name(container).to_owned()).or_default();
        if let Some(object) = resources.get(name) {
            return downcast(object, container, name);
        }
        let object = Arc::new(create()?);
        resources.insert(name.to_owned(), object.clone());
        Ok(object)
    }

    /// Returns the `T` called `name`.
    ///
    /// # Errors
    /// Returns `NotFound` if no object has the name, and `InvalidArgument` if the object is of another kind.
    pub fn lookup<T: Resource>(&self, container: &str, name: &str) -> Result<Arc<T>> {
        match self.containers.lock().get(container_name(container)).and_then(|c| c.get(name)) {
            Some(object) => downcast(object, container, name),
            None => bail!(NotFound, "Resource {}/{name} does not exist.", container_name(container)),
        }
    }

    /// Stores `object` under a name, and replaces the object that had the name before.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the name belonged to an object of another kind.
    pub fn insert<T: Resource>(&self, container: &str, name: &str, object: Arc<T>) -> Result<()> {
        let mut containers = self.containers.lock();
        let resources = containers.entry(container_name(container).to_owned()).or_default();
        if let Some(other) = resources.insert(name.to_owned(), object) {
            downcast::<T>(&other, container, name)?;
        }
        Ok(())
    }

    /// Removes `name`, and returns true if it existed. The object is dropped after the lock is released, because its destructor may use other
    /// resources.
    pub fn remove(&self, container: &str, name: &str) -> bool {
        let removed = self.containers.lock().get_mut(container_name(container)).and_then(|c| c.remove(name));
        removed.is_some()
    }

    /// Removes all objects in these containers, or in all containers if the list is empty. The objects are dropped after the lock is released.
    pub fn clear(&self, containers: &[String]) {
        let mut all = self.containers.lock();
        let removed: Vec<_> = match containers {
            [] => std::mem::take(&mut *all).into_values().collect(),
            some => some.iter().filter_map(|c| all.remove(container_name(c))).collect(),
        };
        drop(all);
        drop(removed);
    }
}

#[cold]
fn on_other_device(name: &str, theirs: &str, ours: &str) -> Error {
    error!(InvalidArgument, "Trying to access resource {name} located in device {theirs} from device {ours}")
}

fn downcast<T: Resource>(object: &Arc<dyn Resource>, container: &str, name: &str) -> Result<Arc<T>> {
    let any: Arc<dyn std::any::Any + Send + Sync> = object.clone();
    any.downcast::<T>().map_err(|_| {
        error!(
            InvalidArgument,
            "Trying to access resource {name} in container {} located in another type: it is a {}",
            container_name(container),
            object.type_name()
        )
    })
}

/// A mutable tensor of a declared type and static shape, the storage of both kinds of variables.
pub struct VariableCell {
    dtype: DType,
    shape: PartialShape,
    value: Mutex<Option<Tensor>>,
}

impl VariableCell {
    /// Makes a variable without a value.
    pub fn new(dtype: DType, shape: PartialShape) -> VariableCell {
        VariableCell { dtype, shape, value: Mutex::new(None) }
    }

    /// Returns the type of its values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the declared static shape.
    pub fn shape(&self) -> &PartialShape {
        &self.shape
    }

    /// Returns the current value, or `None` if it was never assigned or was destroyed.
    pub fn get(&self) -> Option<Tensor> {
        self.value.lock().clone()
    }

    /// Locks the value for reading and changing. Writing through [`Tensor::as_mut_slice`] copies the value first if a reader still holds it.
    pub fn lock(&self) -> MutexGuard<'_, Option<Tensor>> {
        self.value.lock()
    }
}

/// A TF-1 variable: a mutable tensor that reference edges (`Ref(T)`) carry.
///
/// The edge carries a `resource` tensor whose handle holds this object. A consumer that does not declare a reference receives the variable's value at
/// the time when the consumer starts.
pub struct RefVariable(VariableCell);

impl Resource for RefVariable {
    fn type_name(&self) -> &'static str {
        "RefVariable"
    }
}

impl Deref for RefVariable {
    type Target = VariableCell;

    fn deref(&self) -> &VariableCell {
        &self.0
    }
}

impl RefVariable {
    /// Makes an uninitialised variable. A variable without elements counts as initialised, as in TensorFlow.
    pub fn new(dtype: DType, shape: PartialShape) -> RefVariable {
        let empty = shape.to_shape().filter(|s| s.num_elements() == 0).and_then(|s| Tensor::zeros(dtype, s).ok());
        let cell = VariableCell::new(dtype, shape);
        *cell.lock() = empty;
        RefVariable(cell)
    }

    /// Returns the tensor that carries this variable along a reference edge.
    pub fn to_edge(self: &Arc<Self>, name: &str) -> Tensor {
        Tensor::resource(ResourceHandle::new("", name, Some(self.clone()), vec![(self.dtype(), self.shape().clone())]))
    }
}
