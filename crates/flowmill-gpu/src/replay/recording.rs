//! The recorded work of a strand for inputs of some shapes.

use super::inputs;
use crate::backend::{Address, CapturedWork};
use crate::device::{GpuDevice, GpuMemory};
use crate::memory::Pool;
use flowmill_runtime::{Kernel, KernelContext};
use flowmill_tensor::{Code, DType, Result, Shape, Tensor, bail};
use std::any::Any;
use std::sync::{Arc, Weak};

/// Work that was captured, with the memory that it uses.
pub(super) struct Recording {
    work: Option<Arc<dyn CapturedWork>>,
    /// Destroys captured work when the GPU has done it.
    drop_later: Box<dyn Fn(Arc<dyn CapturedWork>) + Send + Sync>,
    pool: Arc<Pool>,
    /// The addresses at which the work reads its inputs; `None` for those in the host's memory.
    addresses: Vec<Option<Address>>,
    /// The buffers that inputs are copied to.
    buffers: Vec<Option<Tensor>>,
    outputs: Vec<Output>,
    /// The leases of the blocks of outputs in the last step.
    leases: Vec<Weak<Lease>>,
}

/// Keeps a pool allocated while tensors are in one of its blocks.
struct Lease {
    _pool: Arc<Pool>,
}

enum Output {
    /// One tensor in all steps: one in the host's memory, or a constant.
    Value(Tensor),
    /// A tensor in the memory of an input, this many bytes from its start.
    OfInput { input: usize, offset: usize, dtype: DType, shape: Shape },
    /// A tensor in a block of the pool, of which `block` is the number.
    InPool { block: usize, address: Address, dtype: DType, shape: Shape },
}

/// The result of a step that has recorded its work.
pub(super) struct Recorded {
    pub(super) outputs: Vec<Option<Tensor>>,
    /// `None` if the work cannot be recorded.
    pub(super) recording: Option<Recording>,
}

impl Recording {
    /// Runs a strand and records its work. The inputs for which `moves` is true are copied to buffers first.
    ///
    /// # Errors
    /// Returns the errors of the strand's nodes, and `ResourceExhausted` if there is no memory for the buffers.
    pub(super) fn make(
        strand: &dyn Kernel,
        ctx: &KernelContext<'_>,
        device: &GpuDevice,
        reads_input: &[bool],
        moves: &[bool],
    ) -> Result<Recorded> {
        // The clones keep kernels from writing to the memory of inputs, which later steps may still need.
        let mut read = inputs(ctx);
        let mut buffers = vec![None; read.len()];
        for (i, input) in read.iter_mut().enumerate() {
            if let Some(tensor) = input.as_mut().filter(|tensor| moves[i] && reads_input[i] && !tensor.is_on_host()) {
                *tensor = device.copy_of(tensor)?;
                buffers[i] = Some(tensor.clone());
            }
        }
        let run = || -> Result<Vec<Option<Tensor>>> {
            let (mut inputs, mut outputs) = (read.clone(), vec![None; ctx.num_outputs()]);
            strand.compute(&mut KernelContext::new(&mut inputs, &mut outputs, ctx.device_step()))?;
            Ok(outputs)
        };
        let allocator = device.allocator();
        let (outputs, bytes) = allocator.measure(run);
        let outputs = outputs?;
        let Ok(pool) = allocator.pool(bytes) else { return Ok(Recorded { outputs, recording: None }) };
        let mut captured = Vec::new();
        let work = device.gpu().capture(&mut || {
            captured = allocator.within(&pool, run)?;
            Ok(())
        });
        let made = work.and_then(|work| Recording::of(work, pool, buffers, &read, reads_input, captured, device));
        if let Err(e) = &made
            && e.code() != Code::ResourceExhausted
        {
            device.stop_recording(e);
        }
        Ok(Recorded { outputs, recording: made.ok() })
    }

    fn of(
        work: Arc<dyn CapturedWork>,
        pool: Arc<Pool>,
        buffers: Vec<Option<Tensor>>,
        read: &[Option<Tensor>],
        reads_input: &[bool],
        captured: Vec<Option<Tensor>>,
        device: &GpuDevice,
    ) -> Result<Recording> {
        let address = |(tensor, reads): (&Option<Tensor>, &bool)| tensor.as_ref().filter(|_| *reads).and_then(|t| device.address(t).ok());
        let addresses: Vec<Option<Address>> = read.iter().zip(reads_input).map(address).collect();
        let mut owners: Vec<&Arc<dyn Any + Send + Sync>> = Vec::new();
        let mut outputs = Vec::with_capacity(captured.len());
        for output in &captured {
            let Some(tensor) = output else { bail!(Internal, "a strand with live inputs has a dead output") };
            let (dtype, shape) = (tensor.dtype(), tensor.shape().clone());
            let Some(memory) = GpuMemory::of(tensor) else {
                outputs.push(Output::Value(tensor.clone()));
                continue;
            };
            let at = memory.address();
            let is_in = |input: usize| {
                let (Some(start), Some(tensor)) = (addresses[input], &read[input]) else { return false };
                start <= at && at < start.offset(tensor.num_bytes().max(1))
            };
            outputs.push(if pool.contains(at) {
                let block = owners.iter().position(|owner| Arc::ptr_eq(owner, memory.owner())).unwrap_or_else(|| {
                    owners.push(memory.owner());
                    owners.len() - 1
                });
                Output::InPool { block, address: at, dtype, shape }
            } else if let Some(input) = (0..read.len()).find(|&i| is_in(i)) {
                let offset = addresses[input].map_or(0, |start| (at.0 - start.0) as usize);
                Output::OfInput { input, offset, dtype, shape }
            } else {
                Output::Value(tensor.clone())
            });
        }
        let leases = owners.iter().map(|_| Weak::new()).collect();
        Ok(Recording { work: Some(work), drop_later: Box::new(device.deferred_drop()), pool, addresses, buffers, outputs, leases })
    }

    /// Returns the addresses at which the work reads its inputs; `None` for those in the host's memory.
    pub(super) fn addresses(&self) -> &[Option<Address>] {
        &self.addresses
    }

    /// Notes the blocks of outputs that are in use since an earlier step. Returns true if there are no new ones, so that the work can be done again.
    pub(super) fn note_kept(&self, is_kept: &mut Vec<bool>) -> bool {
        is_kept.resize(self.leases.len(), false);
        let mut is_free = true;
        for (lease, is_kept) in self.leases.iter().zip(is_kept) {
            if !*is_kept && lease.strong_count() > 0 {
                (*is_kept, is_free) = (true, false);
            }
        }
        is_free && self.leases.iter().all(|lease| lease.strong_count() == 0)
    }

    /// Enqueues the work for the inputs of a step, and sets the outputs. The outputs in blocks for which `is_kept` is true are copied.
    ///
    /// # Errors
    /// Returns the driver's error, and `ResourceExhausted` if there is no memory for copies.
    pub(super) fn replay(&mut self, ctx: &mut KernelContext<'_>, device: &GpuDevice, is_kept: &[bool]) -> Result<()> {
        let gpu = device.gpu();
        for (i, buffer) in self.buffers.iter().enumerate() {
            if let Some(buffer) = buffer.as_ref().filter(|buffer| buffer.num_bytes() > 0) {
                gpu.copy(device.address(buffer)?, device.address(ctx.input(i)?)?, buffer.num_bytes())?;
            }
        }
        let Some(work) = &self.work else { bail!(Internal, "a recording without work") };
        gpu.replay(work)?;
        let mut leases: Vec<Option<Arc<Lease>>> = vec![None; self.leases.len()];
        for (i, output) in self.outputs.iter().enumerate() {
            let tensor = match output {
                Output::Value(tensor) => tensor.clone(),
                Output::OfInput { input, offset, dtype, shape } => {
                    let source = ctx.input(*input)?;
                    let memory = source.device_memory().filter(|_| *offset == 0).cloned();
                    let memory = match memory {
                        Some(memory) => memory,
                        None => Arc::new(device.memory(source)?.offset(*offset)),
                    };
                    Tensor::on_device(*dtype, shape.clone(), memory)?
                }
                Output::InPool { block, address, dtype, shape } => {
                    let lease = leases[*block].get_or_insert_with(|| Arc::new(Lease { _pool: self.pool.clone() }));
                    let tensor = device.tensor_of(*dtype, shape, *address, lease.clone())?;
                    if is_kept[*block] { device.copy_of(&tensor)? } else { tensor }
                }
            };
            ctx.set_output(i, tensor);
        }
        for (lease, last) in leases.iter().zip(&mut self.leases) {
            *last = lease.as_ref().map_or_else(Weak::new, Arc::downgrade);
        }
        Ok(())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            (self.drop_later)(work);
        }
    }
}
