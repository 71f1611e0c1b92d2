//! Times of layers over bytes, and of `float32` with fake quantisation behind it, at layers of mobile networks, on one thread.
//!
//! `cargo bench -p flowmill-numeric --bench integer [-- FILTER]`; times are the least of many runs, in turns.

use flowmill_numeric::conv::depthwise::depthwise_conv2d;
use flowmill_numeric::fake_quant::{QuantizedValues, round_to_values_by_division};
use flowmill_numeric::gemm::{Activation, Epilogue, PackedRhs, Precision, gemm_packed};
use flowmill_numeric::integer::{DepthwiseFilter, IntegerFilter, Rescale};
use flowmill_numeric::window::Window;
use std::time::{Duration, Instant};

/// Returns the least times of calls of two functions in turns, in a third of a second.
fn least(mut functions: [&mut dyn FnMut(); 2]) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(300) {
        for (f, best) in functions.iter_mut().zip(&mut best) {
            let once = Instant::now();
            f();
            *best = once.elapsed().min(*best);
        }
    }
    best
}

/// Measures a layer: a depthwise window of 3x3 if `outputs` is 0, else a convolution of one position.
fn measure((size, inputs, stride, outputs): (usize, usize, usize, usize), filter: &str) {
    let kind = if outputs == 0 { "depthwise" } else { "pointwise" };
    let name = format!("{kind} {size}x{size} {inputs} s{stride} {outputs}");
    if !name.contains(filter) {
        return;
    }
    let taps = if outputs == 0 { 3 } else { 1 };
    let w = Window::square(1, size, inputs, taps, stride, taps / 2);
    let columns = if outputs == 0 { inputs } else { outputs };
    let bytes: Vec<u8> = (0..w.input_len()).map(|i| (i * 37 % 256) as u8).collect();
    let floats: Vec<f32> = bytes.iter().map(|&b| f32::from(b) * 6.0 / 255.0).collect();
    let num_weights = if outputs == 0 { 9 * inputs } else { inputs * outputs };
    let weights: Vec<i16> = (0..num_weights).map(|i| (i * 31 % 255) as i16 - 127).collect();
    let float_weights: Vec<f32> = weights.iter().map(|&x| f32::from(x) * 0.001).collect();
    let (factor, bias) = (vec![0.001f32; columns], vec![20.5f32; columns]);
    let finish = Rescale { factor: &factor, bias: &bias, low: 0.0, high: 255.0 };
    let mut result = vec![0u8; w.positions() * columns];
    let mut float_result = vec![0.0f32; w.positions() * columns];
    let epilogue = Epilogue::bias_activation(Some(&bias), Activation::Relu6);
    let values = QuantizedValues { min: 0.0, max: 6.0, scale: 6.0 / 255.0, inverse: 255.0 / 6.0, zero: 0.0 };
    let [float, integer] = if outputs == 0 {
        let packed = DepthwiseFilter::pack(&weights, [3, 3, inputs], 0);
        least([
            &mut || {
                depthwise_conv2d(&w, 1, &floats, &float_weights, &mut float_result, &epilogue);
                round_to_values_by_division(&mut float_result, values);
            },
            &mut || packed.apply(&w, &bytes, &finish, &mut result),
        ])
    } else {
        let rhs = PackedRhs::pack(Precision::F32, &float_weights, inputs, outputs, false);
        let packed = IntegerFilter::pack(&weights, [1, 1, inputs, outputs], 0);
        least([
            &mut || {
                gemm_packed(&floats, inputs, w.positions(), &rhs, &mut float_result, outputs, &epilogue);
                round_to_values_by_division(&mut float_result, values);
            },
            &mut || packed.apply(&w, &bytes, &finish, &mut result),
        ])
    };
    println!(
        "| {name} | {:.1} | {:.1} | {:.2} |",
        float.as_nanos() as f64 / 1e3,
        integer.as_nanos() as f64 / 1e3,
        float.as_secs_f64() / integer.as_secs_f64()
    );
}

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!("| layer | float32, µs | bytes, µs | float32 / bytes |\n|---|---|---|---|");
    for layer in [
        (64, 16, 1, 0),
        (64, 16, 1, 32),
        (64, 32, 2, 0),
        (32, 32, 1, 64),
        (32, 64, 1, 0),
        (32, 64, 1, 64),
        (32, 64, 2, 0),
        (16, 64, 1, 128),
        (16, 128, 1, 0),
        (16, 128, 1, 128),
        (16, 128, 2, 0),
        (8, 128, 1, 256),
        (64, 8, 1, 16),
        (64, 16, 1, 16),
        (64, 32, 1, 16),
        (56, 24, 1, 144),
        (14, 512, 1, 0),
        (14, 512, 1, 512),
    ] {
        measure(layer, &filter);
    }
}
