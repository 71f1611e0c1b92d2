//! Nanoseconds per element of the elementary functions and row functions, on one thread, with data in the L1 cache.
//!
//! `cargo bench -p flowmill-numeric --bench elementary`; the reported time is the least of many runs.

use std::time::{Duration, Instant};

use flowmill_numeric::simd::{rows, unary};

/// Elements per call: source and destination fit into the L1 cache together.
const LEN: usize = 2048;

fn show(name: &str, mut f: impl FnMut()) {
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(100) {
        let once = Instant::now();
        for _ in 0..10 {
            f();
        }
        best = best.min(once.elapsed());
    }
    println!("| {name} | {:.3} |", best.as_nanos() as f64 / (10 * LEN) as f64);
}

fn main() {
    let src: Vec<f32> = (0..LEN).map(|i| (i as f32 - 1024.0) / 200.0).collect();
    let mut dst = vec![0.0f32; LEN];
    println!("| function | ns an element |\n|---|---|");
    type Function = fn(&mut [f32], &[f32]);
    let functions: [(&str, Function); 14] = [
        ("relu", unary::relu),
        ("sqrt", unary::sqrt),
        ("rsqrt", unary::rsqrt),
        ("exp", unary::exp),
        ("expm1", unary::expm1),
        ("log", unary::log),
        ("log1p", unary::log1p),
        ("tanh", unary::tanh),
        ("sigmoid", unary::sigmoid),
        ("erf", unary::erf),
        ("sin", unary::sin),
        ("gelu_exact", unary::gelu_exact),
        ("gelu_approximate", unary::gelu_approximate),
        ("softplus", unary::softplus),
    ];
    for (name, f) in functions {
        show(name, || f(&mut dst, &src));
    }
    for cols in [8, 128, 1024] {
        show(&format!("softmax of {cols}"), || rows::softmax(&mut dst, &src, cols));
        show(&format!("layer_norm of {cols}"), || rows::layer_norm(&mut dst, &src, cols, None, None, 1e-5));
    }
}
