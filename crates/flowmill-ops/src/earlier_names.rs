//! Ops that early graphs call by another name, or with a handle of another type: each computes what the op that replaces it does.
//!
//! The signatures of the first version have handles of TensorArrays and stacks that are references to strings, those of the second version strings.
//! Kernels use handles of resources in their place.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Work;

pub(crate) const OPS: &[Op] = &[
    op("BatchMatrixBandPart", "(input: T, num_lower: int64, num_upper: int64) -> (band: T)")
        .attrs("T: type")
        .deprecated(14, "MatrixBandPart replaces it")
        .shape(shape::unknown),
    op("BatchMatrixDiag", "(diagonal: T) -> (output: T)")
        .attrs("T: type")
        .deprecated(14, "MatrixDiag replaces it")
        .shape(shape::unknown),
    op("BatchMatrixDiagPart", "(input: T) -> (diagonal: T)")
        .attrs("T: type")
        .deprecated(14, "MatrixDiagPart replaces it")
        .shape(shape::unknown),
    op("BatchMatrixSetDiag", "(input: T, diagonal: T) -> (output: T)")
        .attrs("T: type")
        .deprecated(14, "MatrixSetDiag replaces it")
        .shape(shape::unknown),
    op("BatchMatrixDeterminant", "(input: T) -> (output: T)").costly().work(Work::Cubic(1))
        .attrs("T: {float, double, complex64, complex128}")
        .deprecated(13, "MatrixDeterminant replaces it")
        .shape(shape::unknown),
    op("BatchMatrixInverse", "(input: T) -> (output: T)").costly().work(Work::Cubic(2))
        .attrs("adjoint: bool = false; T: {double, float}")
        .deprecated(13, "MatrixInverse replaces it")
        .shape(shape::unknown),
    op("BatchMatrixSolve", "(matrix: T, rhs: T) -> (output: T)").costly().work(Work::Cubic(1))
        .attrs("adjoint: bool = false; T: {double, float}")
        .deprecated(13, "MatrixSolve replaces it")
        .shape(shape::unknown),
    op("BatchMatrixSolveLs", "(matrix: T, rhs: T, l2_regularizer: double) -> (output: T)").costly().work(Work::Cubic(2))
        .attrs("T: {double, float}; fast: bool = true")
        .deprecated(13, "MatrixSolveLs replaces it")
        .shape(shape::unknown),
    op("BatchMatrixTriangularSolve", "(matrix: T, rhs: T) -> (output: T)").costly().work(Work::Cubic(1))
        .attrs("lower: bool = true; adjoint: bool = false; T: {double, float}")
        .deprecated(13, "MatrixTriangularSolve replaces it")
        .shape(shape::unknown),
    op("BatchCholesky", "(input: T) -> (output: T)").costly().work(Work::Cubic(1))
        .attrs("T: {double, float}")
        .deprecated(13, "Cholesky replaces it")
        .shape(shape::unknown),
    op("BatchCholeskyGrad", "(l: T, grad: T) -> (output: T)").costly().work(Work::Cubic(1))
        .attrs("T: {float, double}")
        .deprecated(13, "CholeskyGrad replaces it")
        .shape(shape::unknown),
    op("BatchSelfAdjointEig", "(input: T) -> (output: T)").costly().work(Work::Cubic(20))
        .attrs("T: {double, float}")
        .deprecated(11, "SelfAdjointEigV2 replaces it")
        .shape(shape::unknown),
    op("BatchSelfAdjointEigV2", "(input: T) -> (e: T, v: T)").costly().work(Work::Cubic(20))
        .attrs("compute_v: bool = true; T: {double, float}")
        .deprecated(13, "SelfAdjointEigV2 replaces it")
        .shape(shape::unknown),
    op("BatchSvd", "(input: T) -> (s: T, u: T, v: T)").costly().work(Work::Cubic(20))
        .attrs("compute_uv: bool = true; full_matrices: bool = false; T: {double, float, complex64, complex128}")
        .deprecated(13, "Svd replaces it")
        .shape(shape::unknown),
    op("BatchFFT", "(input: complex64) -> (output: complex64)").costly().work(Work::Fourier(1))
        .deprecated(15, "FFT replaces it")
        .shape(shape::unknown),
    op("BatchFFT2D", "(input: complex64) -> (output: complex64)").costly().work(Work::Fourier(2))
        .deprecated(15, "FFT2D replaces it")
        .shape(shape::unknown),
    op("BatchFFT3D", "(input: complex64) -> (output: complex64)").costly().work(Work::Fourier(3))
        .deprecated(15, "FFT3D replaces it")
        .shape(shape::unknown),
    op("BatchIFFT", "(input: complex64) -> (output: complex64)").costly().work(Work::Fourier(1))
        .deprecated(15, "IFFT replaces it")
        .shape(shape::unknown),
    op("BatchIFFT2D", "(input: complex64) -> (output: complex64)").costly().work(Work::Fourier(2))
        .deprecated(15, "IFFT2D replaces it")
        .shape(shape::unknown),
    op("BatchIFFT3D", "(input: complex64) -> (output: complex64)").costly().work(Work::Fourier(3))
        .deprecated(15, "IFFT3D replaces it")
        .shape(shape::unknown),
    op("SelfAdjointEig", "(input: T) -> (output: T)").costly().work(Work::Cubic(20))
        .attrs("T: {double, float, half}")
        .deprecated(11, "SelfAdjointEigV2 replaces it")
        .shape(shape::self_adjoint_eig_v1),
    op("AdjustContrast", "(images: T, contrast_factor: float, min_value: float, max_value: float) -> (output: float)").costly()
        .attrs("T: {uint8, int8, int16, int32, int64, float, double}")
        .deprecated(2, "AdjustContrastv2 replaces it")
        .shape(shape::adjust_contrast_v1),
    op("TileGrad", "(input: T, multiples: int32) -> (output: T)")
        .attrs("T: type")
        .deprecated(3, "Sum of a reshaped tensor replaces it")
        .shape(shape::unknown),
    op("Stack", "() -> (handle: Ref(string))")
        .not_differentiable()
        .attrs("elem_type: type; stack_name: string = ''")
        .stateful()
        .shape(shape::vectors_of::<2>),
    op("StackPush", "(handle: Ref(string), elem: T) -> (output: T)").handles_object()
        .not_differentiable()
        .attrs("T: type; swap_memory: bool = false")
        .shape(shape::stack_push),
    op("StackPop", "(handle: Ref(string)) -> (elem: elem_type)").handles_object()
        .not_differentiable()
        .attrs("elem_type: type")
        .shape(shape::unknown),
    op("StackClose", "(handle: Ref(string))").handles_object()
        .not_differentiable()
        .shape(shape::unknown),
    op("TensorArray", "(size: int32) -> (handle: Ref(string))")
        .not_differentiable()
        .attrs("dtype: type; dynamic_size: bool = false; clear_after_read: bool = true; tensor_array_name: string = ''; element_shape: shape = unknown")
        .stateful()
        .deprecated(16, "TensorArrayV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayGrad", "(handle: string, flow_in: float) -> (grad_handle: Ref(string))")
        .not_differentiable()
        .attrs("source: string")
        .stateful()
        .deprecated(16, "TensorArrayGradV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayWrite", "(handle: Ref(string), index: int32, value: T, flow_in: float) -> (flow_out: float)").handles_object()
        .gradient(gradient::tensor_array_write)
        .attrs("T: type")
        .deprecated(16, "TensorArrayWriteV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayRead", "(handle: Ref(string), index: int32, flow_in: float) -> (value: dtype)").handles_object()
        .gradient(gradient::tensor_array_read)
        .attrs("dtype: type")
        .deprecated(16, "TensorArrayReadV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayPack", "(handle: Ref(string), flow_in: float) -> (value: dtype)").handles_object()
        .attrs("dtype: type; element_shape: shape = unknown")
        .deprecated(16, "TensorArrayGatherV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayUnpack", "(handle: Ref(string), value: T, flow_in: float) -> (flow_out: float)").handles_object()
        .attrs("T: type")
        .deprecated(20, "TensorArrayScatterV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayGather", "(handle: Ref(string), indices: int32, flow_in: float) -> (value: dtype)").handles_object()
        .gradient(gradient::tensor_array_gather)
        .attrs("dtype: type; element_shape: shape = unknown")
        .deprecated(16, "TensorArrayGatherV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayScatter", "(handle: Ref(string), indices: int32, value: T, flow_in: float) -> (flow_out: float)").handles_object()
        .gradient(gradient::tensor_array_scatter)
        .attrs("T: type")
        .deprecated(19, "TensorArrayScatterV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayConcat", "(handle: Ref(string), flow_in: float) -> (value: dtype, lengths: int64)").handles_object()
        .gradient(gradient::tensor_array_concat)
        .attrs("dtype: type; element_shape_except0: shape = unknown")
        .deprecated(16, "TensorArrayConcatV3 replaces it")
        .shape(shape::unknown),
    op("TensorArraySplit", "(handle: Ref(string), value: T, lengths: int64, flow_in: float) -> (flow_out: float)").handles_object()
        .gradient(gradient::tensor_array_split)
        .attrs("T: type")
        .deprecated(16, "TensorArraySplitV3 replaces it")
        .shape(shape::unknown),
    op("TensorArraySize", "(handle: Ref(string), flow_in: float) -> (size: int32)").handles_object()
        .not_differentiable()
        .deprecated(16, "TensorArraySizeV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayClose", "(handle: Ref(string))").handles_object()
        .not_differentiable()
        .deprecated(16, "TensorArrayCloseV3 replaces it")
        .shape(shape::unknown),
    op("TensorArrayV2", "(size: int32) -> (handle: string)").gives_handle_for_string()
        .not_differentiable()
        .attrs("dtype: type; element_shape: shape = unknown; dynamic_size: bool = false; clear_after_read: bool = true; tensor_array_name: string = ''")
        .stateful()
        .deprecated(26, "TensorArrayV3 replaces it")
        .shape(shape::tensor_array_v2),
    op("TensorArrayGradV2", "(handle: string, flow_in: float) -> (grad_handle: string)").gives_handle_for_string()
        .not_differentiable()
        .attrs("source: string")
        .stateful()
        .deprecated(26, "TensorArrayGradV3 replaces it")
        .shape(shape::tensor_array_grad_v2),
    op("TensorArrayWriteV2", "(handle: string, index: int32, value: T, flow_in: float) -> (flow_out: float)").handles_object()
        .gradient(gradient::tensor_array_write)
        .attrs("T: type")
        .deprecated(26, "TensorArrayWriteV3 replaces it")
        .shape(shape::tensor_array_write),
    op("TensorArrayReadV2", "(handle: string, index: int32, flow_in: float) -> (value: dtype)").handles_object()
        .gradient(gradient::tensor_array_read)
        .attrs("dtype: type")
        .deprecated(26, "TensorArrayReadV3 replaces it")
        .shape(shape::tensor_array_read),
    op("TensorArrayGatherV2", "(handle: string, indices: int32, flow_in: float) -> (value: dtype)").handles_object()
        .gradient(gradient::tensor_array_gather)
        .attrs("dtype: type; element_shape: shape = unknown")
        .deprecated(26, "TensorArrayGatherV3 replaces it")
        .shape(shape::tensor_array_gather_v2),
    op("TensorArrayScatterV2", "(handle: string, indices: int32, value: T, flow_in: float) -> (flow_out: float)").handles_object()
        .gradient(gradient::tensor_array_scatter)
        .attrs("T: type")
        .deprecated(26, "TensorArrayScatterV3 replaces it")
        .shape(shape::tensor_array_scatter),
    op("TensorArraySplitV2", "(handle: string, value: T, lengths: int64, flow_in: float) -> (flow_out: float)").handles_object()
        .gradient(gradient::tensor_array_split)
        .attrs("T: type")
        .deprecated(26, "TensorArraySplitV3 replaces it")
        .shape(shape::tensor_array_split),
    op("TensorArraySizeV2", "(handle: string, flow_in: float) -> (size: int32)").handles_object()
        .not_differentiable()
        .deprecated(26, "TensorArraySizeV3 replaces it")
        .shape(shape::tensor_array_size),
    op("TensorArrayCloseV2", "(handle: string)").handles_object()
        .not_differentiable()
        .deprecated(26, "TensorArrayCloseV3 replaces it")
        .shape(shape::tensor_array_close_v2),
];
