//! The functions of cuDNN that Flowmill calls: convolutions of images with channels last and their gradients, on the host.

use crate::errors::{self, INVALID_VALUE, check};
use crate::numbers::Number;
use crate::objects::{CONTROLS, current, objects, run};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

/// `cudnnStatus_t`.
type Status = c_int;
const SUCCESS: Status = 0;
const NOT_INITIALIZED: Status = 1001;
const BAD_PARAM: Status = 2000;
const NOT_SUPPORTED: Status = 3000;
const EXECUTION_FAILED: Status = 5000;

/// `CUDNN_TENSOR_NHWC`.
const CHANNELS_LAST: c_int = 1;
/// `CUDNN_CROSS_CORRELATION`.
const CROSS_CORRELATION: c_int = 1;
/// `CUDNN_ACTIVATION_RELU` and `CUDNN_ACTIVATION_IDENTITY`.
const RELU: c_int = 1;
const IDENTITY: c_int = 5;
/// `CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM`, the one algorithm for a bias without an activation.
const PRECOMPUTED: c_int = 1;

/// Algorithms by their number, bytes of workspace and determinism, the fastest first. The first one of outputs needs more memory than any GPU has.
const OUTPUT: &[(c_int, usize, c_int)] = &[(6, 1 << 40, 1), (0, 0, 1), (PRECOMPUTED, 64, 1)];
const GRADIENTS: &[(c_int, usize, c_int)] = &[(0, 0, 0), (1, 128, 1)];

/// A description of any kind. Tensors and filters have four sizes: images or output channels, channels, rows, columns.
#[derive(Clone, Copy, Default)]
struct Description {
    dtype: c_int,
    sizes: [usize; 4],
    pads: [usize; 2],
    strides: [usize; 2],
    dilations: [usize; 2],
    groups: usize,
    activation: c_int,
}

impl Description {
    fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    fn bytes(&self) -> usize {
        self.len() * if self.dtype == 0 { 4 } else { 2 }
    }

    /// Returns the number of the element at these places, where channels are last.
    fn at(&self, [n, c, y, x]: [usize; 4]) -> usize {
        let [_, channels, rows, columns] = self.sizes;
        ((n * rows + y) * columns + x) * channels + c
    }
}

macro_rules! descriptions {
    ($($create:ident $destroy:ident),*) => {$(
        /// # Safety
        /// `to` must be valid for a write.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $create(to: *mut *mut Description) -> Status {
            // SAFETY: as the function requires.
            unsafe { to.write(Box::into_raw(Box::default())) };
            SUCCESS
        }

        /// # Safety
        /// The description must have been created and must not be destroyed twice.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $destroy(description: *mut Description) -> Status {
            // SAFETY: as the function requires.
            drop(unsafe { Box::from_raw(description) });
            SUCCESS
        }
    )*};
}

descriptions! {
    cudnnCreateTensorDescriptor cudnnDestroyTensorDescriptor,
    cudnnCreateFilterDescriptor cudnnDestroyFilterDescriptor,
    cudnnCreateConvolutionDescriptor cudnnDestroyConvolutionDescriptor,
    cudnnCreateActivationDescriptor cudnnDestroyActivationDescriptor
}

/// `cudnnHandle_t`: the stream.
struct Handle(usize);

/// # Safety
/// `handle` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnCreate(handle: *mut *mut Handle) -> Status {
    if !CONTROLS.has_dnn.load(Ordering::SeqCst) {
        return NOT_INITIALIZED;
    }
    // SAFETY: as the function requires.
    unsafe { handle.write(Box::into_raw(Box::new(Handle(0)))) };
    SUCCESS
}

/// # Safety
/// The handle must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnDestroy(handle: *mut Handle) -> Status {
    // SAFETY: as the function requires.
    drop(unsafe { Box::from_raw(handle) });
    SUCCESS
}

/// # Safety
/// The handle must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetStream(handle: *mut Handle, stream: usize) -> Status {
    // SAFETY: as the function requires.
    unsafe { (*handle).0 = stream };
    SUCCESS
}

fn sizes(values: [c_int; 4]) -> Option<[usize; 4]> {
    let sizes = values.map(|value| usize::try_from(value).unwrap_or(0));
    (!sizes.contains(&0)).then_some(sizes)
}

/// # Safety
/// The description must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetTensor4dDescriptor(
    tensor: *mut Description,
    format: c_int,
    dtype: c_int,
    n: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Status {
    let Some(sizes) = sizes([n, c, h, w]) else { return BAD_PARAM };
    if format != CHANNELS_LAST {
        return NOT_SUPPORTED;
    }
    // SAFETY: as the function requires.
    unsafe { tensor.write(Description { dtype, sizes, ..Description::default() }) };
    SUCCESS
}

/// # Safety
/// The description must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetFilter4dDescriptor(
    filter: *mut Description,
    dtype: c_int,
    format: c_int,
    k: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Status {
    // SAFETY: as the function requires.
    unsafe { cudnnSetTensor4dDescriptor(filter, format, dtype, k, c, h, w) }
}

/// # Safety
/// The description must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetConvolution2dDescriptor(
    convolution: *mut Description,
    pad_y: c_int,
    pad_x: c_int,
    stride_y: c_int,
    stride_x: c_int,
    dilation_y: c_int,
    dilation_x: c_int,
    mode: c_int,
    sums: c_int,
) -> Status {
    let pair = |values: [c_int; 2]| values.map(|value| value.max(0) as usize);
    if pad_y < 0 || pad_x < 0 || [stride_y, stride_x, dilation_y, dilation_x].iter().any(|&step| step < 1) {
        return BAD_PARAM;
    }
    if mode != CROSS_CORRELATION || sums != 0 {
        return NOT_SUPPORTED;
    }
    let (pads, strides, dilations) = (pair([pad_y, pad_x]), pair([stride_y, stride_x]), pair([dilation_y, dilation_x]));
    // SAFETY: as the function requires.
    unsafe { convolution.write(Description { pads, strides, dilations, groups: 1, ..Description::default() }) };
    SUCCESS
}

/// # Safety
/// The description must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetConvolutionGroupCount(convolution: *mut Description, groups: c_int) -> Status {
    if groups < 1 {
        return BAD_PARAM;
    }
    // SAFETY: as the function requires.
    unsafe { (*convolution).groups = groups as usize };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cudnnSetConvolutionMathType(_convolution: *mut Description, math: c_int) -> Status {
    if (0..4).contains(&math) { SUCCESS } else { BAD_PARAM }
}

/// # Safety
/// The description must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnSetActivationDescriptor(activation: *mut Description, mode: c_int, _nan: c_int, _coefficient: f64) -> Status {
    if mode != RELU && mode != IDENTITY {
        return NOT_SUPPORTED;
    }
    // SAFETY: as the function requires.
    unsafe { (*activation).activation = mode };
    SUCCESS
}

/// `cudnnConvolutionFwdAlgoPerf_t`.
#[repr(C)]
struct Performance {
    algorithm: c_int,
    status: Status,
    time: f32,
    memory: usize,
    determinism: c_int,
    math: c_int,
    reserved: [c_int; 3],
}

/// The shapes of a convolution: those of the input, the filter and the output, and the windows.
#[derive(Clone, Copy)]
struct Shapes {
    x: Description,
    w: Description,
    y: Description,
    window: Description,
}

impl Shapes {
    /// Returns the shapes, or the status for those that do not fit each other.
    fn new([x, w, y, window]: [Description; 4]) -> Result<Shapes, Status> {
        let ([n, channels, rows, columns], [k, depth, height, width]) = (x.sizes, w.sizes);
        let extent = |i: usize, input: usize, size: usize| {
            let reach = (size - 1) * window.dilations[i] + 1;
            (input + 2 * window.pads[i]).checked_sub(reach).map(|rest| rest / window.strides[i] + 1)
        };
        let output = (extent(0, rows, height), extent(1, columns, width));
        let groups = window.groups;
        let fits = output == (Some(y.sizes[2]), Some(y.sizes[3])) && y.sizes[..2] == [n, k];
        if !fits || channels != depth * groups || !k.is_multiple_of(groups) || [w.dtype, y.dtype] != [x.dtype; 2] {
            return Err(BAD_PARAM);
        }
        if ![0, 2, 9].contains(&x.dtype) {
            return Err(NOT_SUPPORTED);
        }
        Ok(Shapes { x, w, y, window })
    }

    /// Calls `f` with the numbers of each input, filter and output element that are multiplied and added, in order.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        let ([n, k, out_rows, out_columns], [_, depth, height, width]) = (self.y.sizes, self.w.sizes);
        let per_group = k / self.window.groups;
        let place = |i: usize, at: usize, tap: usize| {
            let place = (at * self.window.strides[i] + tap * self.window.dilations[i]).checked_sub(self.window.pads[i])?;
            (place < self.x.sizes[2 + i]).then_some(place)
        };
        for image in 0..n {
            for (y, x) in (0..out_rows).flat_map(|y| (0..out_columns).map(move |x| (y, x))) {
                for (i, j) in (0..height).flat_map(|i| (0..width).map(move |j| (i, j))) {
                    let (Some(row), Some(column)) = (place(0, y, i), place(1, x, j)) else { continue };
                    for channel in 0..k {
                        for d in 0..depth {
                            let from = self.x.at([image, channel / per_group * depth + d, row, column]);
                            f(from, self.w.at([channel, d, i, j]), self.y.at([image, channel, y, x]));
                        }
                    }
                }
            }
        }
    }
}

/// Writes the algorithms of a convolution.
///
/// # Safety
/// The descriptions must have been created, and the results must be valid for writes.
unsafe fn algorithms(
    shapes: [*mut Description; 4],
    all: &[(c_int, usize, c_int)],
    wanted: c_int,
    count: *mut c_int,
    results: *mut Performance,
) -> Status {
    // SAFETY: as the function requires.
    unsafe {
        if let Err(status) = Shapes::new(shapes.map(|description| *description)) {
            return status;
        }
        let all = &all[..all.len().min(wanted.max(0) as usize)];
        count.write(all.len() as c_int);
        for (i, &(algorithm, memory, determinism)) in all.iter().enumerate() {
            let result = Performance { algorithm, status: SUCCESS, time: i as f32, memory, determinism, math: 0, reserved: [0; 3] };
            results.add(i).write(result);
        }
    }
    SUCCESS
}

macro_rules! algorithm_queries {
    ($($name:ident ($a:ident, $b:ident, $c:ident, $d:ident) $shapes:expr, $algorithms:ident;)*) => {$(
        /// # Safety
        /// The descriptions must have been created, and the results must be valid for writes.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            _handle: *mut Handle,
            $a: *mut Description,
            $b: *mut Description,
            $c: *mut Description,
            $d: *mut Description,
            wanted: c_int,
            count: *mut c_int,
            results: *mut Performance,
        ) -> Status {
            // SAFETY: as the function requires.
            unsafe { algorithms($shapes, $algorithms, wanted, count, results) }
        }
    )*};
}

algorithm_queries! {
    cudnnGetConvolutionForwardAlgorithm_v7(x, w, window, y) [x, w, y, window], OUTPUT;
    cudnnGetConvolutionBackwardDataAlgorithm_v7(w, y, window, x) [x, w, y, window], GRADIENTS;
    cudnnGetConvolutionBackwardFilterAlgorithm_v7(x, y, window, w) [x, w, y, window], GRADIENTS;
}

/// The tensor that a convolution writes.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    Input,
    Filter,
    Output,
}

/// A convolution that is enqueued: its algorithm, the addresses of the input, the filter and the output, the workspace, and the bias with its activation.
struct Call {
    shapes: Shapes,
    written: Written,
    algorithm: c_int,
    addresses: [u64; 3],
    workspace: (u64, usize),
    bias: Option<(u64, c_int)>,
}

impl Call {
    /// Enqueues the convolution on the handle's stream.
    fn enqueue(self, handle: &Handle) -> Status {
        if CONTROLS.fails_convolutions.load(Ordering::SeqCst) {
            return EXECUTION_FAILED;
        }
        let all = if self.written == Written::Output { OUTPUT } else { GRADIENTS };
        let Some(&(number, memory, determinism)) = all.iter().find(|(number, ..)| *number == self.algorithm) else { return BAD_PARAM };
        if self.workspace.1 < memory {
            return BAD_PARAM;
        }
        if self.bias.is_some_and(|(_, mode)| mode == IDENTITY && number != PRECOMPUTED) {
            return NOT_SUPPORTED;
        }
        let enqueued = match self.shapes.x.dtype {
            0 => self.run::<f32>(handle.0, memory),
            2 => self.run::<crate::numbers::Half>(handle.0, memory),
            _ => self.run::<crate::numbers::Bfloat>(handle.0, memory),
        };
        if enqueued.is_err() {
            return BAD_PARAM;
        }
        CONTROLS.convolutions.fetch_add(1, Ordering::SeqCst);
        CONTROLS.unordered_convolutions.fetch_add(u64::from(determinism == 0), Ordering::SeqCst);
        SUCCESS
    }

    fn run<T: Number>(self, stream: usize, memory: usize) -> Result<(), errors::Code> {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        let Shapes { x, w, y, .. } = self.shapes;
        let has = |start: u64, bytes: usize| objects.is_memory(start, bytes, device);
        check([x, w, y].iter().zip(self.addresses).all(|(of, start)| has(start, of.bytes())), INVALID_VALUE)?;
        check(memory == 0 || has(self.workspace.0, memory), INVALID_VALUE)?;
        check(self.bias.is_none_or(|(start, _)| has(start, y.sizes[1] * size_of::<T>())), INVALID_VALUE)?;
        drop(objects);
        let work = run(controls, move || {
            // SAFETY: the ranges were checked, and stay allocated until the work is done.
            unsafe { self.compute::<T>(memory) };
            Ok(())
        });
        stream.enqueue(work)
    }

    /// Computes the convolution in `f32`.
    ///
    /// # Safety
    /// The addresses must be of memory with the sizes of the shapes.
    unsafe fn compute<T: Number>(&self, memory: usize) {
        let Shapes { x, w, y, .. } = self.shapes;
        // SAFETY: as the function requires.
        let read = |start: u64, i: usize| unsafe { (*(start as *const T).add(i)).value() };
        let [at_x, at_w, at_y] = self.addresses;
        // SAFETY: as the function requires.
        unsafe { std::ptr::write_bytes(self.workspace.0 as *mut u8, 0xff, memory) };
        let (to, of) = match self.written {
            Written::Input => (at_x, x),
            Written::Filter => (at_w, w),
            Written::Output => (at_y, y),
        };
        let mut sums = vec![0f32; of.len()];
        self.shapes.each(|i, f, o| match self.written {
            Written::Input => sums[i] += read(at_w, f) * read(at_y, o),
            Written::Filter => sums[f] += read(at_x, i) * read(at_y, o),
            Written::Output => sums[o] += read(at_x, i) * read(at_w, f),
        });
        for (i, sum) in sums.into_iter().enumerate() {
            let value = match self.bias {
                None => sum,
                Some((bias, mode)) => {
                    let value = sum + read(bias, i % y.sizes[1]);
                    if mode == RELU { value.max(0.0) } else { value }
                }
            };
            // SAFETY: as the function requires.
            unsafe { *(to as *mut T).add(i) = T::of(value) };
        }
    }
}

macro_rules! convolutions {
    (
        $($name:ident ($a:ident $at_a:ident, $b:ident $at_b:ident, $window:ident, $c:ident $at_c:ident) $shapes:expr, $addresses:expr, $written:ident;)*
    ) => {$(
        /// # Safety
        /// The descriptions must have been created, and the factors must be numbers.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            handle: *mut Handle,
            alpha: *const f32,
            $a: *mut Description,
            $at_a: u64,
            $b: *mut Description,
            $at_b: u64,
            $window: *mut Description,
            algorithm: c_int,
            workspace: u64,
            bytes: usize,
            beta: *const f32,
            $c: *mut Description,
            $at_c: u64,
        ) -> Status {
            // SAFETY: as the function requires.
            let (factors, shapes, handle) = unsafe { ([*alpha, *beta], $shapes.map(|of| *of), &*handle) };
            if factors != [1.0, 0.0] {
                return NOT_SUPPORTED;
            }
            let shapes = match Shapes::new(shapes) {
                Ok(shapes) => shapes,
                Err(status) => return status,
            };
            Call { shapes, written: Written::$written, algorithm, addresses: $addresses, workspace: (workspace, bytes), bias: None }.enqueue(handle)
        }
    )*};
}

convolutions! {
    cudnnConvolutionForward(x at_x, w at_w, window, y at_y) [x, w, y, window], [at_x, at_w, at_y], Output;
    cudnnConvolutionBackwardData(w at_w, y at_y, window, x at_x) [x, w, y, window], [at_x, at_w, at_y], Input;
    cudnnConvolutionBackwardFilter(x at_x, y at_y, window, w at_w) [x, w, y, window], [at_x, at_w, at_y], Filter;
}

/// # Safety
/// The descriptions must have been created, and the factors must be numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn cudnnConvolutionBiasActivationForward(
    handle: *mut Handle,
    alpha: *const f32,
    x: *mut Description,
    at_x: u64,
    w: *mut Description,
    at_w: u64,
    window: *mut Description,
    algorithm: c_int,
    workspace: u64,
    bytes: usize,
    beta: *const f32,
    _z: *mut Description,
    at_z: *const c_void,
    bias: *mut Description,
    at_bias: u64,
    activation: *mut Description,
    y: *mut Description,
    at_y: u64,
) -> Status {
    // SAFETY: as the function requires.
    let (factors, shapes, handle) = unsafe { ([*alpha, *beta], Shapes::new([*x, *w, *y, *window]), &*handle) };
    // SAFETY: as above.
    let (bias, mode) = unsafe { (*bias, (*activation).activation) };
    let shapes = match shapes {
        Ok(shapes) => shapes,
        Err(status) => return status,
    };
    if factors != [1.0, 0.0] || at_z.is_null() {
        return NOT_SUPPORTED;
    }
    if bias.sizes != [1, shapes.y.sizes[1], 1, 1] || bias.dtype != shapes.y.dtype {
        return BAD_PARAM;
    }
    let (addresses, bias) = ([at_x, at_w, at_y], Some((at_bias, mode)));
    Call { shapes, written: Written::Output, algorithm, addresses, workspace: (workspace, bytes), bias }.enqueue(handle)
}
