//! The functions of cuBLASLt that Flowmill calls: one product of `float32` matrices, with epilogues, on the host.

use crate::errors::{self, INVALID_VALUE, check};
use crate::objects::{CONTROLS, current, objects, run};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

/// `cublasStatus_t`.
type Status = c_int;
const SUCCESS: Status = 0;
const NOT_INITIALIZED: Status = 1;
const REFUSED: Status = 7;
const EXECUTION_FAILED: Status = 13;
const NOT_SUPPORTED: Status = 15;

/// `CUDA_R_32F`.
const F32: c_int = 0;
/// Attributes of a product.
const TRANSPOSE_A: c_int = 3;
const TRANSPOSE_B: c_int = 4;
const EPILOGUE: c_int = 7;
const BIAS: c_int = 8;
/// Bits of an epilogue.
const RELU: u32 = 2;
const ADDS_BIAS: u32 = 4;
const GELU: u32 = 32;

/// `cublasLtMatmulDesc_t`.
#[derive(Clone, Copy, Default)]
struct Product {
    transpose: [c_int; 2],
    epilogue: u32,
    bias: u64,
}

/// `cublasLtMatrixLayout_t`: a matrix that is stored by columns.
#[derive(Clone, Copy)]
struct Layout {
    dtype: c_int,
    rows: u64,
    columns: u64,
    stride: i64,
}

impl Layout {
    fn at(&self, row: u64, column: u64, is_transposed: bool) -> usize {
        let (row, column) = if is_transposed { (column, row) } else { (row, column) };
        (row + column * self.stride as u64) as usize
    }

    fn bytes(&self) -> usize {
        4 * self.stride as usize * self.columns as usize
    }
}

/// # Safety
/// `to` must be valid for a write.
unsafe fn create<T>(to: *mut *mut T, value: T) -> Status {
    // SAFETY: as the function requires.
    unsafe { to.write(Box::into_raw(Box::new(value))) };
    SUCCESS
}

/// # Safety
/// `object` must have been created and must not be destroyed twice.
unsafe fn destroy<T>(object: *mut T) -> Status {
    // SAFETY: as the function requires.
    drop(unsafe { Box::from_raw(object) });
    SUCCESS
}

/// # Safety
/// `handle` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtCreate(handle: *mut *mut u8) -> Status {
    if !CONTROLS.has_blas_lt.load(Ordering::SeqCst) {
        return NOT_INITIALIZED;
    }
    // SAFETY: as the function requires.
    unsafe { create(handle, 0) }
}

/// # Safety
/// The handle must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtDestroy(handle: *mut u8) -> Status {
    // SAFETY: as the function requires.
    unsafe { destroy(handle) }
}

/// # Safety
/// `product` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescCreate(product: *mut *mut Product, _compute: c_int, scale: c_int) -> Status {
    if scale != F32 {
        return NOT_SUPPORTED;
    }
    // SAFETY: as the function requires.
    unsafe { create(product, Product { epilogue: 1, ..Product::default() }) }
}

/// # Safety
/// The product must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescDestroy(product: *mut Product) -> Status {
    // SAFETY: as the function requires.
    unsafe { destroy(product) }
}

/// # Safety
/// The product must have been created, and the value must have `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescSetAttribute(product: *mut Product, attribute: c_int, value: *const c_void, size: usize) -> Status {
    // SAFETY: as the function requires, with the size that is checked.
    unsafe {
        match (attribute, size) {
            (TRANSPOSE_A, 4) => (*product).transpose[0] = value.cast::<c_int>().read(),
            (TRANSPOSE_B, 4) => (*product).transpose[1] = value.cast::<c_int>().read(),
            (EPILOGUE, 4) => (*product).epilogue = value.cast::<u32>().read(),
            (BIAS, 8) => (*product).bias = value.cast::<u64>().read(),
            _ => return REFUSED,
        }
    }
    SUCCESS
}

/// # Safety
/// `layout` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatrixLayoutCreate(layout: *mut *mut Layout, dtype: c_int, rows: u64, columns: u64, stride: i64) -> Status {
    if stride < rows as i64 {
        return REFUSED;
    }
    // SAFETY: as the function requires.
    unsafe { create(layout, Layout { dtype, rows, columns, stride }) }
}

/// # Safety
/// The layout must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatrixLayoutDestroy(layout: *mut Layout) -> Status {
    // SAFETY: as the function requires.
    unsafe { destroy(layout) }
}

/// # Safety
/// `preference` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulPreferenceCreate(preference: *mut *mut u8) -> Status {
    // SAFETY: as the function requires.
    unsafe { create(preference, 0) }
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtMatmulPreferenceSetAttribute(_preference: *mut u8, _attribute: c_int, _value: *const c_void, _size: usize) -> Status {
    SUCCESS
}

/// # Safety
/// The preference must have been created.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulPreferenceDestroy(preference: *mut u8) -> Status {
    // SAFETY: as the function requires.
    unsafe { destroy(preference) }
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    status: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// # Safety
/// The descriptions must have been created, and the results must be valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _handle: *mut u8,
    _product: *mut Product,
    a: *mut Layout,
    _b: *mut Layout,
    _c: *mut Layout,
    _d: *mut Layout,
    _preference: *mut u8,
    _wanted: c_int,
    results: *mut Heuristic,
    count: *mut c_int,
) -> Status {
    // SAFETY: as the function requires.
    unsafe {
        if (*a).dtype != F32 {
            return NOT_SUPPORTED;
        }
        count.write(1);
        results.write(Heuristic { algorithm: [0; 8], workspace: 0, status: SUCCESS, waves: 1.0, reserved: [0; 4] });
    }
    SUCCESS
}

/// # Safety
/// The descriptions must have been created, and `alpha` and `beta` must be numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmul(
    _handle: *mut u8,
    product: *const Product,
    alpha: *const f32,
    a: u64,
    layout_a: *const Layout,
    b: u64,
    layout_b: *const Layout,
    beta: *const f32,
    _c: u64,
    _layout_c: *const Layout,
    d: u64,
    layout_d: *const Layout,
    _algorithm: *const c_void,
    _workspace: u64,
    _workspace_size: usize,
    stream: usize,
) -> Status {
    if CONTROLS.fails_products.load(Ordering::SeqCst) {
        return EXECUTION_FAILED;
    }
    // SAFETY: as the function requires.
    let (product, alpha, beta, matrices) = unsafe { (*product, *alpha, *beta, [(a, *layout_a), (b, *layout_b), (d, *layout_d)]) };
    match enqueue(product, [alpha, beta], matrices, stream) {
        Ok(()) => SUCCESS,
        Err(_) => REFUSED,
    }
}

fn enqueue(product: Product, [alpha, beta]: [f32; 2], matrices: [(u64, Layout); 3], stream: usize) -> Result<(), errors::Code> {
    let (device, controls) = current()?;
    let [(a, layout_a), (b, layout_b), (d, layout_d)] = matrices;
    let [transpose_a, transpose_b] = product.transpose.map(|transpose| transpose != 0);
    let depth = if transpose_a { layout_a.rows } else { layout_a.columns };
    let sizes = |layout: Layout, transposed| if transposed { (layout.columns, layout.rows) } else { (layout.rows, layout.columns) };
    check(
        sizes(layout_a, transpose_a) == (layout_d.rows, depth) && sizes(layout_b, transpose_b) == (depth, layout_d.columns),
        INVALID_VALUE,
    )?;
    let objects = objects();
    let stream = objects.stream(stream, device)?;
    check(matrices.iter().all(|(start, layout)| objects.is_memory(*start, layout.bytes(), device)), INVALID_VALUE)?;
    let has_bias = product.epilogue & ADDS_BIAS != 0;
    check(beta == 0.0 && (!has_bias || objects.is_memory(product.bias, 4 * layout_d.rows as usize, device)), INVALID_VALUE)?;
    drop(objects);
    CONTROLS.products.fetch_add(1, Ordering::SeqCst);
    let computed = run(controls, move || {
        // SAFETY: the ranges were checked, and stay allocated until the work is done.
        let at = |start: u64, i: usize| unsafe { (start as *mut f32).add(i) };
        for column in 0..layout_d.columns {
            for row in 0..layout_d.rows {
                // SAFETY: as above.
                let term = |k| unsafe { *at(a, layout_a.at(row, k, transpose_a)) * *at(b, layout_b.at(k, column, transpose_b)) };
                let mut value = alpha * (0..depth).map(term).sum::<f32>();
                if has_bias {
                    // SAFETY: as above.
                    value += unsafe { *at(product.bias, row as usize) };
                }
                if product.epilogue & RELU != 0 {
                    value = value.max(0.0);
                }
                if product.epilogue & GELU != 0 {
                    value = 0.5 * value * (1.0 + (0.797_884_6 * (value + 0.044_715 * value * value * value)).tanh());
                }
                // SAFETY: as above.
                unsafe { *at(d, layout_d.at(row, column, false)) = value };
            }
        }
        Ok(())
    });
    stream.enqueue(computed)
}
