//! The interface to a GPU's driver: memory, streams, events, kernels and matrix products.
//!
//! A [`Gpu`] knows nothing of tensors. Kernels of graph nodes call it through [`GpuDevice`](crate::GpuDevice) alone, so that another driver is
//! another implementation of this trait.

use flowmill_tensor::{DType, Result, error};
use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

/// An address in a GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

impl Address {
    /// Returns the address `bytes` after this one.
    pub fn offset(self, bytes: usize) -> Address {
        Address(self.0 + bytes as u64)
    }
}

/// The properties of a GPU.
#[derive(Clone, Debug)]
pub struct Properties {
    /// The name of the model.
    pub name: String,
    /// The architecture that kernels are compiled for, such as `sm_90`.
    pub architecture: String,
    /// The size of the memory in bytes.
    pub memory: usize,
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The bus that the GPU is attached to.
    pub bus_id: i32,
}

/// A queue of work that a GPU does in order. Work of different streams runs at the same time unless events order it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Kernels.
    Compute,
    /// Copies from the host.
    Upload,
    /// Copies to the host.
    Download,
    /// Copies to other GPUs.
    Peer,
}

/// A point in a stream.
pub trait Event: Any + Send + Sync {
    /// Returns true if the GPU has reached the event.
    ///
    /// # Errors
    /// Returns the first error of the work before the event.
    fn is_reached(&self) -> Result<bool>;

    /// Waits until the GPU has reached the event.
    ///
    /// # Errors
    /// Returns the first error of the work before the event.
    fn wait(&self) -> Result<()>;
}

/// A kernel that was loaded onto a GPU.
pub trait Function: Any + Send + Sync {}

/// Work that was captured instead of being done, and can be done many times.
pub trait CapturedWork: Any + Send + Sync {}

/// A block of the host's memory that a GPU reads and writes directly (page-locked memory).
pub trait PinnedMemory: Send + Sync {
    /// Returns the address of the first byte.
    fn as_ptr(&self) -> *mut u8;

    /// Returns the number of bytes.
    fn len(&self) -> usize;

    /// Returns true if the block has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The numbers of blocks and threads of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The number of blocks in x, y and z.
    pub blocks: [u32; 3],
    /// The number of threads of a block in x, y and z.
    pub threads: [u32; 3],
}

/// The function that the results of a product go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// The result itself.
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// The Gaussian error linear unit by its approximation with `tanh`.
    Gelu,
}

/// The functions that are applied to the results of a product before they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epilogue {
    /// A vector with an element for each column, which is added to each row.
    pub bias: Option<Address>,
    /// The function that follows.
    pub activation: Activation,
}

/// A batch of matrix products `C = op(A) op(B)`. All matrices are row-major and without gaps.
#[derive(Clone, Copy, Debug)]
pub struct Gemm {
    /// The element type of all matrices.
    pub dtype: DType,
    /// The number of rows of `op(A)` and `C`.
    pub m: usize,
    /// The number of columns of `op(B)` and `C`.
    pub n: usize,
    /// The number of columns of `op(A)` and rows of `op(B)`.
    pub k: usize,
    /// True if `A` is stored as a `k` by `m` matrix.
    pub transpose_a: bool,
    /// True if `B` is stored as an `n` by `k` matrix.
    pub transpose_b: bool,
    /// The first matrix of each operand and of the result.
    pub matrices: [Address; 3],
    /// The number of products.
    pub batch: usize,
    /// The distance in elements from one matrix to the next for each operand and the result; 0 for an operand that all products share.
    pub strides: [usize; 3],
    /// True if `f32` products may round their operands to TensorFloat-32.
    pub allow_tf32: bool,
    /// Set if the matrices are parts of larger ones, from which the products are subtracted.
    pub update: Option<Update>,
}

/// The subtraction of products from parts of larger matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The distance in elements from one row to the next for each stored operand and the result.
    pub leading: [usize; 3],
}

/// The result of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvolutionResult {
    /// The convolution itself.
    Output,
    /// The gradient of the input, of the filter and the output's gradient.
    InputGradient,
    /// The gradient of the filter, of the input and the output's gradient.
    FilterGradient,
}

/// A convolution of images with channels last, or a gradient of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// The result that is computed.
    pub result: ConvolutionResult,
    /// The element type of all tensors.
    pub dtype: DType,
    /// The numbers of images, rows, columns and channels of the input.
    pub input: [usize; 4],
    /// The output channels, rows, columns and input channels of the filter, in the order in which it is stored. The channels of the input are a multiple
    /// of the filter's; the quotient is the number of groups.
    pub filter: [usize; 4],
    /// The numbers of images, rows, columns and channels of the output.
    pub output: [usize; 4],
    /// The input positions between windows, down and across.
    pub strides: [usize; 2],
    /// The input positions between elements of a window, down and across.
    pub dilations: [usize; 2],
    /// The rows of padding both above and below the input, and the columns both left and right of it.
    pub padding: [usize; 2],
    /// The function that follows a bias, if the output has a bias.
    pub epilogue: Option<Activation>,
    /// True if products of `f32` may round their operands to TensorFloat-32.
    pub allow_tf32: bool,
    /// True if the result must have the same bits in every run.
    pub is_deterministic: bool,
}

/// One GPU.
///
/// All work is asynchronous: a method that takes a [`Stream`] enqueues work and returns. Errors of that work are returned by later calls.
pub trait Gpu: Any + Send + Sync {
    /// Returns the GPU's properties.
    fn properties(&self) -> &Properties;

    /// Returns the number of bytes that nobody uses.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn free_memory(&self) -> Result<usize>;

    /// Allocates a region of the GPU's memory. `None` means that the memory is full.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn allocate(&self, bytes: usize) -> Result<Option<Address>>;

    /// Frees a region that [`Gpu::allocate`] returned. The region must not be used by work in progress.
    fn free(&self, region: Address);

    /// Allocates page-locked memory of the host.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the host's memory is full.
    fn allocate_pinned(&self, bytes: usize) -> Result<Arc<dyn PinnedMemory>>;

    /// Copies bytes of page-locked memory to the GPU.
    ///
    /// # Safety
    /// The host's memory must stay allocated and unchanged, and the region at `to` allocated, until an event that is recorded after this call has been
    /// reached.
    ///
    /// # Errors
    /// Returns the driver's error.
    unsafe fn upload(&self, to: Address, from: *const u8, bytes: usize, stream: Stream) -> Result<()>;

    /// Copies bytes of the GPU to page-locked memory.
    ///
    /// # Safety
    /// The requirements are those of [`Gpu::upload`], and nobody may access the host's memory before the event.
    ///
    /// # Errors
    /// Returns the driver's error.
    unsafe fn download(&self, to: *mut u8, from: Address, bytes: usize, stream: Stream) -> Result<()>;

    /// Copies bytes within the GPU, on the compute stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<()>;

    /// Returns true if [`Gpu::copy_to_peer`] copies to `peer`, over a link between the two that the host has no part in.
    fn can_copy_to(&self, _peer: &Arc<dyn Gpu>) -> bool {
        false
    }

    /// Copies bytes to another GPU, on the stream for such copies. The regions must stay allocated until an event that is recorded after this call has been
    /// reached.
    ///
    /// # Errors
    /// Returns the driver's error, and by default `Unimplemented`.
    fn copy_to_peer(&self, _peer: &Arc<dyn Gpu>, _to: Address, _from: Address, _bytes: usize) -> Result<()> {
        Err(error!(Unimplemented, "the driver copies nothing from one GPU to another"))
    }

    /// Sets bytes to `value`, on the compute stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn fill(&self, to: Address, value: u8, bytes: usize) -> Result<()>;

    /// Records an event in a stream.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn record(&self, stream: Stream) -> Result<Arc<dyn Event>>;

    /// Makes later work of a stream wait for an event, which may be one of another GPU.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn wait_in(&self, stream: Stream, event: &Arc<dyn Event>) -> Result<()>;

    /// Returns the number by which other libraries of the process know a stream, such as a `cudaStream_t`.
    fn stream_handle(&self, stream: Stream) -> usize;

    /// Waits until a stream of another library has done its work. The numbers 1 and 2 are CUDA's default streams of the process and of the thread.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn wait_for_foreign(&self, stream: usize) -> Result<()>;

    /// Returns true if the address is in this GPU's memory.
    fn owns(&self, address: Address) -> bool;

    /// Compiles the text of a kernel and loads the function `name`.
    ///
    /// # Errors
    /// Returns `Internal` with the compiler's log.
    fn load(&self, source: &str, name: &str) -> Result<Arc<dyn Function>>;

    /// Enqueues a kernel on the compute stream. Each argument points to the value of a parameter.
    ///
    /// # Safety
    /// The arguments must have the types of the kernel's parameters, and the addresses among them must be of allocated memory with the sizes that the
    /// kernel accesses.
    ///
    /// # Errors
    /// Returns the driver's error.
    unsafe fn launch(&self, function: &Arc<dyn Function>, grid: Grid, arguments: &mut [*mut c_void]) -> Result<()>;

    /// Enqueues matrix products with a library. Returns false if no library computes them.
    ///
    /// # Errors
    /// Returns the library's error.
    fn gemm(&self, products: &Gemm) -> Result<bool>;

    /// Enqueues a product with an epilogue with a library. Returns false if no library computes it, or if the library fails.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn gemm_with_epilogue(&self, _product: &Gemm, _epilogue: Epilogue) -> Result<bool> {
        Ok(false)
    }

    /// Returns the size in bytes of the workspace with which a library computes a convolution, which is at most `limit`. Returns `None` if no library
    /// computes it.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn convolution_workspace(&self, _convolution: &Convolution, _limit: usize) -> Result<Option<usize>> {
        Ok(None)
    }

    /// Enqueues a convolution that has a workspace, with the addresses of the input, the filter and the output, of which the one with the result is
    /// written. Returns false if the library fails.
    ///
    /// # Errors
    /// Returns the driver's error.
    fn convolve(
        &self,
        _convolution: &Convolution,
        _addresses: [Address; 3],
        _bias: Option<Address>,
        _workspace: (Address, usize),
    ) -> Result<bool> {
        Ok(false)
    }

    /// Returns true if [`Gpu::capture`] is implemented.
    fn can_capture(&self) -> bool {
        false
    }

    /// Captures the work that `enqueue` enqueues on the compute stream from this thread, instead of doing it. `enqueue` must not allocate memory, load
    /// kernels, copy from or to the host, record events or wait. The work of other threads is not captured.
    ///
    /// # Errors
    /// Returns the error of `enqueue`, the driver's error, and by default `Unimplemented`.
    fn capture(&self, _enqueue: &mut dyn FnMut() -> Result<()>) -> Result<Arc<dyn CapturedWork>> {
        Err(error!(Unimplemented, "the driver captures no work"))
    }

    /// Enqueues captured work on the compute stream. The memory that it uses must be allocated. The work must be kept until an event that is recorded
    /// after this call has been reached.
    ///
    /// # Errors
    /// Returns the driver's error. The work is then not done, or not to its end.
    fn replay(&self, _work: &Arc<dyn CapturedWork>) -> Result<()> {
        Err(error!(Unimplemented, "the driver captures no work"))
    }
}
