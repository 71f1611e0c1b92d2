//! Kernels: the code that computes one node.

use crate::device::Device;
use crate::executor::IterationRef;
use crate::function::{Caller, FunctionLibraryRuntime};
use crate::resource::ResourceManager;
use crate::step::{DeviceStep, Step};
use flowmill_tensor::{DType, ResourceHandle, Result, Shape, SmallVec, Tensor, bail};
use std::sync::Arc;

use crate::resource::RefVariable;

/// The code of one node. Made once for each node of a plan, then called by many steps at once.
pub trait Kernel: Send + Sync + 'static {
    /// Computes the outputs. Every data input is present. An output that is left unset is dead, which only `Switch`-like kernels may do on purpose.
    ///
    /// # Errors
    /// Whatever the op's documentation says; the executor adds the node's name.
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()>;

    /// Returns the scheduler's estimate of the kernel's run time.
    fn cost(&self) -> Cost {
        Cost::Cheap
    }

    /// The kernel's meaning on inline scalars, where it is a pure function of one or two of them.
    fn scalar_op(&self) -> Option<ScalarOp> {
        None
    }

    /// Returns the inputs that the kernel processes batch element by batch element, as a bit mask; 0 if there are none.
    ///
    /// These inputs and the first output have the same first dimension, and index `i` of that dimension in the output depends only on index `i` of
    /// these inputs and on the other inputs as a whole. For a part of the indices, the kernel computes the same bits as for all of them.
    fn batched_inputs(&self) -> u32 {
        0
    }

    /// Returns true if the kernel asks in which iteration it runs ([`KernelContext::iteration`]).
    fn depends_on_iteration(&self) -> bool {
        false
    }

    /// The asynchronous form, for kernels that wait for something; `compute` is then never called.
    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        None
    }
}

/// A kernel that may finish later, on another thread.
pub trait AsyncKernel: Send + Sync {
    /// Starts the work and returns; [`AsyncContext::done`] is called exactly once, whatever happens, also when the step is cancelled.
    fn start(&self, ctx: AsyncContext);
}

/// The run time of a kernel, as far as it can be predicted without running the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Cost {
    /// Less than about ten microseconds for usual sizes: runs on the thread that made it ready.
    Cheap,
    /// Worth another thread.
    Expensive,
    /// May wait for something, such as a file or what another node of the step does: called by a thread that has nothing else to do for the step,
    /// so that nothing the kernel may wait for is kept behind it.
    Blocking,
}

/// A pure function on the bits of inline scalars ([`Tensor::scalar_bits`]). It must give what `compute` gives, bit for bit.
#[derive(Clone, Copy, Debug)]
pub enum ScalarOp {
    /// One argument of type `from`, result of type `to`.
    Unary {
        /// The argument's type.
        from: DType,
        /// The result's type.
        to: DType,
        /// The function.
        f: fn(u64) -> u64,
    },
    /// Two arguments of type `from`, result of type `to`.
    Binary {
        /// Both arguments' type.
        from: DType,
        /// The result's type.
        to: DType,
        /// The function.
        f: fn(u64, u64) -> u64,
    },
}

/// One call of a kernel: its inputs, its outputs, and the step it belongs to.
pub struct KernelContext<'a> {
    inputs: &'a mut [Option<Tensor>],
    outputs: &'a mut [Option<Tensor>],
    step: &'a Arc<DeviceStep>,
    iteration: Option<IterationRef<'a>>,
}

/// The iteration that a node runs in: the iteration number in each frame around the node, outermost loop first. Empty outside of loops.
pub type IterationPath = SmallVec<[u64; 4]>;

impl<'a> KernelContext<'a> {
    /// A call with these inputs, whose outputs go to `outputs` (all `None` at first).
    #[inline]
    pub fn new(inputs: &'a mut [Option<Tensor>], outputs: &'a mut [Option<Tensor>], step: &'a Arc<DeviceStep>) -> KernelContext<'a> {
        KernelContext { inputs, outputs, step, iteration: None }
    }

    /// A call in an iteration of a frame.
    #[inline]
    pub(crate) fn in_iteration(
        inputs: &'a mut [Option<Tensor>],
        outputs: &'a mut [Option<Tensor>],
        step: &'a Arc<DeviceStep>,
        iteration: IterationRef<'a>,
    ) -> KernelContext<'a> {
        KernelContext { inputs, outputs, step, iteration: Some(iteration) }
    }

    /// Returns the step.
    #[inline]
    pub fn step(&self) -> &'a Step {
        &self.step.step
    }

    /// Returns the step with what belongs to its device, for calls that outlive this one.
    #[inline]
    pub fn device_step(&self) -> &'a Arc<DeviceStep> {
        self.step
    }

    /// Returns the device that the kernel runs on.
    pub fn device(&self) -> &'a Arc<dyn Device> {
        &self.step.device
    }

    /// Returns the session's resources on the device.
    pub fn resources(&self) -> &'a Arc<ResourceManager> {
        &self.step.resources
    }

    /// Returns the graph's functions.
    pub fn functions(&self) -> &'a Arc<FunctionLibraryRuntime> {
        &self.step.functions
    }

    /// Returns which iteration of its frame the node runs in. Only a kernel that says so ([`Kernel::depends_on_iteration`]) may ask: others
    /// may be run without frames.
    pub fn iteration(&self) -> IterationPath {
        self.iteration.map(IterationRef::path).unwrap_or_default()
    }

    /// Allocates output `i` in the device's memory and returns it for writing.
    ///
    /// # Errors
    /// `ResourceExhausted` if the memory has no room, `Internal` if the node has no such output.
    pub fn allocate_output(&mut self, i: usize, dtype: DType, shape: &Shape) -> Result<&mut Tensor> {
        let tensor = self.step.device.allocate(dtype, shape)?;
        match self.outputs.get_mut(i) {
            Some(slot) => Ok(slot.insert(tensor)),
            None => bail!(Internal, "There is no output {i}"),
        }
    }

    /// Allocates memory of the device for the time of the call.
    ///
    /// # Errors
    /// `ResourceExhausted` if the memory has no room.
    pub fn allocate_temp(&self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        self.step.device.allocate(dtype, shape)
    }

    /// Number of data inputs.
    #[inline]
    pub fn num_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Number of outputs.
    #[inline]
    pub fn num_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Input `i`.
    ///
    /// # Errors
    /// `Internal` where there is no such input or it was taken.
    #[inline]
    pub fn input(&self, i: usize) -> Result<&Tensor> {
        match self.inputs.get(i) {
            Some(Some(t)) => Ok(t),
            _ => Err(missing_input(i)),
        }
    }

    /// Inputs `from..`, in order.
    pub fn inputs_from(&self, from: usize) -> impl Iterator<Item = &Tensor> {
        self.inputs.get(from..).unwrap_or(&[]).iter().flatten()
    }

    /// Takes input `i` out. If nobody else holds the tensor, the kernel can then reuse its memory.
    ///
    /// # Errors
    /// Returns `Internal` if there is no such input or it was taken before.
    #[inline]
    pub fn take(&mut self, i: usize) -> Result<Tensor> {
        match self.inputs.get_mut(i).and_then(Option::take) {
            Some(t) => Ok(t),
            None => Err(missing_input(i)),
        }
    }

    /// Takes input `i` if its memory can become an output of this type and shape: nobody else holds it, and type and shape are equal.
    #[inline]
    pub fn take_if_reusable(&mut self, i: usize, dtype: DType, shape: &Shape) -> Option<Tensor> {
        let slot = self.inputs.get_mut(i)?;
        let tensor = slot.as_mut()?;
        if tensor.dtype() == dtype && tensor.shape() == shape && tensor.is_unique() { slot.take() } else { None }
    }

    /// The variable behind input `i`, which is declared as a reference (`Ref(T)`).
    ///
    /// # Errors
    /// `InvalidArgument` where the input is a plain value, such as a fed one.
    pub fn ref_input(&self, i: usize) -> Result<&RefVariable> {
        let tensor = self.input(i)?;
        match tensor.as_resources().ok().and_then(|handles| handles.first()?.get::<RefVariable>()) {
            Some(variable) => Ok(variable),
            None => bail!(InvalidArgument, "Input {i} is not a reference: cannot assign to a fed or computed value"),
        }
    }

    /// The handle in input `i`, a scalar of type `resource`.
    ///
    /// # Errors
    /// `InvalidArgument` where the input is something else.
    pub fn handle(&self, i: usize) -> Result<&ResourceHandle> {
        match self.input(i)?.as_resources() {
            Ok([handle]) => Ok(handle),
            _ => bail!(InvalidArgument, "Input {i} is not a scalar resource handle"),
        }
    }

    /// Sets output `i`.
    #[inline]
    pub fn set_output(&mut self, i: usize, tensor: Tensor) {
        if let Some(slot) = self.outputs.get_mut(i) {
            *slot = Some(tensor);
        }
    }

    /// Passes input `i` on as output `o`, sharing or moving it.
    ///
    /// # Errors
    /// Returns `Internal` if there is no such input or it was taken before.
    #[inline]
    pub fn forward(&mut self, i: usize, o: usize) -> Result<()> {
        let tensor = self.take(i)?;
        self.set_output(o, tensor);
        Ok(())
    }
}

#[cold]
fn missing_input(i: usize) -> flowmill_tensor::Error {
    flowmill_tensor::error!(Internal, "Missing input {i}")
}

/// One call of an asynchronous kernel: it owns its inputs and keeps the step alive.
pub struct AsyncContext {
    inputs: Vec<Tensor>,
    caller: Caller,
    iteration: IterationPath,
    done: Box<dyn FnOnce(Result<Vec<Option<Tensor>>>) + Send>,
}

impl AsyncContext {
    /// A call outside of a plan, whose result goes to `done`.
    pub fn new(inputs: Vec<Tensor>, step: Arc<DeviceStep>, done: Box<dyn FnOnce(Result<Vec<Option<Tensor>>>) + Send>) -> AsyncContext {
        AsyncContext::of(inputs, Caller::new(step, None, 0), IterationPath::new(), done)
    }

    /// A call in a run of a plan.
    pub(crate) fn of(
        inputs: Vec<Tensor>,
        caller: Caller,
        iteration: IterationPath,
        done: Box<dyn FnOnce(Result<Vec<Option<Tensor>>>) + Send>,
    ) -> AsyncContext {
        AsyncContext { inputs, caller, iteration, done }
    }

    /// Returns the step.
    pub fn step(&self) -> &Arc<Step> {
        self.caller.step()
    }

    /// Returns the step with what belongs to its device.
    pub fn device_step(&self) -> &Arc<DeviceStep> {
        self.caller.device_step()
    }

    /// Returns the session's resources on the device.
    pub fn resources(&self) -> &Arc<ResourceManager> {
        &self.device_step().resources
    }

    /// Returns which iteration of its frame the node runs in.
    pub fn iteration(&self) -> &IterationPath {
        &self.iteration
    }

    /// Returns the context in which the kernel calls functions.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// Takes the inputs from number `first` on out: the way to reuse their memory where nobody else holds it.
    pub fn take_inputs(&mut self, first: usize) -> Vec<Tensor> {
        self.inputs.split_off(first.min(self.inputs.len()))
    }

    /// Ends the call with the outputs (`None` is dead), or an error.
    pub fn done(self, result: Result<Vec<Option<Tensor>>>) {
        (self.done)(result);
    }
}
