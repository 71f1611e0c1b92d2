//! Objects that live across steps, by container and name.

use flowmill_tensor::sync::{Mutex, MutexGuard};
use flowmill_tensor::{DType, PartialShape, Resource, ResourceHandle, Result, Tensor, bail, error};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

/// The session's variables, tables, queues and the like.
#[derive(Default)]
pub struct ResourceManager {
    containers: Mutex<BTreeMap<String, BTreeMap<String, Arc<dyn Resource>>>>,
}

/// TensorFlow's name of the container that ops without one use.
const DEFAULT_CONTAINER: &str = "localhost";

/// The name of `container`, which is empty for the default one.
pub fn container_name(container: &str) -> &str {
    if container.is_empty() { DEFAULT_CONTAINER } else { container }
}

impl ResourceManager {
    /// An empty one.
    pub fn new() -> ResourceManager {
        ResourceManager::default()
    }

    /// The `T` called `name`, made by `create` where it does not exist.
    ///
    /// # Errors
    /// `InvalidArgument` where the name belongs to an object of another kind; what `create` gives.
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

    /// The `T` called `name`.
    ///
    /// # Errors
    /// `NotFound` where nothing has the name, `InvalidArgument` where the object is of another kind.
    pub fn lookup<T: Resource>(&self, container: &str, name: &str) -> Result<Arc<T>> {
        match self.containers.lock().get(container_name(container)).and_then(|c| c.get(name)) {
            Some(object) => downcast(object, container, name),
            None => bail!(NotFound, "Resource {}/{name} does not exist.", container_name(container)),
        }
    }

    /// Stores `object` under a name, and replaces the object that had the name before.
    ///
    /// # Errors
    /// `InvalidArgument` if the name belongs to an object of another kind.
    pub fn insert<T: Resource>(&self, container: &str, name: &str, object: Arc<T>) -> Result<()> {
        let mut containers = self.containers.lock();
        let resources = containers.entry(container_name(container).to_owned()).or_default();
        if let Some(other) = resources.insert(name.to_owned(), object) {
            downcast::<T>(&other, container, name)?;
        }
        Ok(())
    }

    /// Removes `name`; returns true if it was there. What is removed is dropped without a lock, because its end may use other resources.
    pub fn remove(&self, container: &str, name: &str) -> bool {
        let removed = self.containers.lock().get_mut(container_name(container)).and_then(|c| c.remove(name));
        removed.is_some()
    }

    /// Removes everything in these containers; in all of them if the list is empty. What is removed is dropped without a lock.
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

/// A mutable tensor of a declared type and static shape: what both kinds of variables are.
pub struct VariableCell {
    dtype: DType,
    shape: PartialShape,
    value: Mutex<Option<Tensor>>,
}

impl VariableCell {
    /// Without a value.
    pub fn new(dtype: DType, shape: PartialShape) -> VariableCell {
        VariableCell { dtype, shape, value: Mutex::new(None) }
    }

    /// The type of its values.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The declared static shape.
    pub fn shape(&self) -> &PartialShape {
        &self.shape
    }

    /// The value now; `None` where it was never assigned or was destroyed.
    pub fn get(&self) -> Option<Tensor> {
        self.value.lock().clone()
    }

    /// Locks the value for reading and changing. Writing through [`Tensor::as_mut_slice`] copies first where a reader still holds the value.
    pub fn lock(&self) -> MutexGuard<'_, Option<Tensor>> {
        self.value.lock()
    }
}

/// A TF-1 variable: a mutable tensor that reference edges (`Ref(T)`) carry.
///
/// On the edge travels a `resource` tensor whose handle holds this object; a consumer that does not declare a reference gets the value
/// that the variable has when the consumer starts.
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
    /// An uninitialised variable; one without elements has the value that all such tensors have, as in TensorFlow.
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
