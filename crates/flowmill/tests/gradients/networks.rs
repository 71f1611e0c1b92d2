//! Convolutions', poolings' and normalisations' first and second derivatives.

use crate::{check, check_single, check_with, numbers};
use flowmill::builder::ScopedBuilder;
use flowmill::builder::gradients::{GradientOptions, add_gradients};
use flowmill::{OutputId, Result};

/// The gradients of `exp(f)` by `xs`, weighted and summed: a function whose gradient is of second order in `f`.
fn slope(b: &mut ScopedBuilder<'_>, y: OutputId, xs: &[OutputId]) -> Result<OutputId> {
    let y = b.call("Exp", &[y])?;
    let grads = add_gradients(b, &[y], xs, &[], &GradientOptions::default())?;
    let mut sum = None;
    for grad in grads.iter().flatten() {
        let grad = b.densify(grad)?;
        let square = b.call("Square", &[grad])?;
        let axes = b.call("Rank", &[square])?;
        let (zero, one) = (b.scalar(0i32)?, b.scalar(1i32)?);
        let axes = b.call("Range", &[zero, axes, one])?;
        let part = b.call("Sum", &[square, axes])?;
        sum = Some(match sum {
            None => part,
            Some(sum) => b.call("AddV2", &[sum, part])?,
        });
    }
    Ok(sum.unwrap())
}

fn conv(b: &mut ScopedBuilder<'_>, op: &str, x: &[OutputId]) -> Result<OutputId> {
    b.op(op).inputs(x).attr("strides", vec![1i64, 1, 1, 1]).attr("padding", "SAME").output()
}

#[test]
fn convolutions() {
    check_single("DepthwiseConv2dNative", &[numbers(&[1, 3, 3, 2]), numbers(&[2, 2, 2, 2])], |b, x| {
        let y = conv(b, "DepthwiseConv2dNative", x)?;
        b.call("Sin", &[y])
    });
    for op in ["Conv2D", "DepthwiseConv2dNative"] {
        check_single(&format!("{op}, second derivative"), &[numbers(&[1, 3, 2, 2]), numbers(&[2, 2, 2, 1])], |b, x| {
            let y = conv(b, op, x)?;
            let scale = b.scalar(0.1f32)?;
            let y = b.call("Mul", &[y, scale])?;
            slope(b, y, x)
        });
    }
}

#[test]
fn second_derivatives_of_activations() {
    for op in ["Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus"] {
        check(op, &[numbers(&[2, 3])], |b, x| {
            let half = b.scalar(0.5f64)?;
            let moved = b.call("Sub", &[x[0], half])?;
            let y = b.call(op, &[moved])?;
            slope(b, y, x)
        });
    }
    check("BiasAdd", &[numbers(&[2, 3]), numbers(&[3])], |b, x| {
        let y = b.call("BiasAdd", x)?;
        slope(b, y, x)
    });
    check("AvgPool", &[numbers(&[1, 4, 4, 1])], |b, x| {
        let size = vec![1i64, 2, 2, 1];
        let y = b.op("AvgPool").inputs(x).attr("ksize", size.clone()).attr("strides", size).attr("padding", "SAME").output()?;
        slope(b, y, x)
    });
}

fn batch_norm(b: &mut ScopedBuilder<'_>, x: &[OutputId], is_training: bool, format: &str) -> Result<OutputId> {
    let moments = match is_training {
        true => [b.vector::<f32>(&[])?, b.vector::<f32>(&[])?],
        false => [b.vector(&[0.4f32, 0.5])?, b.vector(&[0.3f32, 0.2])?],
    };
    let y = b
        .op("FusedBatchNormV3")
        .inputs(x)
        .inputs(&moments)
        .attr("is_training", is_training)
        .attr("epsilon", 0.1f32)
        .attr("data_format", format)
        .output()?;
    let y = b.call("Sin", &[y])?;
    b.call("Square", &[y])
}

#[test]
fn batch_normalization() {
    for is_training in [true, false] {
        for (format, image) in
            [("NHWC", &[2, 2, 1, 2][..]), ("NCHW", &[2, 2, 2, 1]), ("NDHWC", &[2, 1, 2, 1, 2]), ("NCDHW", &[2, 2, 1, 2, 1])]
        {
            let inputs = [numbers(image), numbers(&[2]), numbers(&[2])];
            check_single(&format!("FusedBatchNormV3 {format}"), &inputs, |b, x| batch_norm(b, x, is_training, format));
            check_with(
                crate::Precision { step: 5e-3, tolerance: 3e-2 },
                &format!("FusedBatchNormV3 {format}, second derivative"),
                &inputs,
                |b, x| second_derivative_of_batch_norm(b, x, is_training, format),
            );
        }
    }
}

/// The sum of the squares of all gradients.
fn second_derivative_of_batch_norm(b: &mut ScopedBuilder<'_>, x: &[OutputId], is_training: bool, format: &str) -> Result<OutputId> {
    let single: Vec<OutputId> = x.iter().map(|&x| b.cast(x, flowmill::DType::F32)).collect::<Result<_>>()?;
    let y = batch_norm(b, &single, is_training, format)?;
    let grads = add_gradients(b, &[y], &single, &[], &GradientOptions::default())?;
    let mut sum = None;
    for grad in grads.iter().flatten() {
        let grad = b.densify(grad)?;
        let flat = b.vector(&[-1i32])?;
        let grad = b.call("Reshape", &[grad, flat])?;
        let square = b.call("L2Loss", &[grad])?;
        sum = Some(match sum {
            None => square,
            Some(sum) => b.call("AddV2", &[sum, square])?,
        });
    }
    b.cast(sum.unwrap(), flowmill::DType::F64)
}

#[test]
fn windows_of_random_sizes() {
    for op in ["FractionalMaxPool", "FractionalAvgPool"] {
        check(op, &[numbers(&[2, 5, 6, 2])], |b, x| {
            let pool = b.op(op).inputs(x).attr("pooling_ratio", vec![1f32, 1.5, 1.7, 1.0]).attr("overlapping", true);
            let y = pool.attr("deterministic", true).attr("seed", 3i64).output()?;
            b.call("Square", &[y])
        });
    }
}
