//! Matrix products with epilogues by cuBLASLt.
//!
//! An error of the library is not one of the step: the product is then computed by other kernels. The first error is written to standard error, and
//! after an error other than that a product is not supported, the library is not called any more.

use crate::backend::{Activation, Epilogue, Gemm};
use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{self, cublasLtEpilogue_t as Kind};
use cudarc::driver::result::{free_sync, malloc_sync};
use cudarc::driver::sys::CUstream;
use flowmill_tensor::DType;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The size of the workspace in bytes, which NVIDIA recommends for Hopper.
const WORKSPACE: usize = 32 << 20;

/// cuBLASLt, which is opened by the first product. All products use one workspace, so that they must run in the order in which they are enqueued.
pub(super) struct BlasLt {
    library: Library,
    /// The address of the workspace and its size, which may be 0. It is kept when the library has failed, because captured products use it.
    workspace: (u64, usize),
}

enum Library {
    NotOpened,
    /// Not installed, or it has failed.
    Absent,
    Open(sys::cublasLtHandle_t),
}

/// A description that is destroyed when it is dropped.
struct Described<T: Copy>(T, unsafe fn(T) -> Result<(), CublasError>);

impl<T: Copy> Drop for Described<T> {
    fn drop(&mut self) {
        // SAFETY: the description was made once and is destroyed once.
        let _ = unsafe { (self.1)(self.0) };
    }
}

impl BlasLt {
    pub(super) fn new() -> BlasLt {
        BlasLt { library: Library::NotOpened, workspace: (0, 0) }
    }

    /// Closes the library, does not open it again, and frees the workspace.
    pub(super) fn close(&mut self) {
        self.stop();
        let (start, bytes) = std::mem::take(&mut self.workspace);
        if bytes > 0 {
            // SAFETY: the workspace was allocated once, and no product uses it any more.
            let _ = unsafe { free_sync(start) };
        }
    }

    /// Closes the library and does not open it again.
    fn stop(&mut self) {
        if let Library::Open(handle) = std::mem::replace(&mut self.library, Library::Absent) {
            // SAFETY: the handle was made once and is destroyed once.
            let _ = unsafe { result::destroy_handle(handle) };
        }
    }

    /// Enqueues a product on `stream`. Returns false if the library is missing, does not compute such products, or fails.
    pub(super) fn gemm(&mut self, product: &Gemm, epilogue: Epilogue, stream: CUstream) -> bool {
        // A function that the library lacks ends in a panic.
        match catch_unwind(AssertUnwindSafe(|| self.enqueue(product, epilogue, stream))) {
            Ok(Ok(is_done)) => is_done,
            Ok(Err(CublasError(sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED))) => false,
            failed => {
                let reason = match failed {
                    Ok(Err(CublasError(status))) => format!("{status:?}"),
                    _ => "it lacks a function".to_owned(),
                };
                eprintln!("flowmill: cuBLASLt is not used any more: {reason}");
                self.stop();
                false
            }
        }
    }

    /// Opens the library. Returns `None` if it is not installed.
    fn open(&mut self) -> Result<Option<(sys::cublasLtHandle_t, (u64, usize))>, CublasError> {
        if let Library::NotOpened = self.library {
            // SAFETY: loading the library runs its initialisers, which have no further conditions.
            self.library = if unsafe { sys::is_culib_present() } {
                let handle = result::create_handle()?;
                // SAFETY: nobody reads the workspace before the library has written to it. Without one, fewer algorithms can be chosen.
                self.workspace = unsafe { malloc_sync(WORKSPACE) }.map_or((0, 0), |start| (start, WORKSPACE));
                Library::Open(handle)
            } else {
                Library::Absent
            };
        }
        Ok(match self.library {
            Library::Open(handle) => Some((handle, self.workspace)),
            _ => None,
        })
    }

    fn enqueue(&mut self, product: &Gemm, epilogue: Epilogue, stream: CUstream) -> Result<bool, CublasError> {
        use sys::cublasComputeType_t as Compute;
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let (element, compute) = match product.dtype {
            DType::F32 if product.allow_tf32 => (sys::cudaDataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F_FAST_TF32),
            DType::F32 => (sys::cudaDataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F),
            DType::F16 => (sys::cudaDataType::CUDA_R_16F, Compute::CUBLAS_COMPUTE_32F),
            DType::BF16 => (sys::cudaDataType::CUDA_R_16BF, Compute::CUBLAS_COMPUTE_32F),
            _ => return Ok(false),
        };
        if product.batch != 1 {
            return Ok(false);
        }
        let Some((handle, (workspace, workspace_size))) = self.open()? else { return Ok(false) };
        // cuBLASLt is column-major: it computes the transpose of C from the transposes of B and A. Its rows are then the columns of C, as a bias needs.
        let operation = Described(result::create_matmul_desc(compute, sys::cudaDataType::CUDA_R_32F)?, result::destroy_matmul_desc);
        set(&operation, Attribute::CUBLASLT_MATMUL_DESC_TRANSA, &i32::from(product.transpose_b))?;
        set(&operation, Attribute::CUBLASLT_MATMUL_DESC_TRANSB, &i32::from(product.transpose_a))?;
        let kind = match (epilogue.bias, epilogue.activation) {
            (None, Activation::Identity) => Kind::CUBLASLT_EPILOGUE_DEFAULT,
            (None, Activation::Relu) => Kind::CUBLASLT_EPILOGUE_RELU,
            (None, Activation::Gelu) => Kind::CUBLASLT_EPILOGUE_GELU,
            (Some(_), Activation::Identity) => Kind::CUBLASLT_EPILOGUE_BIAS,
            (Some(_), Activation::Relu) => Kind::CUBLASLT_EPILOGUE_RELU_BIAS,
            (Some(_), Activation::Gelu) => Kind::CUBLASLT_EPILOGUE_GELU_BIAS,
        };
        set(&operation, Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &(kind as u32))?;
        if let Some(bias) = epilogue.bias {
            set(&operation, Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.0)?;
        }
        // Rows and columns as they are stored, read by columns.
        let layout = |rows: usize, columns: usize| -> Result<_, CublasError> {
            let made = result::create_matrix_layout(element, columns as u64, rows as u64, columns.max(1) as i64)?;
            Ok(Described(made, result::destroy_matrix_layout))
        };
        let stored = |rows, columns, transposed| if transposed { layout(columns, rows) } else { layout(rows, columns) };
        let a = stored(product.m, product.k, product.transpose_a)?;
        let b = stored(product.k, product.n, product.transpose_b)?;
        let c = layout(product.m, product.n)?;
        let preference = Described(result::create_matmul_pref()?, result::destroy_matmul_pref);
        let limit = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
        // SAFETY: the description is alive, and the value lives through the call.
        unsafe { result::set_matmul_pref_attribute(preference.0, limit, (&raw const workspace_size).cast(), size_of::<usize>()) }?;
        // SAFETY: all descriptions are alive.
        let found = unsafe { result::get_matmul_algo_heuristic(handle, operation.0, b.0, a.0, c.0, c.0, preference.0) }?;
        let (one, zero) = (1f32, 0f32);
        let [address_a, address_b, address_c] = product.matrices.map(|address| address.0 as *mut c_void);
        // SAFETY: the matrices, the bias and the workspace are allocated with the sizes that the descriptions say, and alpha and beta live through the call.
        unsafe {
            result::matmul(
                handle,
                operation.0,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                address_b,
                b.0,
                address_a,
                a.0,
                address_c,
                c.0,
                address_c,
                c.0,
                &raw const found.algo,
                workspace as *mut c_void,
                workspace_size,
                stream.cast(),
            )
        }?;
        Ok(true)
    }
}

/// Sets an attribute of a product's description.
fn set<T>(
    operation: &Described<sys::cublasLtMatmulDesc_t>,
    attribute: sys::cublasLtMatmulDescAttributes_t,
    value: &T,
) -> Result<(), CublasError> {
    // SAFETY: the description is alive, and the value has the attribute's type and lives through the call.
    unsafe { result::set_matmul_desc_attribute(operation.0, attribute, std::ptr::from_ref(value).cast(), size_of::<T>()) }
}
