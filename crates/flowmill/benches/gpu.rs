//! Times of the first GPU of this machine: `cargo bench -p flowmill --bench gpu`. Ends with a message if there is none.
//!
//! Each row is the minimum of many steps. Rows of kernels enqueue many kernels in one step and divide its time by their number.
#![allow(clippy::unwrap_used)]

use flowmill::gpu::{GpuOptions, cuda};
use flowmill::prelude::*;
use flowmill::{Runner, SessionOptions};
use std::time::Instant;

const GPU: &str = "/device:GPU:0";

fn session(b: &GraphBuilder) -> flowmill::Result<Session> {
    let mut devices = vec![flowmill::device::HostDevice::cpu(0, flowmill::kernels())];
    devices.extend(flowmill::gpu::cuda_devices(&cuda::CudaOptions::from_env(), GpuOptions::default())?);
    Session::with_devices(b.shared_graph().clone(), devices, SessionOptions { optimize: false, ..SessionOptions::default() })
}

/// Returns the least time in seconds of a step that fetches `output`.
fn least<'a>(steps: usize, runner: impl Fn() -> Runner<'a>, output: Output<'_>) -> flowmill::Result<f64> {
    let _: Tensor = runner().fetch(output)?;
    let mut least = f64::INFINITY;
    for _ in 0..steps {
        let start = Instant::now();
        let _: Tensor = runner().fetch(output)?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// Returns the time of one of `n` nodes in a chain of `node` that begins with a tensor of this shape, by the difference of chains of two lengths.
fn per_node(
    [rows, columns]: [usize; 2],
    dtype: DType,
    lengths: [usize; 2],
    node: impl for<'b> Fn(&'b GraphBuilder, Output<'b>, Output<'b>) -> flowmill::Result<Output<'b>>,
) -> flowmill::Result<f64> {
    let mut times = [0.0; 2];
    for (time, length) in times.iter_mut().zip(lengths) {
        let b = GraphBuilder::new()?;
        let target = b.with_device(GPU, || {
            // All elements are 0.5 and 0 in turns.
            let column = b.constant(Tensor::zeros(DType::F32, [rows, 1])?)?;
            let row: Vec<f32> = (0..columns).map(|i| (i % 2) as f32 * 0.5).collect();
            let row = b.constant(Tensor::from_slice([1, columns], &row)?)?;
            let zeros = b.op("Cast").input(column + row).attr("DstT", dtype).output()?;
            let mut x = zeros;
            for _ in 0..length {
                x = node(&b, x, zeros)?;
            }
            // The dot product, because a step ends when its results have come back.
            let n = (rows * columns) as i32;
            let (row, column) = (b.constant(Tensor::vector(&[1, n])?)?, b.constant(Tensor::vector(&[n, 1])?)?);
            let shaped = |shape| b.op("Reshape").input(x).input(shape).output();
            b.mat_mul(shaped(row)?, shaped(column)?)
        })?;
        let session = session(&b)?;
        *time = least(20, || session.runner(), target)?;
    }
    Ok((times[1] - times[0]) / (lengths[1] - lengths[0]) as f64)
}

/// Prints the time of a step of a model, with all nodes on the GPU that have a kernel there, and the largest difference from the recorded results.
fn model(name: &str, output: &str, batch: usize) -> flowmill::Result<()> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/models");
    let data = std::env::var("FLOWMILL_MODELS").unwrap_or_else(|_| directory.to_owned());
    let recorded = flowmill::npz::read(format!("{data}/{name}.npz"))?;
    let array = |name: String| recorded.get(&name).cloned().ok_or_else(|| flowmill::Error::not_found(format!("no array {name}")));
    let (x, expected) = (array(format!("x_b{batch}"))?, array(format!("{output}_b{batch}"))?);
    let mut times = Vec::new();
    let mut difference = 0f32;
    for device in ["", GPU] {
        let mut graph = flowmill::load_graph(format!("{data}/{name}.pb"))?;
        let nodes = graph.op_node_ids();
        for node in nodes {
            graph.set_device(node, device)?;
        }
        let mut devices = vec![flowmill::device::HostDevice::cpu(0, flowmill::kernels())];
        devices.extend(flowmill::gpu::shared_devices(&cuda::CudaOptions::from_env(), GpuOptions::default())?);
        let options = SessionOptions { allow_soft_placement: true, ..SessionOptions::default() };
        let session = Session::with_devices(std::sync::Arc::new(flowmill::sync::RwLock::new(graph)), devices, options)?;
        let mut least = f64::INFINITY;
        for _ in 0..50 {
            let start = Instant::now();
            let y: Tensor = session.runner().feed("x", x.clone()).fetch(output)?;
            least = least.min(start.elapsed().as_secs_f64());
            let pairs = y.as_slice::<f32>()?.iter().zip(expected.as_slice::<f32>()?);
            difference = pairs.fold(0.0, |most: f32, (a, b)| most.max((a - b).abs()));
        }
        times.push(least);
    }
    println!("{name:18} x {batch:2} {:8.1} us on the CPU, {:8.1} us on the GPU, difference {difference:e}", times[0] * 1e6, times[1] * 1e6);
    Ok(())
}

fn main() -> flowmill::Result<()> {
    let gpus = match cuda::gpus(&cuda::CudaOptions::from_env()) {
        Ok(gpus) => gpus,
        Err(e) => {
            println!("{e}");
            return Ok(());
        }
    };
    println!("{:?}", gpus.first().map(|gpu| gpu.properties().clone()));
    drop(gpus);

    let overhead = per_node([1, 16], DType::F32, [100, 1100], |_, x, y| Ok(x + y))?;
    println!("a small addition            {:8.2} us", overhead * 1e6);
    for (name, dtype, bytes) in [("float32", DType::F32, 4), ("float16", DType::F16, 2)] {
        let n = 1usize << 28;
        let time = per_node([1 << 14, 1 << 14], dtype, [4, 24], |_, x, y| Ok(x + y))?;
        println!("{name} addition, 2^28 elements {:8.1} GB/s", (3 * n * bytes) as f64 / time / 1e9);
    }
    for (name, dtype) in [("float32", DType::F32), ("bfloat16", DType::BF16)] {
        let n = 4096;
        let time = per_node([n, n], dtype, [4, 14], |b, x, y| b.mat_mul(x, y))?;
        println!("{name} product of {n}^2     {:8.1} TFLOP/s", 2.0 * (n as f64).powi(3) / time / 1e12);
    }
    let models = [
        ("mlp", "y", 2),
        ("bert_small", "y", 4),
        ("lstm_small", "y", 4),
        ("mobilenetv2_small", "Identity", 4),
        ("resnet_small", "Identity", 4),
    ];
    for (name, output, most) in models {
        for batch in [1, most] {
            if let Err(e) = model(name, output, batch) {
                println!("{name:18} x {batch:2} {e}");
            }
        }
    }
    let b = GraphBuilder::new()?;
    let x = b.placeholder(DType::F32, [-1])?;
    let y = b.with_device(GPU, || Ok(x + x))?;
    let session = session(&b)?;
    for n in [1usize, 1 << 10, 1 << 20, 1 << 24] {
        let feed = Tensor::zeros(DType::F32, [n])?;
        let mut shortest = f64::INFINITY;
        for _ in 0..30 {
            let start = Instant::now();
            let _: Tensor = session.runner().feed(x, feed.clone()).fetch(y)?;
            shortest = shortest.min(start.elapsed().as_secs_f64());
        }
        println!("there and back, {n:8} floats {:8.1} us", shortest * 1e6);
    }
    Ok(())
}
