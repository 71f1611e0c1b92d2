//! Functions of matrices by the Schur form, which are the common part of the logarithm and the square root.

use flowmill_tensor::{Allocator, Complex, Element, Result, Tensor, bail};
use nalgebra::{DMatrix, Schur};

pub(super) type Wide = Complex<f64>;

/// An element type of matrices with functions. They are computed in `complex128`; for real matrices, the real part of the result is used.
pub(super) trait Number: Element + Copy {
    fn widen(self) -> Wide;
    fn narrow(value: Wide) -> Self;
}

macro_rules! numbers {
    ($($t:ty: $widen:expr, $narrow:expr;)*) => {$(
        impl Number for $t {
            fn widen(self) -> Wide {
                $widen(self)
            }

            fn narrow(value: Wide) -> $t {
                $narrow(value)
            }
        }
    )*};
}

numbers! {
    f32: |x| Complex::new(f64::from(x), 0.0), |v: Wide| v.re as f32;
    f64: |x| Complex::new(x, 0.0), |v: Wide| v.re;
    Complex<f32>: |x: Complex<f32>| Complex::new(f64::from(x.re), f64::from(x.im)), |v: Wide| Complex::new(v.re as f32, v.im as f32);
    Complex<f64>: |x| x, |v| v;
}

/// Applies a function to every matrix of a batch.
pub(super) fn of_matrices<T: Number>(
    alloc: &Allocator,
    input: &Tensor,
    function: fn(DMatrix<Wide>) -> Result<DMatrix<Wide>>,
) -> Result<Tensor> {
    let n = match *input.shape().dims() {
        [.., rows, columns] if rows == columns => rows,
        [.., _, _] => bail!(InvalidArgument, "Input matrix must be square."),
        _ => bail!(InvalidArgument, "Input tensor 0 must have rank >= 2"),
    };
    let mut out = alloc.zeros(T::DTYPE, input.shape().clone())?;
    let each = (n * n).max(1);
    for (to, from) in out.as_mut_slice::<T>()?.chunks_exact_mut(each).zip(input.as_slice::<T>()?.chunks_exact(each)) {
        let found = function(DMatrix::from_row_iterator(n, n, from.iter().map(|v| v.widen())))?;
        for (i, to) in to.iter_mut().enumerate() {
            *to = T::narrow(found[(i / n, i % n)]);
        }
    }
    Ok(out)
}

/// The most iterations that the Schur decomposition may take.
const MAX_ITERATIONS: usize = 10_000;

/// Returns the Schur decomposition: a unitary matrix and an upper triangle.
pub(super) fn schur(matrix: DMatrix<Wide>) -> Result<(DMatrix<Wide>, DMatrix<Wide>)> {
    if matrix.is_empty() {
        return Ok((matrix.clone(), matrix));
    }
    match Schur::try_new(matrix, f64::EPSILON, MAX_ITERATIONS) {
        Some(schur) => Ok(schur.unpack()),
        None => bail!(InvalidArgument, "the matrix has no Schur form within {MAX_ITERATIONS} steps"),
    }
}

/// Returns the square root of an upper triangle whose eigenvalues have no negative real parts.
pub(super) fn triangular_root(t: &DMatrix<Wide>) -> DMatrix<Wide> {
    let n = t.nrows();
    let mut r = DMatrix::<Wide>::zeros(n, n);
    for j in 0..n {
        r[(j, j)] = t[(j, j)].sqrt();
        for i in (0..j).rev() {
            let known: Wide = (i + 1..j).map(|k| r[(i, k)] * r[(k, j)]).sum();
            let divisor = r[(i, i)] + r[(j, j)];
            let rest = t[(i, j)] - known;
            r[(i, j)] = if divisor == Complex::new(0.0, 0.0) { divisor } else { rest / divisor };
        }
    }
    r
}
