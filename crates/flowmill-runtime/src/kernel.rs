//! Kernels: the code that computes one node.

use crate::device::Device;
use crate::executor::{IterationRef, OutstandingCall};
use crate::function::{Caller, FunctionLibraryRuntime};
use crate::resource::ResourceManager;
use crate::step::{DeviceStep, Step};
use flowmill_graph::OpTraits;
use flowmill_tensor::{Allocator, DType, ResourceHandle, Result, Shape, SmallVec, Tensor, bail};
use std::sync::Arc;

use crate::resource::RefVariable;

/// The code of one node. It is made once for each node of a plan; many steps may call it at once.
pub trait Kernel: Send + Sync + 'static {
    /// Computes the outputs. Every data input is present. An output that is left unset is dead, which only `Switch`-like kernels may do on purpose.
    ///
    /// # Errors
    /// Returns the errors that the op's documentation lists. The executor adds the node's name.
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()>;

    /// Returns the kernel's own estimate of its run time, if it has one, such as from the static shapes of its inputs. Without one, the op's declared
    /// cost class counts: see [`Cost::of`].
    fn cost(&self) -> Option<Cost> {
        None
    }

    /// Returns the kernel's function on inline scalars, if it is a pure function of one or two of them.
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

    /// Returns true if the kernel depends on the iteration it runs in, which it reads with [`KernelContext::iteration`].
    fn depends_on_iteration(&self) -> bool {
        false
    }

    /// Returns the name of the way in which the last call computed, for statistics, if the kernel chooses between several.
    fn algorithm(&self) -> Option<&'static str> {
        None
    }

    /// Returns the tensor that the kernel sends to another device or receives from one, for statistics.
    fn transfer(&self) -> Option<TransferName> {
        None
    }

    /// Returns the asynchronous form of a kernel that waits for something. `compute` is then never called.
    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        None
    }
}

/// A tensor that goes from one device to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferName {
    /// The name under which its send and its receive meet, without the devices.
    pub tensor: Arc<str>,
    /// The full name of the device that sends it.
    pub from: Arc<str>,
    /// The full name of the device that receives it.
    pub to: Arc<str>,
    /// True for the receive.
    pub is_receive: bool,
}

/// A kernel that may finish on another thread after it was called.
pub trait AsyncKernel: Send + Sync {
    /// Ends the call at once if nothing has to be waited for, and sets the outputs as [`Kernel::compute`] does. Returns `None` if the kernel has to be
    /// started. A kernel that finds its result ready most of the time saves the context that it would be started with.
    fn try_finish(&self, _: &mut KernelContext<'_>) -> Option<Result<()>> {
        None
    }

    /// Starts the work and returns. The kernel calls [`AsyncContext::done`] exactly once in every case, also after an error or if the step is
    /// cancelled.
    fn start(&self, ctx: AsyncContext);
}

/// The run time of a kernel, as far as it can be predicted without running the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Cost {
    /// Takes less than about ten microseconds for usual sizes. The kernel runs on the thread that made it ready.
    Cheap,
    /// Takes long enough that a hand-over to another thread pays.
    Expensive,
    /// May wait for something, such as a file or another node of the step. The kernel is called by a thread that has nothing else to do for the step,
    /// so that no work that the kernel waits for is queued behind it.
    Blocking,
}

impl Cost {
    /// Returns the cost of a node: the estimate of its kernel if it has one, otherwise the cost class in the traits of its op.
    pub fn of(kernel: &dyn Kernel, traits: &OpTraits) -> Cost {
        kernel.cost().unwrap_or(if traits.costly { Cost::Expensive } else { Cost::Cheap })
    }
}

/// A pure function on the bits of inline scalars ([`Tensor::scalar_bits`]). It must return the same bits as `compute`.
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
    /// Makes the context of a call with these inputs. The outputs go to `outputs`, which are all `None` at first.
    #[inline]
    pub fn new(inputs: &'a mut [Option<Tensor>], outputs: &'a mut [Option<Tensor>], step: &'a Arc<DeviceStep>) -> KernelContext<'a> {
        KernelContext { inputs, outputs, step, iteration: None }
    }

    /// Makes the context of a call in an iteration of a frame.
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

    /// Returns the step on the kernel's device, for work that outlives the call.
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

    /// Returns the iteration of its frame that the node runs in. Only kernels whose [`Kernel::depends_on_iteration`] returns true may call this:
    /// others may run without frames.
    pub fn iteration(&self) -> IterationPath {
        self.iteration.map(IterationRef::path).unwrap_or_default()
    }

    /// Returns the allocator of tensors in the host's memory, charged to the device that the kernel runs on. Kernels of a CPU allocate their outputs
    /// and temporary tensors with it.
    #[inline]
    pub fn allocator(&self) -> &'a Allocator {
        self.step.device.host_allocator()
    }

    /// Allocates output `i` in the device's memory and returns it for writing.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the device's memory is full, and `Internal` if the node has no such output.
    pub fn allocate_output(&mut self, i: usize, dtype: DType, shape: &Shape) -> Result<&mut Tensor> {
        let tensor = self.step.device.allocate(dtype, shape)?;
        match self.outputs.get_mut(i) {
            Some(slot) => Ok(slot.insert(tensor)),
            None => bail!(Internal, "There is no output {i}"),
        }
    }

    /// Allocates a temporary tensor in the device's memory.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the device's memory is full.
    pub fn allocate_temp(&self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        self.step.device.allocate(dtype, shape)
    }

    /// Returns the number of data inputs.
    #[inline]
    pub fn num_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Returns the number of outputs.
    #[inline]
    pub fn num_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Returns input `i`.
    ///
    /// # Errors
    /// Returns `Internal` if there is no such input or it was taken before.
    #[inline]
    pub fn input(&self, i: usize) -> Result<&Tensor> {
        match self.inputs.get(i) {
            Some(Some(t)) => Ok(t),
            _ => Err(missing_input(i)),
        }
    }

    /// Returns inputs `from..`, in order. Inputs that were taken before are left out.
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

    /// Takes input `i` out, with dense elements that can be written in place: they are copied if others refer to them.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the device's memory is full, and `Internal` if there is no such input or it was taken before.
    #[inline]
    pub fn take_writable(&mut self, i: usize) -> Result<Tensor> {
        let tensor = self.take(i)?;
        self.allocator().writable(tensor)
    }

    /// Takes input `i` if its memory can be reused for an output of this type and shape: type and shape are equal, and nobody else holds the tensor.
    #[inline]
    pub fn take_if_reusable(&mut self, i: usize, dtype: DType, shape: &Shape) -> Option<Tensor> {
        let slot = self.inputs.get_mut(i)?;
        let tensor = slot.as_mut()?;
        if tensor.dtype() == dtype && tensor.shape() == shape && tensor.is_unique() { slot.take() } else { None }
    }

    /// Returns the variable that input `i`, which is declared as a reference (`Ref(T)`), refers to.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is a plain value, such as a fed one, and `Internal` if there is no such input.
    pub fn ref_input(&self, i: usize) -> Result<&RefVariable> {
        let tensor = self.input(i)?;
        match tensor.as_resources().ok().and_then(|handles| handles.first()?.get::<RefVariable>()) {
            Some(variable) => Ok(variable),
            None => bail!(InvalidArgument, "Input {i} is not a reference: cannot assign to a fed or computed value"),
        }
    }

    /// Returns the handle in input `i`, which is a scalar of type `resource`, to access its resource.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the input is no such scalar or the resource is on another device, and `Internal` if there is no such input.
    pub fn handle(&self, i: usize) -> Result<&ResourceHandle> {
        match self.input(i)?.as_resources() {
            Ok([handle]) => self.resources().check_device(handle).map(|()| handle),
            _ => bail!(InvalidArgument, "Input {i} is not a scalar resource handle"),
        }
    }

    /// Sets output `i`. Does nothing if the node has no such output.
    #[inline]
    pub fn set_output(&mut self, i: usize, tensor: Tensor) {
        if let Some(slot) = self.outputs.get_mut(i) {
            *slot = Some(tensor);
        }
    }

    /// Moves input `i` to output `o` without a copy.
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
    done: CallDone,
}

/// The receiver of the result of an asynchronous call.
pub(crate) enum CallDone {
    /// A node of a run.
    Node(OutstandingCall),
    /// Anything else.
    Callback(Box<dyn FnOnce(Result<Vec<Option<Tensor>>>) + Send>),
}

impl AsyncContext {
    /// Makes the context of a call outside of a plan, whose result goes to `done`.
    pub fn new(inputs: Vec<Tensor>, step: Arc<DeviceStep>, done: Box<dyn FnOnce(Result<Vec<Option<Tensor>>>) + Send>) -> AsyncContext {
        AsyncContext::of(inputs, Caller::new(step, None, 0), IterationPath::new(), CallDone::Callback(done))
    }

    /// Makes the context of a call in a run of a plan.
    pub(crate) fn of(inputs: Vec<Tensor>, caller: Caller, iteration: IterationPath, done: CallDone) -> AsyncContext {
        AsyncContext { inputs, caller, iteration, done }
    }

    /// Returns the step.
    pub fn step(&self) -> &Arc<Step> {
        self.caller.step()
    }

    /// Returns the step on the kernel's device.
    pub fn device_step(&self) -> &Arc<DeviceStep> {
        self.caller.device_step()
    }

    /// Returns the allocator of tensors in the host's memory, charged to the device that the kernel runs on.
    pub fn allocator(&self) -> &Allocator {
        self.device_step().device.host_allocator()
    }

    /// Returns the session's resources on the device.
    pub fn resources(&self) -> &Arc<ResourceManager> {
        &self.device_step().resources
    }

    /// Returns the iteration of its frame that the node runs in.
    pub fn iteration(&self) -> &IterationPath {
        &self.iteration
    }

    /// Returns the context in which the kernel calls functions.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the inputs.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// Takes out the inputs from number `first` on. If nobody else holds a tensor, the kernel can then reuse its memory.
    pub fn take_inputs(&mut self, first: usize) -> Vec<Tensor> {
        self.inputs.split_off(first.min(self.inputs.len()))
    }

    /// Ends the call with its outputs, of which `None` is dead, or with an error.
    pub fn done(self, result: Result<Vec<Option<Tensor>>>) {
        match self.done {
            CallDone::Node(mut call) => call.complete(result),
            CallDone::Callback(done) => done(result),
        }
    }
}
