//! Matrix products by cuBLAS.

use crate::backend::{Gemm, Update};
use cudarc::cublas::sys::{cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t};
use cudarc::cublas::{result, sys};
use cudarc::driver::sys::CUstream;
use flowmill_tensor::{DType, Error, Result, bail, error};
use std::ffi::c_void;

/// cuBLAS, which is opened by the first product.
pub(super) struct Blas {
    library: Library,
}

enum Library {
    NotOpened,
    Missing,
    /// The handle, and the stream that it enqueues on.
    Open(sys::cublasHandle_t, CUstream),
}

fn failed(e: result::CublasError) -> Error {
    error!(Internal, "cuBLAS failed: {e:?}")
}

impl Blas {
    pub(super) fn new() -> Blas {
        Blas { library: Library::NotOpened }
    }

    /// Opens the library for products on `stream`. Returns `None` if it is not installed.
    fn handle(&mut self, stream: CUstream) -> Result<Option<sys::cublasHandle_t>> {
        if let Library::NotOpened = self.library {
            // SAFETY: loading the library runs its initialisers, which have no further conditions.
            self.library = if unsafe { sys::is_culib_present() } {
                Library::Open(result::create_handle().map_err(failed)?, std::ptr::null_mut())
            } else {
                Library::Missing
            };
        }
        let Library::Open(handle, current) = &mut self.library else { return Ok(None) };
        if *current != stream {
            // SAFETY: the handle is open, and the stream lives as long as the GPU.
            unsafe { result::set_stream(*handle, stream.cast()) }.map_err(failed)?;
            *current = stream;
        }
        Ok(Some(*handle))
    }

    pub(super) fn close(&mut self) {
        if let Library::Open(handle, _) = std::mem::replace(&mut self.library, Library::Missing) {
            // SAFETY: the handle was made once and is destroyed once.
            let _ = unsafe { result::destroy_handle(handle) };
        }
    }

    /// Enqueues products on `stream`. Returns false if the library is missing or has no products of this type.
    pub(super) fn gemm(&mut self, products: &Gemm, stream: CUstream) -> Result<bool> {
        use cublasComputeType_t as Compute;
        let (element, compute) = match products.dtype {
            DType::F32 if products.allow_tf32 => (sys::cudaDataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F_FAST_TF32),
            DType::F32 => (sys::cudaDataType::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F),
            DType::F64 => (sys::cudaDataType::CUDA_R_64F, Compute::CUBLAS_COMPUTE_64F),
            DType::F16 => (sys::cudaDataType::CUDA_R_16F, Compute::CUBLAS_COMPUTE_32F),
            DType::BF16 => (sys::cudaDataType::CUDA_R_16BF, Compute::CUBLAS_COMPUTE_32F),
            _ => return Ok(false),
        };
        let Some(handle) = self.handle(stream)? else { return Ok(false) };
        let int = |n: usize| i32::try_from(n).map_err(|_| error!(InvalidArgument, "a matrix product of size {n} is too large"));
        let long = |n: usize| i64::try_from(n).map_err(|_| error!(InvalidArgument, "a matrix of {n} elements is too large"));
        let transposed = |yes| if yes { cublasOperation_t::CUBLAS_OP_T } else { cublasOperation_t::CUBLAS_OP_N };
        let (m, n, k) = (int(products.m)?, int(products.n)?, int(products.k)?);
        let [a, b, c] = products.matrices.map(|address| address.0 as *mut c_void);
        let [stride_a, stride_b, stride_c] = [long(products.strides[0])?, long(products.strides[1])?, long(products.strides[2])?];
        let [lda, ldb, ldc] = match products.update {
            Some(Update { leading: [a, b, c] }) => [int(a)?, int(b)?, int(c)?],
            None => [if products.transpose_a { m } else { k }, if products.transpose_b { k } else { n }, n],
        };
        let scales = if products.update.is_some() { [-1f32, 1f32] } else { [1f32, 0f32] };
        let wide_scales = scales.map(f64::from);
        let [alpha, beta] = [0, 1].map(|i| match products.dtype {
            DType::F64 => (&raw const wide_scales[i]).cast::<c_void>(),
            _ => (&raw const scales[i]).cast::<c_void>(),
        });
        if products.batch == 0 {
            bail!(Internal, "a batch without matrix products");
        }
        // cuBLAS is column-major: it computes the transpose of C from the transposes of B and A, which are B and A read by columns.
        // SAFETY: the matrices are allocated with the sizes that the dimensions say; the scales live through the call.
        unsafe {
            result::gemm_strided_batched_ex(
                handle,
                transposed(products.transpose_b),
                transposed(products.transpose_a),
                n,
                m,
                k,
                alpha,
                b,
                element,
                ldb.max(1),
                stride_b,
                a,
                element,
                lda.max(1),
                stride_a,
                beta,
                c,
                element,
                ldc.max(1),
                stride_c,
                int(products.batch)?,
                compute,
                cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        }
        .map_err(failed)?;
        Ok(true)
    }
}
