//! Times of depthwise convolutions between pointwise ones, block by block and one after the other, at layers of mobile networks.
//!
//! `cargo bench -p flowmill-numeric --bench separable [-- FILTER]`; times are the least of many runs, in turns.

use flowmill_numeric::conv::depthwise::depthwise_conv2d;
use flowmill_numeric::conv::separable::{Pointwise, Separable};
use flowmill_numeric::gemm::{Activation, Epilogue, PackedRhs, Precision, gemm_packed};
use flowmill_numeric::window::Window;
use std::time::{Duration, Instant};

/// Returns the least times of calls of two functions in turns, in a third of a second.
fn least(mut functions: [&mut dyn FnMut(); 2]) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(350) {
        for (f, best) in functions.iter_mut().zip(&mut best) {
            let once = Instant::now();
            f();
            *best = once.elapsed().min(*best);
        }
    }
    best
}

/// A layer: the size of the image, the channels of input and between, the window, the stride, and the channels of output. A layer of as many channels of
/// input as between has no expansion, one without channels of output no projection.
type Layer = (usize, usize, usize, usize, usize, usize);

fn measure(batch: usize, threads: usize, (size, inputs, channels, window, stride, outputs): Layer, filter: &str) {
    let name = format!("{batch}x{size}x{size} {inputs} {channels} k{window} s{stride} {outputs}");
    if !name.contains(filter) {
        return;
    }
    let w = Window::square(batch, size, channels, window, stride, window / 2);
    let values = |n: usize| -> Vec<f32> { (0..n).map(|i| (i % 11) as f32 * 0.1 - 0.5).collect() };
    let (positions, columns) = (batch * size * size, if outputs == 0 { channels } else { outputs });
    let input = values(positions * inputs);
    let (weights, taps, last) = (values(inputs * channels), values(window * window * channels), values(channels * columns));
    let bias = values(channels.max(columns));
    let expansion = PackedRhs::pack(Precision::F32, &weights, inputs, channels, false);
    let projection = PackedRhs::pack(Precision::F32, &last, channels, columns, false);
    let clamped = Epilogue::bias_activation(Some(&bias), Activation::Relu6);
    let linear = Epilogue::bias_activation(Some(&bias), Activation::None);
    let separable = Separable {
        window: w,
        multiplier: 1,
        expansion: (inputs != channels).then_some(Pointwise { filter: &expansion, epilogue: clamped }),
        filter: &taps,
        epilogue: clamped,
        projection: (outputs > 0).then_some(Pointwise { filter: &projection, epilogue: linear }),
    };
    let (mut expanded, mut between) = (vec![0.0; positions * channels], vec![0.0; w.positions() * channels]);
    let (mut output, mut blocks) = (vec![0.0; w.positions() * columns], vec![0.0; w.positions() * columns]);
    let mut one_after_the_other = || {
        let source = if inputs == channels {
            &input
        } else {
            gemm_packed(&input, inputs, positions, &expansion, &mut expanded, channels, &clamped);
            &expanded
        };
        if outputs == 0 {
            return depthwise_conv2d(&w, 1, source, &taps, &mut output, &clamped);
        }
        depthwise_conv2d(&w, 1, source, &taps, &mut between, &clamped);
        gemm_packed(&between, channels, w.positions(), &projection, &mut output, columns, &linear);
    };
    let mut in_blocks = || separable.compute(&input, &mut blocks);
    let [whole, fused] = least([&mut one_after_the_other, &mut in_blocks]);
    println!(
        "| {threads} | {name} | {:.1} | {:.1} | {:.2} |",
        whole.as_secs_f64() * 1e6,
        fused.as_secs_f64() * 1e6,
        whole.as_secs_f64() / fused.as_secs_f64()
    );
}

fn main() {
    let filter = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    println!(
        "| threads | images, channels, window, channels of output | one after the other, µs | in blocks, µs | ratio |\n|---|---|---|---|---|"
    );
    for threads in [1, 2] {
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else {
            eprintln!("no pool of {threads} threads");
            return;
        };
        for batch in [1, 8] {
            for layer in [
                (112, 16, 96, 3, 2, 24),
                (112, 16, 96, 3, 2, 0),
                (112, 32, 32, 3, 1, 64),
                (56, 24, 144, 3, 1, 24),
                (56, 24, 144, 3, 1, 0),
                (56, 24, 144, 5, 2, 0),
                (56, 128, 128, 3, 1, 128),
                (28, 32, 192, 3, 1, 32),
                (28, 40, 240, 5, 1, 0),
                (28, 256, 256, 3, 1, 256),
                (14, 64, 384, 3, 1, 64),
                (14, 112, 672, 5, 1, 0),
                (14, 512, 512, 3, 1, 512),
                (7, 160, 960, 3, 1, 160),
                (7, 192, 1152, 5, 1, 0),
            ] {
                pool.install(|| measure(batch, threads, layer, &filter));
            }
        }
    }
}
