//! The values of element-wise functions, by which passes recognise what a group of nodes computes.

use flowmill_graph::ElementwiseFunction;

/// Returns the values of a function of `float32` for these operands, or `None` for a function that no activation is written with. `alpha` is the slope
/// of `LeakyRelu`.
pub(crate) fn apply(function: ElementwiseFunction, operands: &[Vec<f32>], alpha: Option<f32>) -> Option<Vec<f32>> {
    use ElementwiseFunction::*;
    let unary = |f: &dyn Fn(f32) -> f32| if let [x] = operands { Some(x.iter().map(|&x| f(x)).collect()) } else { None };
    let binary = |f: &dyn Fn(f32, f32) -> f32| {
        if let [x, y] = operands { Some(x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect()) } else { None }
    };
    let wide = |f: &dyn Fn(f64) -> f64| unary(&|x| f(f64::from(x)) as f32);
    // A NaN goes through bounds, as in TensorFlow.
    let most = |x: f32, y: f32| if x > y || x.is_nan() { x } else { y };
    let least = |x: f32, y: f32| if x < y || x.is_nan() { x } else { y };
    let relu6 = |x: f32| least(most(x, 0.0), 6.0);
    let softplus = |x: f64| if x.is_nan() { x } else { x.max(0.0) + (-x.abs()).exp().ln_1p() };
    let gelu_tail = (2.0 / std::f64::consts::PI).sqrt();
    match function {
        Abs => unary(&f32::abs),
        Neg => unary(&|x| -x),
        Square => unary(&|x| x * x),
        Reciprocal => unary(&|x| 1.0 / x),
        Sqrt => unary(&f32::sqrt),
        Rsqrt => unary(&|x| 1.0 / x.sqrt()),
        Exp => wide(&f64::exp),
        Expm1 => wide(&f64::exp_m1),
        Log => wide(&f64::ln),
        Log1p => wide(&f64::ln_1p),
        Tanh => wide(&f64::tanh),
        Sigmoid => wide(&|x| 1.0 / (1.0 + (-x).exp())),
        Erf => wide(&libm::erf),
        Erfc => wide(&libm::erfc),
        Relu => unary(&|x| most(x, 0.0)),
        Relu6 => unary(&relu6),
        LeakyRelu => {
            let alpha = alpha.unwrap_or(0.2);
            unary(&|x| if x > 0.0 { x } else { alpha * x })
        }
        Elu => wide(&|x| if x < 0.0 { x.exp_m1() } else { x }),
        Selu => wide(&|x| if x < 0.0 { 1.758_099_340_847_376_6 * x.exp_m1() } else { 1.050_700_987_355_480_5 * x }),
        Softplus => wide(&softplus),
        Softsign => unary(&|x| x / (1.0 + x.abs())),
        GeluExact => wide(&|x| 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))),
        GeluApproximate => wide(&|x| 0.5 * x * (1.0 + (gelu_tail * (x + 0.044_715 * x * x * x)).tanh())),
        Silu => wide(&|x| x / (1.0 + (-x).exp())),
        HardSigmoid => unary(&|x| relu6(x + 3.0) / 6.0),
        HardSwish => unary(&|x| x * (relu6(x + 3.0) / 6.0)),
        Mish => wide(&|x| x * softplus(x).tanh()),
        Add => binary(&|x, y| x + y),
        Sub => binary(&|x, y| x - y),
        Mul => binary(&|x, y| x * y),
        RealDiv | Div => binary(&|x, y| x / y),
        Maximum => binary(&most),
        Minimum => binary(&least),
        Pow => binary(&|x, y| f64::from(x).powf(f64::from(y)) as f32),
        SquaredDifference => binary(&|x, y| (x - y) * (x - y)),
        Greater => binary(&|x, y| f32::from(u8::from(x > y))),
        GreaterEqual => binary(&|x, y| f32::from(u8::from(x >= y))),
        Less => binary(&|x, y| f32::from(u8::from(x < y))),
        LessEqual => binary(&|x, y| f32::from(u8::from(x <= y))),
        SelectV2 => match operands {
            [choice, x, y] => {
                Some(choice.iter().zip(x.iter().zip(y)).map(|(&choice, (&x, &y))| if choice != 0.0 { x } else { y }).collect())
            }
            _ => None,
        },
        ClipByValue => match operands {
            [x, low, high] => Some(x.iter().zip(low.iter().zip(high)).map(|(&x, (&low, &high))| least(most(x, low), high)).collect()),
            _ => None,
        },
        _ => None,
    }
}
