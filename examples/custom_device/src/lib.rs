//! A type of device with its memory and kernels outside of Flowmill.
//!
//! `TEST` devices compute `AddV2`, `Mul` and `Neg` of floats. They keep numbers with all bits inverted, where the host cannot read them, and copy
//! on a thread of their own.
//!
//! ```
//! use flowmill::device::HostDevice;
//! use flowmill::prelude::*;
//! use flowmill_example_custom_device::test_device;
//!
//! # fn main() -> flowmill::Result<()> {
//! let b = GraphBuilder::new()?;
//! let x = b.constant([1.0f32, 2.0])?;
//! let y = b.with_device("/device:TEST:0", || Ok(x * x + x))?;
//! let devices = vec![HostDevice::cpu(0, flowmill::kernels()), test_device(0, 1 << 20)];
//! let session = Session::with_devices(b.shared_graph().clone(), devices, SessionOptions::default())?;
//! assert_eq!(session.runner().fetch(y)?.as_slice::<f32>()?, [2.0, 6.0]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs, unreachable_pub)]

use flowmill::device::{CopyDone, Device, DeviceAttributes, DeviceMemory, KernelDef};
use flowmill::kernel::{Kernel, KernelContext, KernelInit, from_fn};
use flowmill::{DType, Error, KernelRegistry, Result, Shape, Tensor};
use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

struct TestDevice {
    attributes: DeviceAttributes,
    /// Bytes in use.
    used: Arc<AtomicUsize>,
    /// The copies that the device's thread makes.
    copies: Mutex<Sender<Copy>>,
}

type Copy = Box<dyn FnOnce() + Send>;

/// The numbers of a tensor on a `TEST` device: the bits of floats, inverted. They are written once.
struct TestMemory {
    device: String,
    numbers: OnceLock<Vec<u32>>,
    bytes: usize,
    used: Arc<AtomicUsize>,
}

impl DeviceMemory for TestMemory {
    fn device(&self) -> &str {
        &self.device
    }
}

impl Drop for TestMemory {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Makes the `TEST` device number `id` with `memory_limit` bytes.
pub fn test_device(id: u32, memory_limit: usize) -> Arc<dyn Device> {
    let (copies, queue) = channel::<Copy>();
    // The thread ends with the device, which has the sender.
    std::thread::spawn(move || queue.into_iter().for_each(|copy| copy()));
    let attributes = DeviceAttributes::local("TEST", id, memory_limit);
    Arc::new(TestDevice { attributes, used: Arc::default(), copies: Mutex::new(copies) })
}

impl TestDevice {
    fn enqueue(&self, copy: impl FnOnce() + Send + 'static) {
        if let Ok(copies) = self.copies.lock() {
            // A copy that is not made drops its callback, which ends the receive.
            let _ = copies.send(Box::new(copy));
        }
    }
}

impl Device for TestDevice {
    fn attributes(&self) -> &DeviceAttributes {
        &self.attributes
    }

    fn kernels(&self) -> &KernelRegistry {
        static KERNELS: LazyLock<KernelRegistry> = LazyLock::new(kernels);
        &KERNELS
    }

    fn allocate(&self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let bytes = shape.checked_num_elements()?.saturating_mul(dtype.size().unwrap_or(0));
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        let (device, used_by_all) = (self.attributes.name.to_string(), self.used.clone());
        // Gives the bytes back if it is dropped.
        let memory = TestMemory { device, numbers: OnceLock::new(), bytes, used: used_by_all };
        if used.saturating_add(bytes) > self.attributes.memory_limit {
            return Err(Error::resource_exhausted(format!("{} has no room for {bytes} bytes", memory.device)));
        }
        Tensor::on_device(dtype, shape.clone(), Arc::new(memory))
    }

    fn copy_dense_to_host(&self, tensor: Tensor, done: CopyDone) {
        self.enqueue(move || {
            let copied = numbers_of(&tensor).and_then(|numbers| {
                let floats: Vec<f32> = numbers.iter().map(|&bits| f32::from_bits(!bits)).collect();
                Tensor::from_slice(tensor.shape().clone(), &floats)
            });
            done(copied);
        });
    }

    fn copy_dense_from_host(&self, tensor: Tensor, done: CopyDone) {
        let to = self.allocate(tensor.dtype(), tensor.shape());
        self.enqueue(move || {
            let copied = to.and_then(|to| {
                write(&to, tensor.as_slice::<f32>()?.iter().copied())?;
                Ok(to)
            });
            done(copied);
        });
    }
}

/// The numbers of a tensor, as the device keeps them.
fn numbers_of(tensor: &Tensor) -> Result<&[u32]> {
    let memory = tensor.device_memory().map(|memory| -> &dyn Any { &**memory });
    match memory.and_then(|memory| memory.downcast_ref::<TestMemory>()).and_then(|memory| memory.numbers.get()) {
        Some(numbers) => Ok(numbers),
        None => Err(Error::internal("the tensor is not in the memory of a TEST device")),
    }
}

/// Writes the numbers of a tensor that was just allocated.
fn write(tensor: &Tensor, values: impl Iterator<Item = f32>) -> Result<()> {
    let memory = tensor.device_memory().map(|memory| -> &dyn Any { &**memory });
    let numbers = memory.and_then(|memory| memory.downcast_ref::<TestMemory>()).map(|memory| &memory.numbers);
    match numbers.map(|numbers| numbers.set(values.map(|value| !value.to_bits()).collect())) {
        Some(Ok(())) => Ok(()),
        _ => Err(Error::internal("the tensor cannot be written")),
    }
}

fn kernels() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    registry.register("AddV2", KernelDef::new(|init| binary(init, |a, b| a + b)).constrain("T", &[DType::F32]));
    registry.register("Mul", KernelDef::new(|init| binary(init, |a, b| a * b)).constrain("T", &[DType::F32]));
    registry.register("Neg", KernelDef::new(|_| from_fn(|context| compute(context, |[a]: [f32; 1]| -a))).constrain("T", &[DType::F32]));
    registry
}

fn binary(_: &KernelInit<'_>, f: fn(f32, f32) -> f32) -> Result<Arc<dyn Kernel>> {
    from_fn(move |context| compute(context, |[a, b]: [f32; 2]| f(a, b)))
}

/// Computes an output from `N` inputs of one shape.
fn compute<const N: usize>(context: &mut KernelContext<'_>, f: impl Fn([f32; N]) -> f32) -> Result<()> {
    let shape = context.input(0)?.shape().clone();
    let mut results = Vec::with_capacity(shape.num_elements());
    for i in 0..shape.num_elements() {
        let mut values = [0.0; N];
        for (k, value) in values.iter_mut().enumerate() {
            match numbers_of(context.input(k)?)?.get(i) {
                Some(&bits) if *context.input(k)?.shape() == shape => *value = f32::from_bits(!bits),
                _ => return Err(Error::invalid_argument(format!("shapes {shape} and {} differ", context.input(k)?.shape()))),
            }
        }
        results.push(f(values));
    }
    write(context.allocate_output(0, DType::F32, &shape)?, results.into_iter())
}
