//! `MatrixSquareRoot`, by the Schur form (Björck and Hammarling: "A Schur method for the square root of a matrix", 1983).

use crate::from_fn::expensive_from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Element, Result, Tensor, bail, for_dtype};
use nalgebra::{DMatrix, Schur};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MatrixSquareRoot", make);
}

type Wide = Complex<f64>;

/// A type whose matrices have roots: they are computed in `complex128`; of real matrices the real part is kept.
trait Number: Element + Copy {
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

/// How many steps the Schur form may take.
const MAX_ITERATIONS: usize = 10_000;

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn roots<T: Number>(input: &Tensor) -> Result<Tensor> {
        let n = match *input.shape().dims() {
            [.., rows, columns] if rows == columns => rows,
            [.., _, _] => bail!(InvalidArgument, "Input matrix must be square."),
            _ => bail!(InvalidArgument, "Input tensor 0 must have rank >= 2"),
        };
        let mut out = Tensor::zeros(T::DTYPE, input.shape().clone())?;
        let each = (n * n).max(1);
        for (to, from) in out.as_mut_slice::<T>()?.chunks_exact_mut(each).zip(input.as_slice::<T>()?.chunks_exact(each)) {
            let root = root(DMatrix::from_row_iterator(n, n, from.iter().map(|v| v.widen())))?;
            for (i, to) in to.iter_mut().enumerate() {
                *to = T::narrow(root[(i / n, i % n)]);
            }
        }
        Ok(out)
    }
    for_dtype!(init.dtype("T")?, [f32, f64, Complex<f32>, Complex<f64>], T => expensive_from_fn(|ctx| {
        let out = roots::<T>(ctx.input(0)?)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

/// A unitary matrix and the triangle that the matrix is in its basis.
pub(super) fn schur(matrix: DMatrix<Wide>) -> Result<(DMatrix<Wide>, DMatrix<Wide>)> {
    match Schur::try_new(matrix, f64::EPSILON, MAX_ITERATIONS) {
        Some(schur) => Ok(schur.unpack()),
        None => bail!(InvalidArgument, "the matrix has no Schur form within {MAX_ITERATIONS} steps"),
    }
}

/// The root of an upper triangle whose eigenvalues have no negative real parts.
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

/// The root whose eigenvalues have no negative real parts.
fn root(matrix: DMatrix<Wide>) -> Result<DMatrix<Wide>> {
    let (q, t) = schur(matrix)?;
    Ok(&q * triangular_root(&t) * q.adjoint())
}
