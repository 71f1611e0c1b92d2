//! `_FusedLayerNorm`: normalises the last dimension, then scales and shifts it.

use crate::simd::rows::layer_norm;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    let epsilon: f32 = init.attrs.get("epsilon")?;
    crate::from_fn(move |ctx| {
        let y = normalised(ctx, epsilon)?;
        ctx.set_output(0, y);
        Ok(())
    })
}

fn normalised(ctx: &KernelContext<'_>, epsilon: f32) -> Result<Tensor> {
    let (x, gamma, beta) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let Some(&width) = x.shape().last() else {
        bail!(InvalidArgument, "Invalid reduction dimension (-1 for input with 0 dimension(s)");
    };
    let n = gamma.num_elements();
    if gamma.rank() != 1 || beta.shape() != gamma.shape() || (width != n && width != 1 && n != 1) {
        bail!(InvalidArgument, "Incompatible shapes: {} vs. {} and {}", x.shape(), gamma.shape(), beta.shape());
    }
    let (x, gamma, beta, shape) = (x.as_slice::<f32>()?, gamma.as_slice::<f32>()?, beta.as_slice::<f32>()?, x.shape());
    let mut shape = shape.clone();
    if width == n {
        let mut y = Tensor::uninit(DType::F32, shape)?;
        layer_norm(y.as_mut_slice()?, x, width, Some(gamma), Some(beta), epsilon);
        return Ok(y);
    }
    let mut plain = vec![0.0; x.len()];
    layer_norm(&mut plain, x, width, None, None, epsilon);
    if let Some(last) = shape.last_mut() {
        *last = if width == 1 { n } else { width };
    }
    // One of the two has one element for all of the other's.
    let mut y = Tensor::uninit(DType::F32, shape.clone())?;
    let columns = shape.last().copied().unwrap_or(1).max(1);
    for (y, x) in y.as_mut_slice::<f32>()?.chunks_exact_mut(columns).zip(plain.chunks_exact(width.max(1))) {
        for (j, y) in y.iter_mut().enumerate() {
            *y = x[j % x.len()] * gamma[j % n] + beta[j % n];
        }
    }
    Ok(y)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Call, ty};
    use flowmill_tensor::{DType, Result, Shape, Tensor};

    fn run(x: &Tensor, gamma: &[f32], beta: &[f32]) -> Result<Tensor> {
        let inputs = vec![x.clone(), Tensor::vector(gamma)?, Tensor::vector(beta)?];
        Call::new("_FusedLayerNorm").attr("T", ty(DType::F32)).attr("epsilon", 1e-3f32).inputs(inputs).run1()
    }

    fn check(dims: &[usize], n: usize, columns: usize) {
        let shape = Shape::new(dims);
        let values: Vec<f32> = (0..shape.num_elements()).map(|i| ((i * 7919) % 1009) as f32 / 100.0 - 5.0).collect();
        let (gamma, beta): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (1.0 + i as f32 / 7.0, 3.0 - i as f32)).unzip();
        let y = run(&Tensor::from_slice(shape, &values).unwrap(), &gamma, &beta).unwrap();
        assert_eq!(y.shape().last(), Some(&columns));
        let width = *dims.last().unwrap();
        for (row, y) in values.chunks(width).zip(y.as_slice::<f32>().unwrap().chunks(columns)) {
            let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / width as f64;
            let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / width as f64;
            for (j, &y) in y.iter().enumerate() {
                let plain = (f64::from(row[j % width]) - mean) / (variance + 1e-3).sqrt();
                let want = plain * f64::from(gamma[j % n]) + f64::from(beta[j % n]);
                assert!((f64::from(y) - want).abs() < 1e-4 * (1.0 + want.abs()), "{dims:?}, column {j}: {y}, want {want}");
            }
        }
    }

    #[test]
    fn rows_are_normalised_scaled_and_shifted() {
        for dims in [&[1, 256][..], &[3, 5, 17], &[300, 64], &[2, 1], &[7]] {
            check(dims, *dims.last().unwrap(), *dims.last().unwrap());
        }
        check(&[4, 1], 5, 5);
        check(&[4, 6], 1, 6);
    }

    #[test]
    fn empty_tensors_stay_empty() {
        for dims in [&[0, 3][..], &[3, 0]] {
            let n = dims[1];
            let y = run(&Tensor::zeros(DType::F32, dims.to_vec()).unwrap(), &vec![1.0; n], &vec![0.0; n]).unwrap();
            assert_eq!(y.shape().dims(), dims);
        }
    }

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let x = Tensor::zeros(DType::F32, vec![2, 3]).unwrap();
        assert!(run(&x, &[1.0; 2], &[1.0; 2]).is_err());
        assert!(run(&x, &[1.0; 3], &[1.0; 2]).is_err());
        assert!(run(&Tensor::scalar(1.0f32), &[1.0], &[1.0]).is_err());
    }
}
