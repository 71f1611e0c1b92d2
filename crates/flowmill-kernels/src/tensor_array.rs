//! The resource behind a TensorArray's handle.

use flowmill_runtime::{KernelContext, ResourceManager};
use flowmill_tensor::sync::{Mutex, MutexGuard};
use flowmill_tensor::{DType, Error, PartialShape, Resource, Result, Shape, Tensor, bail, check_memory, error};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An array of tensors that the kernels of a step write element by element, each element at most once, and read.
///
/// It lives as long as handles to it exist, at most to the end of the step. It owns its gradient arrays, one for each source name.
pub struct TensorArray {
    name: String,
    dtype: DType,
    options: Options,
    state: Mutex<State>,
}

/// The options that a TensorArray is made with.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// If true, a write past the end makes the array larger.
    pub dynamic_size: bool,
    /// If true, a read removes the element, so that its memory can be reused.
    pub clear_after_read: bool,
    /// If true, all elements have the shape of the first one written.
    pub identical_element_shapes: bool,
    /// If true, a write to an element that was written before adds to it: the array holds gradients.
    pub is_gradient: bool,
}

/// The elements of a locked array.
pub struct Elements<'a> {
    array: &'a TensorArray,
    state: MutexGuard<'a, State>,
}

struct State {
    element_shape: PartialShape,
    dynamic_size: bool,
    size: usize,
    /// The slots that were accessed. The list may be shorter than `size`: later elements were never accessed.
    slots: Vec<Slot>,
    /// The number of elements that the array had when a value was split over all of them. A gradient array has the number of its source array.
    num_split: Option<usize>,
    closed: bool,
    gradients: BTreeMap<String, Arc<TensorArray>>,
}

#[derive(Clone, Default)]
struct Slot {
    /// `None` if nothing was written, if a read removed the element, and if a gradient is still zero.
    value: Option<Tensor>,
    /// The shape of the element that was written, if `value` no longer has it.
    shape: Option<Shape>,
    written: bool,
    read: bool,
    cleared: bool,
}

impl Resource for TensorArray {
    fn type_name(&self) -> &'static str {
        "TensorArray"
    }
}

/// A counter that makes the names of arrays unique within the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The container named in the handles of gradient arrays.
const GRADIENTS: &str = "_tensor_array_grads";

impl TensorArray {
    /// Returns an array of `size` elements, none of them written. Its name is `name` followed by a number.
    pub fn new(name: &str, dtype: DType, size: usize, element_shape: PartialShape, options: Options) -> TensorArray {
        let name = format!("{name}_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        TensorArray::with_slots(name, dtype, size, Vec::new(), element_shape, options)
    }

    fn with_slots(name: String, dtype: DType, size: usize, slots: Vec<Slot>, element_shape: PartialShape, options: Options) -> TensorArray {
        let state = State {
            element_shape,
            dynamic_size: options.dynamic_size,
            size,
            slots,
            num_split: None,
            closed: false,
            gradients: BTreeMap::new(),
        };
        TensorArray { name, dtype, options, state: Mutex::new(state) }
    }

    /// Returns the handle that is passed between nodes; `resources` are those of the device that the array is on.
    pub fn to_handle(self: &Arc<Self>, resources: &ResourceManager) -> Tensor {
        let container = if self.options.is_gradient { GRADIENTS } else { "_tensor_arrays" };
        let elements = vec![(self.dtype, PartialShape::unknown())];
        resources.handle(container, &self.name, Some(self.clone()), elements)
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Locks the elements.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the array was closed.
    pub fn lock(&self) -> Result<Elements<'_>> {
        let state = self.state.lock();
        if state.closed {
            bail!(InvalidArgument, "TensorArray {} has already been closed.", self.name);
        }
        Ok(Elements { array: self, state })
    }

    /// Drops all elements. Every later use except closing again is an error.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let dropped = (std::mem::take(&mut state.slots), std::mem::take(&mut state.gradients));
        drop(state);
        drop(dropped);
    }

    /// Returns the gradient array for `source`, which is made at the first call. It has as many elements as this array, which can no longer grow.
    /// An element that was written here and not there reads as zeros, with the sizes of `prepend` before its shape.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for the gradient of a gradient, and if the array was closed.
    pub fn gradient(&self, source: &str, prepend: &Shape) -> Result<Arc<TensorArray>> {
        if self.options.is_gradient {
            bail!(
                InvalidArgument,
                "Unable to create a gradients TensorArray for {}.  Perhaps you used the multiple_writes_aggregate flag on a previous write?  \
                 Gradient calculation is impossible when multiple writes are performed to the same index.",
                self.name
            );
        }
        let mut elements = self.lock()?;
        let state = &mut *elements.state;
        if let Some(gradient) = state.gradients.get(source) {
            return Ok(gradient.clone());
        }
        state.dynamic_size = false;
        let zeros = |slot: &Slot| {
            let shape = slot
                .shape
                .as_ref()
                .or(slot.value.as_ref().map(Tensor::shape))
                .map(|shape| prepend.iter().chain(shape.iter()).copied().collect());
            Slot { shape, written: slot.written, ..Slot::default() }
        };
        check_memory::<Slot>(state.slots.len())?;
        let slots = state.slots.iter().map(zeros).collect();
        let element_shape = PartialShape::from(prepend).concat(&state.element_shape);
        let options = Options { dynamic_size: false, clear_after_read: true, is_gradient: true, ..self.options };
        let gradient = TensorArray::with_slots(format!("{}@{source}", self.name), self.dtype, state.size, slots, element_shape, options);
        gradient.state.lock().num_split = state.num_split;
        let gradient = Arc::new(gradient);
        state.gradients.insert(source.to_owned(), gradient.clone());
        Ok(gradient)
    }
}

impl Elements<'_> {
    /// Returns the number of elements.
    pub fn size(&self) -> usize {
        self.state.size
    }

    /// Returns the number of elements to concatenate. The gradient of a split concatenates the elements that the split wrote, even if the array grew
    /// afterwards.
    pub fn num_joined(&self) -> usize {
        self.state.num_split.filter(|_| self.array.options.is_gradient).unwrap_or(self.state.size)
    }

    /// Records that a value was split over all elements that the array has.
    pub fn note_split(&mut self) {
        if !self.array.options.is_gradient {
            self.state.num_split = Some(self.state.size);
        }
    }

    /// Returns true if writing past the end makes the array larger.
    pub fn is_dynamic(&self) -> bool {
        self.state.dynamic_size
    }

    /// Returns the part of every element's shape that is known.
    pub fn element_shape(&self) -> &PartialShape {
        &self.state.element_shape
    }

    /// Merges `shape` into the known part of every element's shape.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the two are incompatible.
    pub fn merge_element_shape(&mut self, shape: &PartialShape) -> Result<()> {
        self.state.element_shape = self.state.element_shape.merge(shape)?;
        Ok(())
    }

    /// Writes element `index`; adds to it by `add_to` in a gradient array that has it already.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for an index out of range, an element that was written or read before, and a type or shape that is not the array's; any
    /// error of `add_to`.
    pub fn write(&mut self, index: i64, value: Tensor, add_to: impl FnOnce(&mut Tensor, &Tensor) -> Result<()>) -> Result<()> {
        let array = self.array;
        let (name, state) = (&array.name, &mut *self.state);
        let Some(i) = usize::try_from(index).ok().filter(|&i| state.dynamic_size || i < state.size) else {
            bail!(
                InvalidArgument,
                "TensorArray {name}: Tried to write to index {index} but array is not resizeable and size is: {}",
                state.size
            );
        };
        if value.dtype() != array.dtype {
            bail!(
                InvalidArgument,
                "TensorArray dtype is {} but Op is trying to write dtype {}.",
                array.dtype.cpp_name(),
                value.dtype().cpp_name()
            );
        }
        let cannot_write = |why: std::fmt::Arguments<'_>| {
            error!(InvalidArgument, "TensorArray {name}: Could not write to TensorArray index {i} because {why}")
        };
        if !state.element_shape.is_compatible_with(value.shape()) {
            return Err(cannot_write(format_args!(
                "the value shape is {} which is incompatible with the TensorArray's inferred element shape: {} (consider setting infer_shape=False).",
                value.shape(),
                state.element_shape
            )));
        }
        if state.slots.get(i).is_some_and(|slot| slot.read) {
            return Err(cannot_write(format_args!("it has already been read.")));
        }
        if !array.options.is_gradient && state.slots.get(i).is_some_and(|slot| slot.written) {
            return Err(cannot_write(format_args!("it has already been written to.")));
        }
        if array.options.identical_element_shapes && !state.element_shape.is_fully_defined() {
            state.element_shape = value.shape().into();
        }
        let slot = slot_mut(&mut state.slots, i)?;
        state.size = state.size.max(i + 1);
        if !slot.written {
            slot.written = true;
            slot.value = Some(value);
            return Ok(());
        }
        let existing = slot.shape.as_ref().or(slot.value.as_ref().map(Tensor::shape));
        if let Some(shape) = existing.filter(|&shape| shape != value.shape()) {
            bail!(
                InvalidArgument,
                "TensorArray {name}: Could not aggregate to TensorArray index {i} because the existing shape is {shape} but the new input shape is {}.",
                value.shape()
            );
        }
        match &mut slot.value {
            Some(sum) => add_to(sum, &value),
            empty => {
                *empty = Some(value);
                Ok(())
            }
        }
    }

    /// Reads element `index`, and removes it if the array's option is to clear after a read. An element that was never written reads as zeros, made by
    /// `zeros`, if its shape is known.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for an index out of range, an element that a read took out, and one that was not written and whose shape is not known;
    /// any error of `zeros`.
    pub fn read(&mut self, index: i64, zeros: impl FnOnce(Shape) -> Result<Tensor>) -> Result<Tensor> {
        let array = self.array;
        let (name, state) = (&array.name, &mut *self.state);
        let Some(i) = usize::try_from(index).ok().filter(|&i| i < state.size) else {
            bail!(InvalidArgument, "Tried to read from index {index} but array size is: {}", state.size);
        };
        let slot = slot_mut(&mut state.slots, i)?;
        if slot.cleared {
            bail!(
                InvalidArgument,
                "TensorArray {name}: Could not read index {i} twice because it was cleared after a previous read (perhaps try setting clear_after_read = false?)."
            );
        }
        let value = match (slot.value.take(), array.options.clear_after_read) {
            (Some(value), true) => {
                slot.shape = Some(value.shape().clone());
                value
            }
            (Some(value), false) => {
                slot.value = Some(value.clone());
                value
            }
            (None, _) => {
                let Some(shape) = slot.shape.clone().or_else(|| state.element_shape.to_shape()) else {
                    bail!(
                        InvalidArgument,
                        "TensorArray {name}: Could not read from TensorArray index {i}.  Furthermore, the element shape is not fully defined: {}.  \
                         It is possible you are working with a resizeable TensorArray and stop_gradients is not allowing the gradients to be written.  \
                         If you set the full element_shape property on the forward TensorArray, the proper all-zeros tensor will be returned instead of incurring this error.",
                        state.element_shape
                    );
                };
                if array.dtype.size().is_none() {
                    bail!(InvalidArgument, "tensor_array::TensorSetZero type not supported: {}", array.dtype.cpp_name());
                }
                zeros(shape)?
            }
        };
        slot.read = true;
        slot.cleared = array.options.clear_after_read;
        Ok(value)
    }
}

/// Returns the slot of element `i`, and extends the list of slots if necessary.
fn slot_mut(slots: &mut Vec<Slot>, i: usize) -> Result<&mut Slot> {
    if i >= slots.len() {
        let more = i + 1 - slots.len();
        check_memory::<Slot>(i + 1)?;
        if slots.try_reserve(more).is_err() {
            bail!(ResourceExhausted, "OOM when allocating a TensorArray with {} elements", i + 1);
        }
        slots.resize(i + 1, Slot::default());
    }
    Ok(&mut slots[i])
}

/// Returns the array in input 0.
///
/// # Errors
/// Returns `InvalidArgument` or `NotFound` if the input is no array.
pub fn array<'a>(ctx: &'a KernelContext<'_>) -> Result<&'a TensorArray> {
    let handle = match ctx.handle(0) {
        Ok(handle) => handle,
        Err(error) => return Err(ctx.input(0).ok().filter(|input| input.dtype() != DType::Resource).map_or(error, no_array)),
    };
    match handle.get() {
        Some(array) => Ok(array),
        None => bail!(InvalidArgument, "Unexpected non-TensorArray resource passed: {handle:?}"),
    }
}

/// Returns the error for a handle of the first two versions of the ops that names no array. Such a handle has the names of a container and of an
/// array in it.
fn no_array(handle: &Tensor) -> Error {
    match handle.as_strings() {
        Ok([container, name]) => {
            let (container, name) = (String::from_utf8_lossy(container), String::from_utf8_lossy(name));
            error!(NotFound, "Container {container} does not exist. (Could not find resource: {container}/{name})")
        }
        _ => error!(InvalidArgument, "Tensor array handle must be 2-element vector, but had shape: {}", handle.shape()),
    }
}

/// Returns the array in input 0, whose elements must have type `dtype`.
///
/// # Errors
/// Returns `InvalidArgument` if the input is no array or has elements of another type.
pub fn array_of<'a>(ctx: &'a KernelContext<'_>, dtype: DType) -> Result<&'a TensorArray> {
    let array = array(ctx)?;
    if array.dtype() != dtype {
        bail!(InvalidArgument, "TensorArray dtype is {} but Op requested dtype {}.", array.dtype().cpp_name(), dtype.cpp_name());
    }
    Ok(array)
}

/// Returns the value of a scalar `int32`; `what` is its name in the error.
///
/// # Errors
/// Returns `InvalidArgument` for anything else.
pub fn scalar_i32(tensor: &Tensor, what: &str) -> Result<i32> {
    match tensor.scalar_bits(DType::I32) {
        Some(bits) => Ok(bits as u32 as i32),
        None => bail!(InvalidArgument, "TensorArray {what} must be scalar, but had shape: {}", tensor.shape()),
    }
}
