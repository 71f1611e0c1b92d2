//! The functions of cuDNN that Flowmill calls: convolutions of images with channels last and their gradients.

use crate::convolutions::{
    BAD_PARAM, Call, Description, GRADIENTS, IDENTITY, NOT_INITIALIZED, NOT_SUPPORTED, OUTPUT, RELU, SUCCESS, Shapes, Status, Written,
};
use crate::objects::CONTROLS;
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

/// `CUDNN_TENSOR_NHWC`.
const CHANNELS_LAST: c_int = 1;
/// `CUDNN_CROSS_CORRELATION`.
const CROSS_CORRELATION: c_int = 1;
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
            Call { shapes, written: Written::$written, algorithm, addresses: $addresses, workspace: (workspace, bytes), bias: None }.enqueue(handle.0)
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
    Call { shapes, written: Written::Output, algorithm, addresses, workspace: (workspace, bytes), bias }.enqueue(handle.0)
}
