//! Matrix products of every element type, and right-hand sides that are packed once.

use crate::elementwise::Word;
use crate::gemm::{
    Epilogue, MatrixRef, PackedB, PackedRhs, Precision, Repeat, gemm, gemm_batch, gemm_beside, gemm_bf16, gemm_bf16_packed, gemm_packed,
    gemm_strided, matmul_complex, matmul_converted, matmul_generic,
};
use crate::packed_weights::{FormsOf, MatrixForm, precision_of};
use crate::parallel;
use flowmill_runtime::KernelInit;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Complex, DType, Result, Tensor, bf16, f16};
use std::sync::Arc;

/// The sizes of a product: A is `[m, k]`, B `[k, n]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) m: usize,
    pub(crate) k: usize,
    pub(crate) n: usize,
}

/// An element type with matrix products. 16-bit floats are accumulated in `float32`; integers wrap around.
pub(crate) trait Product: Word {
    /// Computes `C = A B` with dense C.
    fn product(size: Sizes, a: MatrixRef<'_, Self>, b: MatrixRef<'_, Self>, c: &mut [Self]);

    /// Computes as many products as `c` holds; matrix `i` of an operand starts `i * stride` elements after its first.
    fn batch(size: Sizes, (a, a_stride): (MatrixRef<'_, Self>, usize), (b, b_stride): (MatrixRef<'_, Self>, usize), c: &mut [Self]) {
        for (i, c) in c.chunks_exact_mut((size.m * size.n).max(1)).enumerate() {
            Self::product(size, MatrixRef { data: &a.data[i * a_stride..], ..a }, MatrixRef { data: &b.data[i * b_stride..], ..b }, c);
        }
    }

    /// Computes the products of all indices of `repeats`, in which no two write the same element; rows of each result are `ldc` apart.
    fn strided(repeats: &[Repeat], size: Sizes, a: MatrixRef<'_, Self>, b: MatrixRef<'_, Self>, c: &mut [Self], ldc: usize) {
        let mut dense = vec![Self::default(); size.m * size.n];
        for index in 0..repeats.iter().map(|r| r.size).product() {
            let (mut rest, mut at) = (index, (0, 0, 0));
            for repeat in repeats.iter().rev() {
                let i = rest % repeat.size;
                rest /= repeat.size;
                at = (at.0 + i * repeat.a, at.1 + i * repeat.b, at.2 + i * repeat.c);
            }
            Self::product(size, MatrixRef { data: &a.data[at.0..], ..a }, MatrixRef { data: &b.data[at.1..], ..b }, &mut dense);
            for (i, row) in dense.chunks_exact(size.n.max(1)).enumerate() {
                c[at.2 + i * ldc..][..size.n].copy_from_slice(row);
            }
        }
    }
}

macro_rules! products {
    (fast $($t:ty),*) => {
        $(impl Product for $t {
            fn product(s: Sizes, a: MatrixRef<'_, $t>, b: MatrixRef<'_, $t>, c: &mut [$t]) {
                gemm(s.m, s.k, s.n, a, b, c, s.n, false);
            }
            fn batch(s: Sizes, a: (MatrixRef<'_, $t>, usize), b: (MatrixRef<'_, $t>, usize), c: &mut [$t]) {
                if let Some(batch) = c.len().checked_div(s.m * s.n) {
                    gemm_batch(batch, s.m, s.k, s.n, a, b, c);
                }
            }
            fn strided(repeats: &[Repeat], s: Sizes, a: MatrixRef<'_, $t>, b: MatrixRef<'_, $t>, c: &mut [$t], ldc: usize) {
                gemm_strided(repeats, (s.m, s.k, s.n), a, b, c, ldc);
            }
        })*
    };
    (generic $($t:ty),*) => {
        $(impl Product for $t {
            fn product(s: Sizes, a: MatrixRef<'_, $t>, b: MatrixRef<'_, $t>, c: &mut [$t]) {
                matmul_generic(s.m, s.k, s.n, a, b, c);
            }
        })*
    };
    (complex $($t:ty),*) => {
        $(impl Product for $t {
            fn product(s: Sizes, a: MatrixRef<'_, $t>, b: MatrixRef<'_, $t>, c: &mut [$t]) {
                matmul_complex(s.m, s.k, s.n, a, b, c);
            }
        })*
    };
    (converted $($t:ty),*) => {
        $(impl Product for $t {
            fn product(s: Sizes, a: MatrixRef<'_, $t>, b: MatrixRef<'_, $t>, c: &mut [$t]) {
                matmul_converted(s.m, s.k, s.n, a, b, c);
            }
        })*
    };
}
products!(fast f32, f64);
products!(generic i8, i16, i32, i64, u8, u16, u32, u64);
products!(complex Complex<f32>, Complex<f64>);
products!(converted f16);

impl Product for bf16 {
    fn product(s: Sizes, a: MatrixRef<'_, bf16>, b: MatrixRef<'_, bf16>, c: &mut [bf16]) {
        gemm_bf16(s.m, s.k, s.n, a, b, c);
    }
}

/// The state of the right-hand side that a kernel remembers.
enum Memory<F> {
    /// There was no call yet.
    Empty,
    /// The tensor of the last call, which is packed if the next call has it, too.
    Seen(Tensor),
    /// The tensor was the same in two calls, or is a constant, and was packed.
    Packed(Arc<FormsOf<F>>, Arc<F>),
}

/// The right-hand side of a product of `float32` or `bfloat16`, which is packed once as long as it stays the same: a constant at its first use, any other
/// tensor at its second. A constant of `float32` is rounded to `bfloat16` if the session says so. A right-hand side that keeps changing is no longer remembered
/// after some calls, because holding it would keep an optimiser from updating a variable in place. `F` is its packed form: a matrix, or a [`MatrixStack`].
pub(crate) struct StableRhs<F = MatrixForm> {
    constant: bool,
    precision: Precision,
    state: Mutex<State<F>>,
}

struct State<F> {
    memory: Memory<F>,
    /// The number of consecutive calls whose tensor was a new one.
    changes: u32,
}

/// The name of products whose right-hand side is not kept in packed form.
pub(super) const PRODUCT_IN_PLACE: &str = "product, in place";

/// The number of consecutive changes after which the right-hand side is assumed to change at every call.
const MAX_CHANGES: u32 = 4;
/// The least number of elements of a matrix that is worth packing.
const MIN_PACKED: usize = 256;

impl<F: Send + Sync + 'static> StableRhs<F> {
    /// Returns the state for a right-hand side that is input `i` of a node.
    pub(crate) fn new(init: &KernelInit<'_>, i: usize) -> StableRhs<F> {
        let (constant, precision) = (init.constant(i).is_some(), precision_of(init, i));
        StableRhs { constant, precision, state: Mutex::new(State { memory: Memory::Empty, changes: 0 }) }
    }

    /// Returns the packed form of `b`, a matrix or some of `k` rows and `n` columns (or transposed), if packing is worthwhile. `get` finds or makes the form.
    fn form(&self, b: &Tensor, size: Sizes, get: impl FnOnce(&FormsOf<F>) -> Result<Arc<F>>) -> Result<Option<Arc<F>>> {
        if size.k.saturating_mul(size.n) < MIN_PACKED {
            return Ok(None);
        }
        let mut state = self.state.lock();
        let again = match &state.memory {
            Memory::Packed(forms, packed) if forms.weights().same_data(b) => return Ok(Some(packed.clone())),
            Memory::Seen(tensor) => tensor.same_data(b),
            _ => false,
        };
        if !again && !self.constant {
            state.changes = state.changes.saturating_add(1);
            state.memory = if state.changes > MAX_CHANGES { Memory::Empty } else { Memory::Seen(b.clone()) };
            return Ok(None);
        }
        state.changes = 0;
        let forms = FormsOf::of(b);
        let packed = get(&forms)?;
        state.memory = Memory::Packed(forms, packed.clone());
        Ok(Some(packed))
    }
}

/// Matrices of one size, packed one by one.
pub(crate) struct MatrixStack {
    transposed: bool,
    matrices: Vec<PackedRhs>,
}

impl StableRhs<MatrixStack> {
    /// Returns the packed form of the matrices of `b`, each of `k` rows and `n` columns (or transposed), if packing is worthwhile.
    pub(super) fn packed_stack(&self, b: &Tensor, size: Sizes, transposed: bool) -> Result<Option<Arc<MatrixStack>>> {
        let Sizes { k, n, .. } = size;
        let is_for = |b: &PackedRhs| (b.precision(), b.k(), b.n()) == (self.precision, k, n);
        let pack = || {
            let matrices = b.as_slice::<f32>()?.chunks_exact(k * n);
            Ok(MatrixStack { transposed, matrices: matrices.map(|b| PackedRhs::pack(self.precision, b, k, n, transposed)).collect() })
        };
        self.form(b, size, |forms| forms.get(|stack| stack.transposed == transposed && stack.matrices.first().is_some_and(is_for), pack))
    }
}

impl MatrixStack {
    /// Computes `C[i] = A[i] B[i]` for all matrices of the stack. Matrix `i` of A, with `m` rows, starts `i * a_stride` elements after the first one.
    pub(super) fn multiply(&self, m: usize, (a, a_stride): (&[f32], usize), c: &mut [f32]) {
        /// The multiplications per nanosecond of one thread.
        const SPEED: usize = 32;
        let Some((k, n)) = self.matrices.first().map(|b| (b.k(), b.n())) else { return };
        let nanoseconds = m.saturating_mul(k).saturating_mul(n) / SPEED;
        parallel::rows(
            c,
            m * n,
            nanoseconds,
            || (),
            |i, c, ()| {
                gemm_packed(&a[i * a_stride..], k, m, &self.matrices[i], c, n, &Epilogue::default());
            },
        );
    }
}

impl StableRhs {
    /// Returns the state for a right-hand side that is another tensor at every call.
    pub(crate) fn changing() -> StableRhs {
        let state = State { memory: Memory::Empty, changes: MAX_CHANGES };
        StableRhs { constant: false, precision: Precision::F32, state: Mutex::new(state) }
    }

    /// Returns the name of the way in which products are computed at present.
    pub(crate) fn algorithm(&self) -> &'static str {
        match &self.state.lock().memory {
            Memory::Packed(_, packed) => match packed.matrix.precision() {
                Precision::F32 => "product, packed",
                Precision::Bf16 => "product, packed bfloat16",
            },
            _ => PRODUCT_IN_PLACE,
        }
    }

    /// Returns the packed form of `b`, a matrix of `k` rows and `n` columns (or transposed), if packing is worthwhile.
    pub(crate) fn packed(&self, b: &Tensor, size: Sizes, transposed: bool) -> Result<Option<Arc<MatrixForm>>> {
        self.form(b, size, |forms| {
            let is_bf16 = b.dtype() == DType::BF16;
            let pack = || {
                Ok(if is_bf16 {
                    PackedRhs::Bf16(pack_bf16(b, size, transposed)?)
                } else {
                    PackedRhs::pack(self.precision, b.as_slice::<f32>()?, size.k, size.n, transposed)
                })
            };
            let precision = if is_bf16 { Precision::Bf16 } else { self.precision };
            MatrixForm::get(forms, precision, (size.k, size.n), transposed, pack)
        })
    }

    /// Computes `C = epilogue(A B)`, where rows of A are adjacent. An epilogue that accumulates adds to what `C` holds.
    pub(crate) fn multiply(
        &self,
        size: Sizes,
        a: &[f32],
        b: &Tensor,
        transposed: bool,
        c: &mut [f32],
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        match self.packed(b, size, transposed)? {
            Some(packed) => gemm_packed(a, size.k, size.m, &packed.matrix, c, size.n, epilogue),
            None => multiply_in_place(size, (a, false), (b.as_slice()?, transposed), c, epilogue),
        }
        Ok(())
    }
}

/// Computes `C = epilogue(A B)` without a packed form. Each operand comes with true if it is stored as its transpose.
pub(super) fn multiply_in_place(size: Sizes, a: (&[f32], bool), b: (&[f32], bool), c: &mut [f32], epilogue: &Epilogue<'_>) {
    let Sizes { m, k, n } = size;
    let a = MatrixRef { data: a.0, ld: if a.1 { m } else { k }, transposed: a.1 };
    let b = MatrixRef { data: b.0, ld: if b.1 { k } else { n }, transposed: b.1 };
    gemm(m, k, n, a, b, c, n, epilogue.accumulate);
    epilogue.apply(0, n, c);
}

/// Packs a matrix of `bfloat16`.
fn pack_bf16(b: &Tensor, size: Sizes, transposed: bool) -> Result<PackedB<bf16>> {
    let b = MatrixRef { data: b.as_slice::<bf16>()?, ld: if transposed { size.k } else { size.n }, transposed };
    Ok(PackedB::pack_converted(b, size.k, 0..size.n, |x| x))
}

impl StableRhs {
    /// Computes `C = epilogue(A B)` of `bfloat16`. The epilogue is computed in `float32`, and rounded once.
    pub(crate) fn multiply_bf16(
        &self,
        size: Sizes,
        a: MatrixRef<'_, bf16>,
        b: &Tensor,
        transposed: bool,
        c: &mut [bf16],
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        match self.packed(b, size, transposed)?.as_deref() {
            Some(MatrixForm { matrix: PackedRhs::Bf16(matrix), .. }) => gemm_bf16_packed(size.m, a, matrix, c, epilogue),
            _ => gemm_bf16_packed(size.m, a, &pack_bf16(b, size, transposed)?, c, epilogue),
        }
        Ok(())
    }
}

/// A matrix of adjacent rows, with what lies to the left of it in the left operand of a product.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a> {
    /// The left part. If it is `None`, the result holds its product already.
    pub(crate) left: Option<&'a [f32]>,
    pub(crate) left_columns: usize,
    pub(crate) right: &'a [f32],
}

impl StableRhs {
    /// Like [`StableRhs::multiply`], with a left operand of two parts. `size.k` counts the columns of both.
    pub(crate) fn multiply_beside(
        &self,
        size: Sizes,
        a: Beside<'_>,
        b: &Tensor,
        transposed: bool,
        c: &mut [f32],
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        if let Some(packed) = self.packed(b, size, transposed)? {
            gemm_beside(a.left, a.left_columns, a.right, size.m, &packed.matrix, c, epilogue);
            return Ok(());
        }
        let (b, ld) = (b.as_slice::<f32>()?, if transposed { size.k } else { size.n });
        let first = if transposed { a.left_columns } else { a.left_columns * size.n };
        let rows = |data, columns| MatrixRef { data, ld: columns, transposed: false };
        if let Some(left) = a.left {
            gemm(size.m, a.left_columns, size.n, rows(left, a.left_columns), MatrixRef { data: b, ld, transposed }, c, size.n, false);
        }
        let columns = size.k - a.left_columns;
        let right = MatrixRef { data: b.get(first..).unwrap_or_default(), ld, transposed };
        gemm(size.m, columns, size.n, rows(a.right, columns), right, c, size.n, true);
        epilogue.apply(0, size.n, c);
        Ok(())
    }
}
