//! Kernels and copies by the interface to a GPU, which show what the stub of the driver does.

use crate::setup::assert_no_leaks;
use flowmill::Result;
use flowmill::gpu::backend::{Address, Gpu, Grid, PinnedMemory, Stream};
use flowmill::gpu::cuda::{self, CudaOptions};
use std::ffi::c_void;
use std::sync::Arc;

/// Launches a kernel of one pointer, on `n` words that are uploaded before and downloaded after. `is_ordered` is false if the host leaves out the events
/// between the streams of the copies and the kernel.
fn run(gpu: &Arc<dyn Gpu>, source: &str, grid: Grid, words: &[u32], is_ordered: bool) -> Result<Vec<u32>> {
    let bytes = 4 * words.len();
    let (pinned, back) = (gpu.allocate_pinned(bytes)?, gpu.allocate_pinned(bytes)?);
    let region = gpu.allocate(bytes)?.unwrap();
    fill(&*pinned, words);
    fill(&*back, &vec![0; words.len()]);
    let enqueue = || -> Result<()> {
        let function = gpu.load(source, "kernel")?;
        // SAFETY: the memory lives until the last event, and the kernel has one parameter.
        unsafe {
            gpu.upload(region, pinned.as_ptr(), bytes, Stream::Upload)?;
            if is_ordered {
                gpu.wait_in(Stream::Compute, &gpu.record(Stream::Upload)?)?;
            }
            let Address(mut address) = region;
            gpu.launch(&function, grid, &mut [(&raw mut address).cast::<c_void>()])?;
            if is_ordered {
                gpu.wait_in(Stream::Download, &gpu.record(Stream::Compute)?)?;
            }
            gpu.download(back.as_ptr(), region, bytes, Stream::Download)
        }
    };
    let enqueued = enqueue();
    let ended = [Stream::Compute, Stream::Upload, Stream::Download].map(|stream| gpu.record(stream)?.wait());
    gpu.free(region);
    enqueued?;
    ended.into_iter().collect::<Result<()>>()?;
    // SAFETY: the copies have ended, and the memory has this many words.
    Ok(unsafe { std::slice::from_raw_parts(back.as_ptr().cast::<u32>(), words.len()) }.to_vec())
}

fn fill(memory: &dyn PinnedMemory, words: &[u32]) {
    // SAFETY: the memory has room for the words, and nobody else uses it.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), memory.as_ptr().cast(), words.len()) };
}

fn first_gpu() -> Arc<dyn Gpu> {
    cuda::gpus(&CudaOptions::default()).unwrap().swap_remove(0)
}

const BLOCK: Grid = Grid { blocks: [3, 1, 1], threads: [96, 1, 1] };

#[test]
fn threads_of_a_block_wait_for_each_other() {
    let driver = stub_cuda::install().unwrap();
    let reversed = r#"extern "C" __global__ void kernel(unsigned* words) {
        __shared__ unsigned block[96];
        words += blockIdx.x * blockDim.x;
        block[threadIdx.x] = words[threadIdx.x];
        __syncthreads();
        words[threadIdx.x] = block[blockDim.x - 1 - threadIdx.x];
    }"#;
    let words: Vec<u32> = (0..288).collect();
    let expected: Vec<u32> = (0..3).flat_map(|block| (0..96).map(move |i| block * 96 + 95 - i)).collect();
    assert_eq!(run(&first_gpu(), reversed, BLOCK, &words, true).unwrap(), expected);
    let unsynchronised = reversed.replace("__syncthreads();", "");
    assert_ne!(run(&first_gpu(), &unsynchronised, BLOCK, &words, true).unwrap(), expected, "a missing barrier shows");
    assert_no_leaks(&driver);
}

#[test]
fn lanes_of_a_warp_exchange_values() {
    let driver = stub_cuda::install().unwrap();
    let sums = r#"extern "C" __global__ void kernel(unsigned* words) {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
        unsigned all = words[i], first = words[i];
        for (int bits = 16; bits > 0; bits /= 2) all += __shfl_xor_sync(0xffffffffu, all, bits);
        for (int distance = 16; distance > 0; distance /= 2) first += __shfl_down_sync(0xffffffffu, first, distance);
        first = __shfl_sync(0xffffffffu, first, 0);
        unsigned odd = __ballot_sync(0xffffffffu, words[i] % 2);
        __shared__ unsigned total;
        if (threadIdx.x == 0) total = 0;
        __syncthreads();
        if (lane == 0) atomicAdd(&total, all);
        __syncthreads();
        words[i] = all == first && odd == 0xaaaaaaaau ? total : 0;
    }"#;
    let words: Vec<u32> = (0..288).collect();
    let expected: Vec<u32> = (0..3u32).flat_map(|block| [(block * 96..block * 96 + 96).sum::<u32>(); 96]).collect();
    assert_eq!(run(&first_gpu(), sums, BLOCK, &words, true).unwrap(), expected);
    assert_no_leaks(&driver);
}

#[test]
fn threads_at_different_barriers_are_a_failed_launch() {
    let _driver = stub_cuda::install().unwrap();
    let divergent = r#"extern "C" __global__ void kernel(unsigned* words) {
        if (threadIdx.x % 2) __syncthreads(); else __syncwarp();
    }"#;
    let error = run(&first_gpu(), divergent, BLOCK, &[0; 288], true).unwrap_err();
    assert!(error.message().contains("CUDA_ERROR_LAUNCH_FAILED"), "{error}");
}

#[test]
fn a_launch_that_no_gpu_can_do_is_refused() {
    let driver = stub_cuda::install().unwrap();
    let nothing = "extern \"C\" __global__ void kernel(unsigned* words) {}";
    for grid in [Grid { blocks: [0, 1, 1], ..BLOCK }, Grid { threads: [1025, 1, 1], ..BLOCK }, Grid { blocks: [1, 65_536, 1], ..BLOCK }] {
        let error = run(&first_gpu(), nothing, grid, &[0; 4], true).unwrap_err();
        assert!(error.message().contains("CUDA_ERROR_INVALID_VALUE"), "{grid:?}: {error}");
    }
    drop(driver);
}

#[test]
fn a_text_that_does_not_compile_is_an_error_with_the_log() {
    let driver = stub_cuda::install().unwrap();
    let broken = "extern \"C\" __global__ void kernel(unsigned* words) { nothing(); }";
    let error = run(&first_gpu(), broken, BLOCK, &[0; 4], true).unwrap_err();
    assert!(
        error.message().contains("'nothing' was not declared") || error.message().contains("undeclared identifier 'nothing'"),
        "{error}"
    );
    drop(driver);
}

#[test]
fn missing_events_show_in_the_asynchronous_mode() {
    let driver = stub_cuda::install().unwrap();
    let doubled = "extern \"C\" __global__ void kernel(unsigned* words) { words[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }";
    let words: Vec<u32> = (1..289).collect();
    let expected: Vec<u32> = words.iter().map(|word| 2 * word).collect();
    let mut wrong = 0;
    for seed in 1..20 {
        driver.set_asynchronous(seed);
        assert_eq!(run(&first_gpu(), doubled, BLOCK, &words, true).unwrap(), expected, "seed {seed}");
        wrong += usize::from(run(&first_gpu(), doubled, BLOCK, &words, false).unwrap() != expected);
    }
    assert!(wrong > 0, "no order shows the missing events");
    assert_no_leaks(&driver);
}
