//! GFLOP/s of matrix products at the shapes of common models, at one and two threads.
//!
//! `cargo bench -p flowmill-numeric --bench gemm [-- FILTER]`; the reported time of a shape is the least of many runs. The filter `narrow` prints products
//! of `bfloat16` and of bytes beside those of `f32`.

use std::time::{Duration, Instant};

use flowmill_numeric::gemm::{
    Activation, Epilogue, MatrixRef, PackedBytes, PackedRhs, Precision, gemm, gemm_batch, gemm_bytes, gemm_packed,
};

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

fn shape(m: usize, k: usize, n: usize, threads: usize) {
    let a: Vec<f32> = (0..m * k).map(|i| (i % 13) as f32 * 0.1).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 11) as f32 * 0.1).collect();
    let bias = vec![0.5; n];
    // Tensors start on a cache line.
    let mut c = vec![0.0f32; m * n + 16];
    let aligned = c.as_ptr().align_offset(64);
    let c = &mut c[aligned..][..m * n];
    let packed = PackedRhs::pack(Precision::F32, &b, k, n, false);
    let gflops = |t: Duration| 2.0 * (m * k * n) as f64 / t.as_nanos() as f64;
    let plain = |data, ld| MatrixRef { data, ld, transposed: false };

    let prepacked = least(|| gemm_packed(&a, k, m, &packed, c, n, &Epilogue::default()));
    let fused = Epilogue::bias_activation(Some(&bias), Activation::Tanh);
    let with_tanh = least(|| gemm_packed(&a, k, m, &packed, c, n, &fused));
    let unpacked = least(|| gemm(m, k, n, plain(&a, k), plain(&b, n), c, n, false));
    println!(
        "| {threads} | {m}x{k}x{n} | {:.1} us | {:.1} | {:.1} | {:.1} |",
        prepacked.as_nanos() as f64 / 1e3,
        gflops(prepacked),
        gflops(with_tanh),
        gflops(unpacked),
    );
}

/// Measures a product with packed B of `f32`, of `f32` rounded to `bfloat16`, and of bytes, in turns.
fn narrow(m: usize, k: usize, n: usize, threads: usize) {
    let a: Vec<f32> = (0..m * k).map(|i| (i % 13) as f32 * 0.1).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 11) as f32 * 0.1).collect();
    let (bytes_of_a, bytes_of_b) = (vec![3u8; m * k], vec![5i8; k * n]);
    let packed = [Precision::F32, Precision::Bf16].map(|precision| PackedRhs::pack(precision, &b, k, n, false));
    let packed_bytes = PackedBytes::pack_signed(MatrixRef { data: &bytes_of_b, ld: n, transposed: false }, k, n, 0);
    let (mut c, mut sums) = (vec![0.0f32; m * n], vec![0i32; m * n]);
    let mut times = [Duration::MAX; 3];
    for _ in 0..4 {
        for (time, b) in times.iter_mut().zip(&packed) {
            *time = least(|| gemm_packed(&a, k, m, b, &mut c, n, &Epilogue::default())).min(*time);
        }
        let a = MatrixRef { data: &bytes_of_a[..], ld: k, transposed: false };
        times[2] = least(|| gemm_bytes(m, a, 7, &packed_bytes, &mut sums)).min(times[2]);
    }
    let us = times.map(|time| time.as_nanos() as f64 / 1e3);
    println!(
        "| {threads} | {m}x{k}x{n} | {:.1} us | {:.1} us | {:.2} | {:.1} us | {:.2} |",
        us[0],
        us[1],
        us[0] / us[1],
        us[2],
        us[0] / us[2]
    );
}

/// Measures a batch of products with plain operands, as in attention.
fn batch(count: usize, m: usize, k: usize, n: usize, transposed: bool, threads: usize) {
    let a = vec![0.5f32; count * m * k];
    let b = vec![0.25f32; count * k * n];
    let mut c = vec![0.0f32; count * m * n];
    let a = MatrixRef { data: &a, ld: k, transposed: false };
    let b = MatrixRef { data: &b, ld: if transposed { k } else { n }, transposed };
    let time = least(|| gemm_batch(count, m, k, n, (a, m * k), (b, k * n), &mut c));
    let transposed = if transposed { " B transposed" } else { "" };
    println!(
        "| {threads} | {count} of {m}x{k}x{n}{transposed} | {:.1} us | {:.1} | | |",
        time.as_nanos() as f64 / 1e3,
        2.0 * (count * m * k * n) as f64 / time.as_nanos() as f64
    );
}

/// Measures products with weights that no cache holds, as those of a wide layer that is trained: each call has another B.
fn cold(m: usize, k: usize, n: usize, transposed: bool, threads: usize) {
    let a = vec![0.5f32; m * k];
    let weights: Vec<Vec<f32>> = (0..8).map(|_| vec![0.25f32; k * n]).collect();
    let mut c = vec![0.0f32; m * n];
    let mut next = weights.iter().cycle();
    let a = MatrixRef { data: &a, ld: k, transposed: false };
    let time = least(|| {
        let Some(data) = next.next() else { return };
        gemm(m, k, n, a, MatrixRef { data, ld: if transposed { k } else { n }, transposed }, &mut c, n, false);
    });
    let nanoseconds = time.as_nanos() as f64;
    let transposed = if transposed { " B transposed" } else { "" };
    println!(
        "| {threads} | cold {m}x{k}x{n}{transposed} | {:.1} us | {:.1} | {:.1} GB/s | |",
        nanoseconds / 1e3,
        2.0 * (m * k * n) as f64 / nanoseconds,
        (4 * k * n) as f64 / nanoseconds
    );
}

fn main() {
    let filter = std::env::args().nth(1).filter(|f| !f.starts_with('-')).unwrap_or_default();
    if filter == "narrow" {
        println!("| threads | m x k x n | f32 | bf16 | f32 / bf16 | bytes | f32 / bytes |\n|---|---|---|---|---|---|---|");
        for threads in [1, 2] {
            let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() else { return };
            for (m, k, n) in [
                (512, 512, 512),
                (1024, 1024, 1024),
                (1, 784, 512),
                (32, 784, 512),
                (1, 1024, 1024),
                (2, 1024, 1024),
                (4, 1024, 1024),
                (6, 1024, 1024),
                (12, 1024, 1024),
                (128, 256, 1024),
                (128, 1024, 256),
                (3136, 64, 64),
                (3136, 576, 64),
                (196, 1024, 256),
                (49, 4608, 512),
                (12544, 24, 144),
                (12544, 144, 24),
            ] {
                pool.install(|| narrow(m, k, n, threads));
            }
        }
        return;
    }
    println!("| threads | m x k x n | prepacked | GFLOP/s | with bias and tanh | plain B |");
    println!("|---|---|---|---|---|---|");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let Ok(pool) = pool else { return };
        for (m, k, n) in [
            (64, 64, 64),
            (128, 128, 128),
            (256, 256, 256),
            (512, 512, 512),
            (1024, 1024, 1024),
            (2048, 2048, 2048),
            (1, 512, 512),
            (1, 320, 1024),
            (32, 320, 1024),
            (1, 784, 512),
            (32, 784, 512),
            (8, 3136, 1024),
            (32, 3136, 1024),
            (16, 4096, 1000),
            (8, 512, 512),
            (1, 512, 10),
            (32, 512, 10),
            (128, 256, 256),
            (128, 256, 1024),
            (128, 1024, 256),
            (128, 64, 128),
            (3136, 64, 64),
            (196, 1024, 256),
            (3136, 576, 64),
            (12544, 24, 144),
            (49, 4608, 512),
            // Larger than the caches: layers of a batch of images.
            (100352, 16, 96),
            (25088, 24, 144),
            (25088, 144, 24),
            (6272, 240, 40),
            (4096, 24, 24),
            (4096, 32, 32),
            (4096, 28, 28),
            (25088, 64, 256),
            (25088, 256, 64),
            (6272, 128, 512),
            (6272, 512, 128),
            (1024, 128, 1024),
            (784, 256, 512),
            (3136, 256, 512),
            (1024, 512, 256),
            (768, 256, 1024),
            (1024, 384, 1536),
            (1024, 1536, 384),
            (512, 768, 3072),
            (1568, 1024, 256),
        ] {
            if format!("{m}x{k}x{n}").contains(&filter) {
                pool.install(|| shape(m, k, n, threads));
            }
        }
        if "batch".contains(&filter) {
            pool.install(|| batch(4, 128, 64, 128, true, threads));
            pool.install(|| batch(4, 128, 128, 64, false, threads));
            pool.install(|| batch(128, 128, 64, 128, true, threads));
            pool.install(|| batch(64, 1, 64, 128, true, threads));
        }
        if "cold".contains(&filter) {
            for (m, k, n) in [(1, 3136, 1024), (8, 3136, 1024), (32, 3136, 1024), (16, 4096, 1000), (64, 2048, 2048)] {
                pool.install(|| cold(m, k, n, false, threads));
                pool.install(|| cold(m, n, k, true, threads));
            }
        }
    }
}
