//! The object behind a TensorArray's handle.

use super::read_product::Ahead;
use crate::data_flow::arithmetic::add_to;
use flowmill_tensor::sync::{Mutex, MutexGuard};
use flowmill_tensor::{DType, PartialShape, Resource, ResourceHandle, Result, Shape, Tensor, bail, check_memory};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An array of tensors that a step writes element by element, each at most once, and reads.
///
/// It lives as long as handles of it do, at most to the end of the step. Its gradient arrays, one for each source name, belong to it.
pub(super) struct TensorArray {
    name: String,
    dtype: DType,
    options: Options,
    state: Mutex<State>,
    /// What readers computed of elements before their reads.
    ahead: Mutex<Vec<Ahead>>,
}

/// What an array is made with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// Writing past the end makes the array larger.
    pub dynamic_size: bool,
    /// A read takes the element out, so that its memory can be reused.
    pub clear_after_read: bool,
    /// All elements have the shape of the first one written.
    pub identical_element_shapes: bool,
    /// Writing an element again adds to it: a gradient array.
    pub is_gradient: bool,
}

/// The elements, locked.
pub(super) struct Elements<'a> {
    array: &'a TensorArray,
    state: MutexGuard<'a, State>,
}

struct State {
    element_shape: PartialShape,
    dynamic_size: bool,
    size: usize,
    /// May be shorter than `size`: elements from its end on were never touched.
    slots: Vec<Slot>,
    /// How many elements the array had when a value was split over all of them; for its gradient, what it had then.
    num_split: Option<usize>,
    closed: bool,
    gradients: BTreeMap<String, Arc<TensorArray>>,
}

#[derive(Clone, Default)]
struct Slot {
    /// `None` where nothing was written, where a read took it out, and where a gradient is still zero.
    value: Option<Tensor>,
    /// The shape of what was written, once `value` no longer says it.
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

/// Makes the names of arrays unique within the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The container in the handles of gradient arrays.
const GRADIENTS: &str = "_tensor_array_grads";

impl TensorArray {
    /// An array of `size` elements that were never written. Its name is `name` and a number.
    pub(super) fn new(name: &str, dtype: DType, size: usize, element_shape: PartialShape, options: Options) -> TensorArray {
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
        TensorArray { name, dtype, options, state: Mutex::new(state), ahead: Mutex::default() }
    }

    /// What travels along the edges.
    pub(super) fn to_handle(self: &Arc<Self>) -> Tensor {
        let container = if self.options.is_gradient { GRADIENTS } else { "_tensor_arrays" };
        let elements = vec![(self.dtype, PartialShape::unknown())];
        Tensor::resource(ResourceHandle::new(container, &self.name, Some(self.clone()), elements))
    }

    /// The element type.
    pub(super) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Locks the elements.
    ///
    /// # Errors
    /// `InvalidArgument` where the array was closed.
    pub(super) fn lock(&self) -> Result<Elements<'_>> {
        let state = self.state.lock();
        if state.closed {
            bail!(InvalidArgument, "TensorArray {} has already been closed.", self.name);
        }
        Ok(Elements { array: self, state })
    }

    /// Drops all elements. Every later use is an error, but for closing again.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let dropped = (std::mem::take(&mut state.slots), std::mem::take(&mut state.gradients));
        drop(state);
        drop(dropped);
        self.ahead.lock().clear();
    }

    /// Takes out what a reader left with [`TensorArray::put_ahead`].
    pub(super) fn take_ahead(&self, is_of_reader: impl FnMut(&Ahead) -> bool) -> Option<Ahead> {
        let mut ahead = self.ahead.lock();
        ahead.iter().position(is_of_reader).map(|i| ahead.swap_remove(i))
    }

    /// Keeps what a reader computed ahead.
    pub(super) fn put_ahead(&self, ahead: Ahead) {
        self.ahead.lock().push(ahead);
    }

    /// `element`, which was read at `index`, and those that a reader will find at the indices after it, `step` apart: at most `len` in all,
    /// up to the first that was not written, was taken out or has another shape. Of a gradient array, whose elements still change, `element`
    /// alone.
    pub(super) fn waiting(&self, index: i64, step: i64, len: usize, element: &Tensor) -> Vec<Tensor> {
        let mut found = vec![element.clone()];
        if len > 1 && !self.options.is_gradient {
            let state = self.state.lock();
            let at = |i: usize| {
                let i = usize::try_from(index.checked_add(step.checked_mul(i as i64)?)?).ok()?;
                state.slots.get(i)?.value.as_ref().filter(|value| value.shape() == element.shape())
            };
            found.extend((1..len).map_while(at).cloned());
        }
        found
    }

    /// The gradient array for `source`, made at the first call: as long as this array, which can no longer grow. What was written here reads as zeros there,
    /// with the sizes of `prepend` before its shape.
    ///
    /// # Errors
    /// `InvalidArgument` for the gradient of a gradient, and as [`TensorArray::lock`].
    pub(super) fn gradient(&self, source: &str, prepend: &Shape) -> Result<Arc<TensorArray>> {
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
    /// How many elements there are.
    pub(super) fn len(&self) -> usize {
        self.state.size
    }

    /// How many elements there are to join. The gradient of a split joins what the split wrote, though the array grew afterwards.
    pub(super) fn num_joined(&self) -> usize {
        self.state.num_split.filter(|_| self.array.options.is_gradient).unwrap_or(self.state.size)
    }

    /// Notes that a value was split over all elements there are.
    pub(super) fn note_split(&mut self) {
        if !self.array.options.is_gradient {
            self.state.num_split = Some(self.state.size);
        }
    }

    /// Whether writing past the end makes the array larger.
    pub(super) fn is_dynamic(&self) -> bool {
        self.state.dynamic_size
    }

    /// What is known of every element's shape.
    pub(super) fn element_shape(&self) -> &PartialShape {
        &self.state.element_shape
    }

    /// Narrows what is known of every element's shape.
    ///
    /// # Errors
    /// `InvalidArgument` where it contradicts what is known.
    pub(super) fn merge_element_shape(&mut self, shape: &PartialShape) -> Result<()> {
        self.state.element_shape = self.state.element_shape.merge(shape)?;
        Ok(())
    }

    /// Writes element `index`; adds to it in a gradient array that has it already.
    ///
    /// # Errors
    /// `InvalidArgument` for an index out of range, an element that was written or read before, and a type or shape that is not the array's.
    pub(super) fn write(&mut self, index: i64, value: Tensor) -> Result<()> {
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
            flowmill_tensor::error!(InvalidArgument, "TensorArray {name}: Could not write to TensorArray index {i} because {why}")
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

    /// Reads element `index`, taking it out where the array is cleared by reads. An element that was never written reads as zeros where its shape is known.
    ///
    /// # Errors
    /// `InvalidArgument` for an index out of range, an element that a read took out, and one that was not written and whose shape is not known.
    pub(super) fn read(&mut self, index: i64) -> Result<Tensor> {
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
                Tensor::zeros(array.dtype, shape)?
            }
        };
        slot.read = true;
        slot.cleared = array.options.clear_after_read;
        Ok(value)
    }
}

/// The slot of element `i`, making the list of slots longer where needed.
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
