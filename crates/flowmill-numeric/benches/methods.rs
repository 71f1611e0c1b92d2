//! Times of all methods that can compute a convolution, beside their estimates, on one thread and a grid of layers.
//!
//! `cargo bench -p flowmill-numeric --bench methods [-- FILTER]`. A row's times are the least of many runs in microseconds, in which the methods take turns, so
//! that none finds the cache as it left it. `lost` is the time that the estimates' choice takes more than the fastest, in percent.

use flowmill_numeric::conv::{ConvLayer, ConvTrial};
use flowmill_numeric::gemm::Precision;
use flowmill_numeric::window::Window;
use std::time::{Duration, Instant};

fn layer(size: usize, channels: usize, window: usize, stride: usize, out: usize, groups: usize) -> Option<ConvLayer> {
    let window = Window::square(1, size, channels, window, stride, window / 2);
    ConvLayer::new(Precision::F32, &window, out, groups)
}

fn grid() -> Vec<ConvLayer> {
    let mut layers = Vec::new();
    for (size, channels) in [
        (112, 16),
        (112, 64),
        (56, 16),
        (56, 32),
        (56, 64),
        (28, 64),
        (28, 128),
        (14, 128),
        (14, 256),
        (14, 512),
        (7, 256),
        (7, 512),
        (4, 512),
    ] {
        for out in [8, channels / 2, channels, 2 * channels] {
            layers.push(layer(size, channels, 3, 1, out, 1));
        }
    }
    for size in [14, 56, 112] {
        for channels in [3, 8, 32, 128] {
            for (window, out) in [(1, 1), (1, 2), (1, 4), (1, 8), (3, 1), (3, 3), (3, 8), (5, 1), (9, 3)] {
                layers.push(layer(size, channels, window, 1, out, 1));
            }
        }
    }
    for (size, channels) in [(56, 64), (28, 128), (14, 256)] {
        for depth in [2, 4, 8, 16, 32, 64] {
            for (window, stride) in [(1, 1), (3, 1), (3, 2), (5, 1)] {
                layers.push(layer(size, channels, window, stride, channels, channels / depth));
            }
        }
    }
    layers.into_iter().flatten().collect()
}

fn main() {
    let filter = std::env::args().nth(1).filter(|f| !f.starts_with('-')).unwrap_or_default();
    println!("| layer | method: estimate / time, us | lost, % |\n|---|---|---|");
    let mut total = 0.0;
    let layers: Vec<_> = grid().into_iter().filter(|layer| layer.to_string().contains(&filter)).collect();
    for layer in &layers {
        let candidates = layer.candidates();
        let mut trials: Vec<_> = candidates.iter().map(|c| (ConvTrial::new(layer, c.method), Duration::MAX)).collect();
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(60) {
            for (trial, least) in &mut trials {
                let once = Instant::now();
                trial.run();
                *least = once.elapsed().min(*least);
            }
        }
        let micros = |time: &Duration| time.as_nanos() as f64 / 1e3;
        let fastest = trials.iter().map(|(_, time)| micros(time)).fold(f64::INFINITY, f64::min);
        let lost = 100.0 * (micros(&trials[0].1) / fastest - 1.0);
        total += lost;
        let columns = candidates.iter().zip(&trials).map(|(candidate, (_, time))| {
            let estimate = ConvTrial::estimate(layer, candidate).1 / 1e3;
            format!("{}: {estimate:.1} / {:.1}", candidate.method.name(), micros(time))
        });
        println!("| {layer} | {} | {lost:.0} |", columns.collect::<Vec<_>>().join(", "));
    }
    println!("\nMean loss {:.1} %", total / layers.len().max(1) as f64);
}
