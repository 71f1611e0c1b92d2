//! Convolutions by cuDNN, whose functions are looked up when the first convolution runs.
//!
//! An error of the library is not one of the step: the convolution is then computed by other kernels. The first error is written to standard error, and
//! after an error other than that a convolution is not supported, the library is not called any more.

use super::dnn_functions::{Descriptor, Descriptors, Functions, Handle, Performance, Status};
use crate::backend::{Activation, Address, Convolution, ConvolutionResult};
use cudarc::driver::sys::CUstream;
use flowmill_tensor::DType;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

/// The file that has the functions.
const LIBRARY: &str = "libcudnn.so.9";
/// The most convolutions whose algorithm is remembered.
const MAX_CHOICES: usize = 4096;
/// The number of algorithms that the library is asked for.
const MOST_ALGORITHMS: usize = 8;
/// `cudnnTensorFormat_t` of images with channels last.
const CHANNELS_LAST: c_int = 1;
/// `cudnnConvolutionMode_t` of windows that are not mirrored.
const CROSS_CORRELATION: c_int = 1;
/// Values of `cudnnMathType_t`.
const TENSOR_OP_MATH: c_int = 1;
const FMA_MATH: c_int = 3;
const DEFAULT_MATH: c_int = 0;
/// Values of `cudnnActivationMode_t`.
const RELU: c_int = 1;
const IDENTITY: c_int = 5;
/// The algorithm that may have a bias and no activation.
const IMPLICIT_PRECOMPUTED_GEMM: c_int = 1;

/// cuDNN with what it chose for each convolution.
pub(super) struct Dnn {
    library: Library,
    choices: HashMap<Convolution, Option<Choice>>,
}

enum Library {
    NotOpened,
    /// Not installed, or it has failed.
    Absent,
    Open(Box<Functions>, Handle),
}

/// An algorithm, and the arithmetic and the bytes of workspace that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    algorithm: c_int,
    math: c_int,
    workspace: usize,
}

impl Dnn {
    pub(super) fn new() -> Dnn {
        Dnn { library: Library::NotOpened, choices: HashMap::new() }
    }

    /// Closes the library and does not open it again.
    pub(super) fn close(&mut self) {
        if let Library::Open(functions, handle) = std::mem::replace(&mut self.library, Library::Absent) {
            // SAFETY: the handle was made once and is destroyed once.
            let _ = unsafe { (functions.destroy)(handle) };
        }
        self.choices.clear();
    }

    /// Stops calling the library, which stays loaded: recorded work may launch its kernels.
    fn stop(&mut self) {
        if let Library::Open(functions, _) = std::mem::replace(&mut self.library, Library::Absent) {
            Box::leak(functions);
        }
        self.choices.clear();
    }

    /// Returns the size of the workspace for a convolution, at most `limit`, or `None` if the library does not compute it.
    pub(super) fn workspace(&mut self, convolution: &Convolution, limit: usize) -> Option<usize> {
        if let Some(known) = self.choices.get(convolution) {
            return known.map(|choice| choice.workspace);
        }
        let (functions, handle) = self.open()?;
        let chosen = choose(functions, handle, convolution, limit);
        let chosen = self.checked(chosen)?;
        if self.choices.len() == MAX_CHOICES {
            self.choices.clear();
        }
        self.choices.insert(*convolution, chosen);
        chosen.map(|choice| choice.workspace)
    }

    /// Enqueues a convolution for which there is a workspace on `stream`. Returns false if the library fails.
    pub(super) fn convolve(
        &mut self,
        convolution: &Convolution,
        addresses: [Address; 3],
        bias: Option<Address>,
        workspace: (Address, usize),
        stream: CUstream,
    ) -> bool {
        let Some(&Some(choice)) = self.choices.get(convolution) else { return false };
        let Some((functions, handle)) = self.open() else { return false };
        let enqueued = enqueue(functions, handle, convolution, choice, addresses, bias, workspace, stream);
        match self.checked(enqueued.map(Some)) {
            Some(Some(())) => true,
            _ => {
                self.choices.insert(*convolution, None);
                false
            }
        }
    }

    /// Opens the library. Returns `None` if it is not installed, lacks a function, or has failed.
    fn open(&mut self) -> Option<(&Functions, Handle)> {
        if let Library::NotOpened = self.library {
            self.library = Library::Absent;
            // SAFETY: loading the library runs its initialisers, which have no further conditions.
            let library = unsafe { libloading::Library::new(LIBRARY) }.ok()?;
            match Functions::load(library) {
                Ok(functions) => {
                    let mut handle = std::ptr::null_mut();
                    // SAFETY: the handle is written to a place that lives through the call.
                    match unsafe { (functions.create)(&raw mut handle) } {
                        Status::SUCCESS => self.library = Library::Open(Box::new(functions), handle),
                        status => report(&format!("it cannot be opened: status {}", status.0)),
                    }
                }
                Err(e) => report(&e.to_string()),
            }
        }
        match &self.library {
            Library::Open(functions, handle) => Some((functions, *handle)),
            _ => None,
        }
    }

    /// Returns the result of a call, and `Some(None)` if the library does not support what was asked. After another error, it is not called any more.
    fn checked<T>(&mut self, result: Result<Option<T>, Status>) -> Option<Option<T>> {
        match result {
            Ok(value) => Some(value),
            Err(status) if status.is_not_supported() => Some(None),
            Err(status) => {
                report(&format!("status {}", status.0));
                self.stop();
                None
            }
        }
    }
}

fn report(reason: &str) {
    eprintln!("flowmill: cuDNN is not used any more: {reason}");
}

/// The descriptions of a convolution's parts.
struct Described<'a> {
    input: Descriptor<'a>,
    filter: Descriptor<'a>,
    output: Descriptor<'a>,
    window: Descriptor<'a>,
}

impl<'a> Described<'a> {
    fn new(functions: &'a Functions, convolution: &Convolution) -> Result<Described<'a>, Status> {
        let dtype = element(convolution)?;
        let described = Described {
            input: functions.describe(Descriptors::Tensor)?,
            filter: functions.describe(Descriptors::Filter)?,
            output: functions.describe(Descriptors::Tensor)?,
            window: functions.describe(Descriptors::Convolution)?,
        };
        let ([batch, rows, columns, channels], [out_channels, height, width, depth]) = (convolution.input, convolution.filter);
        let groups = int(channels.checked_div(depth).unwrap_or(0))?;
        let [n, h, w, c] = [int(batch)?, int(rows)?, int(columns)?, int(channels)?];
        let [_, out_rows, out_columns, _] = convolution.output;
        let ([k, depth], [r, s]) = ([int(out_channels)?, int(depth)?], [int(height)?, int(width)?]);
        let ([pad_y, pad_x], [stride_y, stride_x]) = (ints(convolution.padding)?, ints(convolution.strides)?);
        let [dilation_y, dilation_x] = ints(convolution.dilations)?;
        // SAFETY: the descriptions were created with their kinds.
        unsafe {
            (functions.set_tensor)(described.input.handle, CHANNELS_LAST, dtype, n, c, h, w).result()?;
            (functions.set_filter)(described.filter.handle, dtype, CHANNELS_LAST, k, depth, r, s).result()?;
            (functions.set_tensor)(described.output.handle, CHANNELS_LAST, dtype, n, k, int(out_rows)?, int(out_columns)?).result()?;
            // Sums are of the type `float`, which is number 0.
            let window = described.window.handle;
            let set = functions.set_convolution;
            set(window, pad_y, pad_x, stride_y, stride_x, dilation_y, dilation_x, CROSS_CORRELATION, 0).result()?;
            (functions.set_groups)(window, groups).result()?;
            (functions.set_math)(window, math(convolution)).result()?;
        }
        Ok(described)
    }
}

/// Returns the `cudnnDataType_t` of the elements.
fn element(convolution: &Convolution) -> Result<c_int, Status> {
    match convolution.dtype {
        DType::F32 => Ok(0),
        DType::F16 => Ok(2),
        DType::BF16 => Ok(9),
        _ => Err(Status::NOT_SUPPORTED),
    }
}

/// Returns the arithmetic that algorithms may use.
fn math(convolution: &Convolution) -> c_int {
    match convolution.dtype {
        DType::F32 if convolution.allow_tf32 => DEFAULT_MATH,
        DType::F32 => FMA_MATH,
        _ => TENSOR_OP_MATH,
    }
}

fn int(n: usize) -> Result<c_int, Status> {
    c_int::try_from(n).map_err(|_| Status::NOT_SUPPORTED)
}

fn ints([a, b]: [usize; 2]) -> Result<[c_int; 2], Status> {
    Ok([int(a)?, int(b)?])
}

/// Returns the fastest of the algorithms that the library proposes and the options allow.
fn choose(functions: &Functions, handle: Handle, convolution: &Convolution, limit: usize) -> Result<Option<Choice>, Status> {
    let described = Described::new(functions, convolution)?;
    let [x, w, y, window] = [&described.input, &described.filter, &described.output, &described.window].map(|d| d.handle);
    let mut found = [Performance::NONE; MOST_ALGORITHMS];
    let (mut count, wanted) = (0, MOST_ALGORITHMS as c_int);
    // SAFETY: the descriptions are alive, and there is room for the results.
    unsafe {
        let (count, found) = (&raw mut count, found.as_mut_ptr());
        match convolution.result {
            ConvolutionResult::Output => (functions.forward_algorithms)(handle, x, w, window, y, wanted, count, found),
            ConvolutionResult::InputGradient => (functions.input_algorithms)(handle, w, y, window, x, wanted, count, found),
            ConvolutionResult::FilterGradient => (functions.filter_algorithms)(handle, x, y, window, w, wanted, count, found),
        }
    }
    .result()?;
    let is_float = math(convolution) == FMA_MATH;
    let needs_precomputed = convolution.epilogue == Some(Activation::Identity);
    let is_usable = |p: &&Performance| {
        p.status == Status::SUCCESS
            && p.memory <= limit
            && (!convolution.is_deterministic || p.determinism == 1)
            && (!needs_precomputed || p.algorithm == IMPLICIT_PRECOMPUTED_GEMM)
    };
    let chosen = found[..(count.max(0) as usize).min(MOST_ALGORITHMS)].iter().find(is_usable);
    Ok(chosen.map(|p| Choice { algorithm: p.algorithm, math: if is_float { FMA_MATH } else { p.math }, workspace: p.memory }))
}

#[expect(clippy::too_many_arguments, reason = "the arguments are those of the library's functions")]
fn enqueue(
    functions: &Functions,
    handle: Handle,
    convolution: &Convolution,
    choice: Choice,
    addresses: [Address; 3],
    bias: Option<Address>,
    (workspace, bytes): (Address, usize),
    stream: CUstream,
) -> Result<(), Status> {
    let described = Described::new(functions, convolution)?;
    let [x_of, w_of, y_of, window] = [&described.input, &described.filter, &described.output, &described.window].map(|d| d.handle);
    let [x, w, y] = addresses.map(|address| address.0 as *mut c_void);
    let (one, zero) = (1f32, 0f32);
    let (one, zero): (*const c_void, *const c_void) = ((&raw const one).cast(), (&raw const zero).cast());
    let (scratch, algorithm) = (workspace.0 as *mut c_void, choice.algorithm);
    // SAFETY: the descriptions are alive, the factors live through the calls, and the addresses are of memory with the sizes that the descriptions say.
    unsafe {
        (functions.set_stream)(handle, stream.cast()).result()?;
        (functions.set_math)(window, choice.math).result()?;
        match (convolution.result, convolution.epilogue, bias) {
            (ConvolutionResult::Output, Some(activation), Some(bias)) => {
                let (bias_of, function) = (functions.describe(Descriptors::Tensor)?, functions.describe(Descriptors::Activation)?);
                (functions.set_tensor)(bias_of.handle, CHANNELS_LAST, element(convolution)?, 1, int(convolution.filter[0])?, 1, 1)
                    .result()?;
                let mode = if activation == Activation::Relu { RELU } else { IDENTITY };
                (functions.set_activation)(function.handle, mode, 1, 0.0).result()?;
                let bias = bias.0 as *const c_void;
                // The summand after the convolution has the factor 0: its address is not read.
                (functions.forward_with_bias)(
                    handle,
                    one,
                    x_of,
                    x,
                    w_of,
                    w,
                    window,
                    algorithm,
                    scratch,
                    bytes,
                    zero,
                    y_of,
                    y,
                    bias_of.handle,
                    bias,
                    function.handle,
                    y_of,
                    y,
                )
            }
            (ConvolutionResult::Output, ..) => {
                (functions.forward)(handle, one, x_of, x, w_of, w, window, algorithm, scratch, bytes, zero, y_of, y)
            }
            (ConvolutionResult::InputGradient, ..) => {
                (functions.backward_input)(handle, one, w_of, w, y_of, y, window, algorithm, scratch, bytes, zero, x_of, x)
            }
            (ConvolutionResult::FilterGradient, ..) => {
                (functions.backward_filter)(handle, one, x_of, x, y_of, y, window, algorithm, scratch, bytes, zero, w_of, w)
            }
        }
        .result()
    }
}
