//! The functions of cuDNN that are called, with their types.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

/// `cudnnHandle_t`.
pub(super) type Handle = *mut c_void;
/// A description of a tensor, a filter, a convolution or an activation.
type Description = *mut c_void;

/// `cudnnStatus_t`. It is a number, because later versions have more values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Status(pub(super) c_int);

impl Status {
    pub(super) const SUCCESS: Status = Status(0);
    pub(super) const NOT_SUPPORTED: Status = Status(3000);

    pub(super) fn result(self) -> Result<(), Status> {
        if self == Status::SUCCESS { Ok(()) } else { Err(self) }
    }

    /// Returns true for `CUDNN_STATUS_NOT_SUPPORTED` and its more precise kin.
    pub(super) fn is_not_supported(self) -> bool {
        (3000..4000).contains(&self.0)
    }
}

/// `cudnnConvolutionFwdAlgoPerf_t` and those of the gradients.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Performance {
    pub(super) algorithm: c_int,
    pub(super) status: Status,
    _time: f32,
    pub(super) memory: usize,
    pub(super) determinism: c_int,
    pub(super) math: c_int,
    _reserved: [c_int; 3],
}

impl Performance {
    pub(super) const NONE: Performance =
        Performance { algorithm: 0, status: Status(-1), _time: 0.0, memory: 0, determinism: 0, math: 0, _reserved: [0; 3] };
}

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($argument:ty),* $(,)?);)*) => {
        /// The functions of the library, which stays loaded as long as they live.
        pub(super) struct Functions {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> Status,)*
            _library: libloading::Library,
        }

        impl Functions {
            /// Looks up all functions.
            ///
            /// # Errors
            /// Returns the error for one that the library lacks.
            pub(super) fn load(library: libloading::Library) -> Result<Functions, libloading::Error> {
                // SAFETY: the functions have these types in all versions of cuDNN 9.
                unsafe { Ok(Functions { $($field: *library.get(concat!($symbol, "\0").as_bytes())?,)* _library: library }) }
            }
        }
    };
}

type Algorithms = *mut Performance;

functions! {
    create = "cudnnCreate"(*mut Handle);
    destroy = "cudnnDestroy"(Handle);
    set_stream = "cudnnSetStream"(Handle, *mut c_void);
    create_tensor = "cudnnCreateTensorDescriptor"(*mut Description);
    destroy_tensor = "cudnnDestroyTensorDescriptor"(Description);
    // The format, the type, and the numbers of images, channels, rows and columns.
    set_tensor = "cudnnSetTensor4dDescriptor"(Description, c_int, c_int, c_int, c_int, c_int, c_int);
    create_filter = "cudnnCreateFilterDescriptor"(*mut Description);
    destroy_filter = "cudnnDestroyFilterDescriptor"(Description);
    // The type, the format, and the numbers of output channels, input channels, rows and columns.
    set_filter = "cudnnSetFilter4dDescriptor"(Description, c_int, c_int, c_int, c_int, c_int, c_int);
    create_convolution = "cudnnCreateConvolutionDescriptor"(*mut Description);
    destroy_convolution = "cudnnDestroyConvolutionDescriptor"(Description);
    // Padding, strides and dilations, each down and across, the mode, and the type of sums.
    set_convolution = "cudnnSetConvolution2dDescriptor"(Description, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int);
    set_groups = "cudnnSetConvolutionGroupCount"(Description, c_int);
    set_math = "cudnnSetConvolutionMathType"(Description, c_int);
    create_activation = "cudnnCreateActivationDescriptor"(*mut Description);
    destroy_activation = "cudnnDestroyActivationDescriptor"(Description);
    set_activation = "cudnnSetActivationDescriptor"(Description, c_int, c_int, f64);
    forward_algorithms = "cudnnGetConvolutionForwardAlgorithm_v7"
        (Handle, Description, Description, Description, Description, c_int, *mut c_int, Algorithms);
    input_algorithms = "cudnnGetConvolutionBackwardDataAlgorithm_v7"
        (Handle, Description, Description, Description, Description, c_int, *mut c_int, Algorithms);
    filter_algorithms = "cudnnGetConvolutionBackwardFilterAlgorithm_v7"
        (Handle, Description, Description, Description, Description, c_int, *mut c_int, Algorithms);
    forward = "cudnnConvolutionForward"
        (Handle, *const c_void, Description, *const c_void, Description, *const c_void, Description, c_int, *mut c_void, usize, *const c_void,
         Description, *mut c_void);
    backward_input = "cudnnConvolutionBackwardData"
        (Handle, *const c_void, Description, *const c_void, Description, *const c_void, Description, c_int, *mut c_void, usize, *const c_void,
         Description, *mut c_void);
    backward_filter = "cudnnConvolutionBackwardFilter"
        (Handle, *const c_void, Description, *const c_void, Description, *const c_void, Description, c_int, *mut c_void, usize, *const c_void,
         Description, *mut c_void);
    forward_with_bias = "cudnnConvolutionBiasActivationForward"
        (Handle, *const c_void, Description, *const c_void, Description, *const c_void, Description, c_int, *mut c_void, usize, *const c_void,
         Description, *const c_void, Description, *const c_void, Description, Description, *mut c_void);
}

/// The kinds of descriptions.
#[derive(Clone, Copy)]
pub(super) enum Descriptors {
    Tensor,
    Filter,
    Convolution,
    Activation,
}

/// A description that is destroyed when it is dropped.
pub(super) struct Descriptor<'a> {
    pub(super) handle: Description,
    destroy: unsafe extern "C" fn(Description) -> Status,
    _functions: PhantomData<&'a Functions>,
}

impl Drop for Descriptor<'_> {
    fn drop(&mut self) {
        // SAFETY: the description was made once and is destroyed once.
        let _ = unsafe { (self.destroy)(self.handle) };
    }
}

impl Functions {
    /// Creates a description.
    ///
    /// # Errors
    /// Returns the library's error.
    pub(super) fn describe(&self, kind: Descriptors) -> Result<Descriptor<'_>, Status> {
        let (create, destroy) = match kind {
            Descriptors::Tensor => (self.create_tensor, self.destroy_tensor),
            Descriptors::Filter => (self.create_filter, self.destroy_filter),
            Descriptors::Convolution => (self.create_convolution, self.destroy_convolution),
            Descriptors::Activation => (self.create_activation, self.destroy_activation),
        };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle is written to a place that lives through the call.
        unsafe { create(&raw mut handle) }.result()?;
        Ok(Descriptor { handle, destroy, _functions: PhantomData })
    }
}
