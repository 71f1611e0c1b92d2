//! GFLOP/s of convolutions at the layers of ResNet-50 and MobileNetV2, at one and two threads.
//!
//! `cargo bench -p flowmill-numeric --bench conv [-- FILTER]`; the reported time of a layer is the least of many runs.

use std::time::{Duration, Instant};

use flowmill_numeric::conv::depthwise::{depthwise_backprop_filter, depthwise_backprop_input, depthwise_conv2d};
use flowmill_numeric::conv::{PackedFilter, conv2d, conv2d_backprop_filter, conv2d_backprop_input};
use flowmill_numeric::gemm::{Activation, Epilogue, Precision};
use flowmill_numeric::pool::max_pool;
use flowmill_numeric::window::Window;

/// Returns the least time of one call, out of as many as fit in a quarter of a second.
fn least(mut f: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(250) {
        let once = Instant::now();
        f();
        best = best.min(once.elapsed());
    }
    best
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Dense(usize),
    Depthwise,
    DepthwiseInputGradient,
    DepthwiseFilterGradient,
    MaxPool,
    InputGradient(usize),
    FilterGradient(usize),
}

#[allow(clippy::too_many_arguments)]
fn layer(batch: usize, size: usize, channels: usize, window: usize, stride: usize, kind: Kind, threads: usize, filter: &str) {
    let w = Window::square(batch, size, channels, window, stride, window / 2);
    let name = match kind {
        Kind::Dense(out_channels) => {
            format!("{size}x{size}x{channels} k{window} s{stride} -> {out_channels}")
        }
        Kind::Depthwise => format!("{size}x{size}x{channels} k{window} s{stride} depthwise"),
        Kind::DepthwiseInputGradient => format!("{size}x{size}x{channels} k{window} s{stride} depthwise input gradient"),
        Kind::DepthwiseFilterGradient => format!("{size}x{size}x{channels} k{window} s{stride} depthwise filter gradient"),
        Kind::MaxPool => format!("{size}x{size}x{channels} k{window} s{stride} max pool"),
        Kind::InputGradient(n) => {
            format!("{size}x{size}x{channels} k{window} s{stride} -> {n} input gradient")
        }
        Kind::FilterGradient(n) => {
            format!("{size}x{size}x{channels} k{window} s{stride} -> {n} filter gradient")
        }
    };
    let name = if batch == 1 { name } else { format!("{batch}x{name}") };
    if !name.contains(filter) {
        return;
    }
    let out_channels = match kind {
        Kind::Dense(n) | Kind::InputGradient(n) | Kind::FilterGradient(n) => n,
        _ => channels,
    };
    // Tensors start on a cache line.
    let input: Vec<f32> = (0..w.input_len() + 16).map(|i| (i % 13) as f32 * 0.1).collect();
    let input = &input[input.as_ptr().align_offset(64)..][..w.input_len()];
    let is_depthwise = matches!(kind, Kind::Depthwise | Kind::DepthwiseInputGradient | Kind::DepthwiseFilterGradient);
    let taps = window * window * if is_depthwise { 1 } else { channels };
    let weights: Vec<f32> = (0..taps * out_channels).map(|i| (i % 11) as f32 * 0.1).collect();
    let bias = vec![0.5; out_channels];
    let output_len = w.positions() * out_channels;
    let mut output = vec![0.0; output_len + 16];
    let aligned = output.as_ptr().align_offset(64);
    let output = &mut output[aligned..][..output_len];
    let epilogue = Epilogue::bias_activation(Some(&bias), Activation::Relu6);
    let mut in_bf16 = String::new();
    let time = match kind {
        Kind::Dense(n) => {
            let packed = [Precision::F32, Precision::Bf16].map(|precision| PackedFilter::pack(precision, &w, &weights, n, 1));
            let [wide, narrow] = packed.map(|packed| least(|| conv2d(&w, input, &packed, output, &epilogue)));
            in_bf16 = format!("{:.1} us", narrow.as_nanos() as f64 / 1e3);
            wide
        }
        Kind::Depthwise => least(|| depthwise_conv2d(&w, 1, input, &weights, output, &epilogue)),
        Kind::DepthwiseInputGradient => {
            let mut gradient = vec![0.0; input.len()];
            least(|| depthwise_backprop_input(&w, 1, &weights, output, &mut gradient))
        }
        Kind::DepthwiseFilterGradient => {
            let mut gradient = vec![0.0; weights.len()];
            least(|| depthwise_backprop_filter(&w, 1, input, output, &mut gradient))
        }
        Kind::InputGradient(n) => {
            let mut gradient = vec![0.0; input.len()];
            least(|| conv2d_backprop_input(&w, &weights, n, 1, output, &mut gradient))
        }
        Kind::FilterGradient(n) => {
            let mut gradient = vec![0.0; weights.len()];
            least(|| conv2d_backprop_filter(&w, input, n, 1, output, &mut gradient))
        }
        Kind::MaxPool => least(|| max_pool(&w.volume(), input, output, f32::MIN)),
    };
    let flops = 2.0 * (output.len() * if kind == Kind::MaxPool { window * window } else { taps }) as f64;
    let (us, gflops) = (time.as_nanos() as f64 / 1e3, flops / time.as_nanos() as f64);
    println!("| {threads} | {name} | {us:.1} us | {gflops:.1} | {in_bf16} |");
}

fn main() {
    let filter = std::env::args().nth(1).filter(|f| !f.starts_with('-')).unwrap_or_default();
    println!("| threads | layer | time | GFLOP/s | in bfloat16 |");
    println!("|---|---|---|---|---|");
    for threads in [1, 2] {
        let Ok(pool) = flowmill_runtime::intra_op::pool(threads) else {
            return;
        };
        for (size, channels, window, stride, kind) in [
            (224, 3, 7, 2, Kind::Dense(64)),
            (56, 64, 1, 1, Kind::Dense(64)),
            (56, 64, 3, 1, Kind::Dense(64)),
            (28, 128, 3, 1, Kind::Dense(128)),
            (14, 256, 3, 1, Kind::Dense(256)),
            (7, 512, 3, 1, Kind::Dense(512)),
            (112, 64, 3, 1, Kind::Dense(128)),
            (28, 48, 3, 1, Kind::Dense(32)),
            (35, 64, 3, 1, Kind::Dense(96)),
            (14, 512, 3, 1, Kind::Dense(512)),
            (14, 1024, 1, 1, Kind::Dense(256)),
            (56, 256, 1, 2, Kind::Dense(512)),
            (14, 384, 1, 1, Kind::Dense(64)),
            (112, 16, 1, 1, Kind::Dense(96)),
            (56, 24, 1, 1, Kind::Dense(144)),
            (224, 3, 3, 2, Kind::Dense(32)),
            (112, 96, 3, 2, Kind::Depthwise),
            (56, 144, 3, 1, Kind::Depthwise),
            (14, 576, 3, 1, Kind::Depthwise),
            (7, 960, 3, 1, Kind::Depthwise),
            (28, 240, 5, 1, Kind::Depthwise),
            (14, 672, 5, 2, Kind::Depthwise),
            (14, 384, 7, 1, Kind::Depthwise),
            (7, 768, 7, 1, Kind::Depthwise),
            (32, 256, 9, 1, Kind::Depthwise),
            (56, 96, 7, 1, Kind::Depthwise),
            (28, 192, 7, 1, Kind::Depthwise),
            (14, 512, 3, 1, Kind::Depthwise),
            (28, 256, 3, 1, Kind::Depthwise),
            (56, 128, 3, 2, Kind::Depthwise),
            (28, 120, 5, 1, Kind::Depthwise),
            (7, 1152, 5, 1, Kind::Depthwise),
            (14, 480, 5, 1, Kind::Depthwise),
            (14, 384, 15, 1, Kind::Depthwise),
            (28, 240, 9, 1, Kind::Depthwise),
            (28, 384, 9, 1, Kind::Depthwise),
            (56, 128, 31, 1, Kind::Depthwise),
            (28, 256, 29, 1, Kind::Depthwise),
            (14, 512, 27, 1, Kind::Depthwise),
            (7, 1024, 13, 1, Kind::Depthwise),
            (14, 512, 7, 1, Kind::Depthwise),
            (28, 256, 7, 1, Kind::Depthwise),
            (28, 256, 5, 1, Kind::Depthwise),
            (14, 512, 5, 1, Kind::Depthwise),
            (14, 448, 5, 1, Kind::Depthwise),
            (112, 96, 3, 2, Kind::DepthwiseInputGradient),
            (112, 96, 3, 2, Kind::DepthwiseFilterGradient),
            (56, 144, 3, 1, Kind::DepthwiseInputGradient),
            (56, 144, 3, 1, Kind::DepthwiseFilterGradient),
            (14, 576, 3, 1, Kind::DepthwiseInputGradient),
            (14, 576, 3, 1, Kind::DepthwiseFilterGradient),
            (28, 240, 5, 1, Kind::DepthwiseInputGradient),
            (28, 240, 5, 1, Kind::DepthwiseFilterGradient),
            (7, 768, 7, 1, Kind::DepthwiseInputGradient),
            (7, 768, 7, 1, Kind::DepthwiseFilterGradient),
            (28, 32, 3, 1, Kind::DepthwiseInputGradient),
            (28, 32, 3, 1, Kind::DepthwiseFilterGradient),
            (112, 64, 3, 2, Kind::MaxPool),
            (32, 1024, 31, 32, Kind::MaxPool),
            (64, 1024, 63, 64, Kind::MaxPool),
            (14, 1280, 13, 14, Kind::MaxPool),
            (64, 96, 63, 64, Kind::MaxPool),
            (56, 64, 3, 1, Kind::InputGradient(64)),
            (56, 64, 3, 1, Kind::FilterGradient(64)),
            (14, 256, 3, 1, Kind::InputGradient(256)),
            (28, 32, 5, 1, Kind::InputGradient(64)),
            (28, 32, 5, 1, Kind::FilterGradient(64)),
            (56, 8, 3, 1, Kind::InputGradient(64)),
            (56, 16, 3, 1, Kind::InputGradient(32)),
            (56, 24, 3, 1, Kind::InputGradient(32)),
            (56, 64, 3, 2, Kind::InputGradient(64)),
            (64, 32, 2, 2, Kind::InputGradient(64)),
            (14, 256, 3, 1, Kind::FilterGradient(256)),
        ] {
            pool.install(|| {
                let _helpers_wait = flowmill_runtime::intra_op::step();
                layer(1, size, channels, window, stride, kind, threads, &filter)
            });
        }
        // Larger than the caches.
        for (size, channels, window, stride, kind) in [
            (112, 96, 3, 2, Kind::Depthwise),
            (112, 32, 3, 1, Kind::Depthwise),
            (112, 24, 3, 1, Kind::Depthwise),
            (112, 8, 3, 1, Kind::Depthwise),
            (56, 144, 3, 1, Kind::Depthwise),
            (56, 144, 5, 2, Kind::Depthwise),
            (64, 24, 5, 1, Kind::Depthwise),
            (64, 32, 5, 1, Kind::Depthwise),
            (28, 240, 5, 1, Kind::Depthwise),
            (28, 384, 7, 1, Kind::Depthwise),
            (14, 672, 5, 1, Kind::Depthwise),
            (224, 3, 3, 2, Kind::Dense(16)),
            (128, 3, 5, 2, Kind::Dense(24)),
            (128, 3, 5, 2, Kind::Dense(32)),
            (48, 16, 1, 1, Kind::Dense(8)),
            (96, 3, 3, 2, Kind::Dense(16)),
            (224, 3, 3, 2, Kind::Dense(32)),
            (56, 64, 3, 1, Kind::Dense(64)),
            (28, 128, 3, 2, Kind::Dense(128)),
            (112, 16, 1, 1, Kind::Dense(96)),
            (112, 64, 3, 2, Kind::MaxPool),
        ] {
            pool.install(|| {
                let _helpers_wait = flowmill_runtime::intra_op::step();
                layer(8, size, channels, window, stride, kind, threads, &filter)
            });
        }
    }
}
