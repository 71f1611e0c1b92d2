//! Runs a chain of kernels on a batch, a few images at a time.
//!
//! Run node by node, a batch writes and reads tensors of a hundred megabytes, which fit into no cache. Here the batch is split into *tiles* of a few
//! images. A *stage* is a part of the chain that runs all of its kernels on one tile after the other. Threads share the tiles of a stage; a kernel
//! that works on a tile does not fork. Each stage has its own number of images per tile, because in a network the images shrink and the weights grow
//! from layer to layer.
//!
//! The memory that an image needs is measured: before the first batch of images of some shape, one image goes through the chain alone.

use super::run::{Code, Reg, RegisterPool, Registers};
use crate::intra_op;
use crate::kernel::{Kernel, KernelContext};
use crate::step::DeviceStep;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Error, Result, Shape, Tensor, bail};
use std::ops::Range;
use std::sync::Arc;

/// The most bytes that one kernel reads and writes of a tile, unless a single image needs more. It is a share of the last-level cache.
const TILE_BYTES: usize = 8 << 20;

/// A kernel that runs a chain of kernels on tiles of a batch.
pub(super) struct BatchProgram {
    /// One call per node of the chain, each with one output.
    code: Code,
    pool: RegisterPool,
    /// The register of the tensor that is split along its first dimension. Registers before it hold constants, which all images share; those after it
    /// hold the outputs of the calls, in order.
    source: Reg,
    /// The registers that become outputs.
    results: Vec<Reg>,
    /// For each register from the source on, the last call that reads it; the number of calls for results.
    last_use: Vec<usize>,
    /// The stages for images of the shape of the last batch.
    stages: Mutex<Option<(Shape, Arc<[Stage]>)>>,
}

/// Calls that run on one tile after the other.
struct Stage {
    calls: Range<usize>,
    /// The outputs that later stages or the caller need, each with the shape of one image.
    outputs: Vec<(Reg, Shape)>,
    /// The number of images per tile.
    images: usize,
}

impl BatchProgram {
    /// Makes a program of calls whose last uses of registers are marked, and of the constants and the number of its registers.
    pub(super) fn new(code: Code, constants: Vec<Tensor>, num_regs: usize, source: Reg, results: Vec<Reg>) -> BatchProgram {
        debug_assert!(code.calls.iter().enumerate().all(|(i, call)| call.dst == source + 1 + i as Reg), "outputs of calls are in order");
        let mut last_use = vec![0; num_regs - source as usize];
        for (i, call) in code.calls.iter().enumerate() {
            call.operands.iter().filter(|o| o.reg >= source).for_each(|o| last_use[(o.reg - source) as usize] = i);
        }
        results.iter().for_each(|r| last_use[(r - source) as usize] = code.calls.len());
        BatchProgram { code, pool: RegisterPool::new(constants, num_regs), source, results, last_use, stages: Mutex::new(None) }
    }

    /// Returns the registers that a call reads, except for constants.
    fn reads(&self, call: usize) -> impl Iterator<Item = Reg> + '_ {
        self.code.calls[call].operands.iter().map(|o| o.reg).filter(|&r| r >= self.source)
    }

    /// Returns the last call that reads a register; the number of calls for results.
    fn last_use(&self, register: Reg) -> usize {
        self.last_use[(register - self.source) as usize]
    }

    /// Returns a register file that holds the source.
    fn registers_with(&self, source: Tensor) -> Registers {
        let mut file = self.pool.acquire();
        file.0[self.source as usize] = Some(source);
        file
    }

    /// Returns the results from a register file, which is no longer used.
    fn take_results(&self, mut file: Registers) -> Vec<Option<Tensor>> {
        let results = self.results.iter().map(|&r| file.0[r as usize].take()).collect();
        self.pool.release(file);
        results
    }

    /// Computes the results for the whole batch at once.
    fn run_whole(&self, source: Tensor, step: &Arc<DeviceStep>) -> Result<Vec<Option<Tensor>>> {
        let mut file = self.registers_with(source);
        self.code.run(&mut file.0, step)?;
        Ok(self.take_results(file))
    }

    /// Computes the results a tile at a time. Returns `None` if that is not possible.
    fn run_tiled(&self, source: &Tensor, step: &Arc<DeviceStep>) -> Result<Option<Vec<Option<Tensor>>>> {
        let Some((&batch, image)) = source.shape().dims().split_first().filter(|(batch, _)| **batch > 1) else { return Ok(None) };
        if source.num_elements() == 0 {
            return Ok(None);
        }
        let image = Shape::new(image);
        let known = self.stages.lock().as_ref().filter(|(shape, _)| *shape == image).map(|(_, stages)| stages.clone());
        let stages = match known {
            Some(stages) => stages,
            None => {
                let stages: Arc<[Stage]> = self.plan(source.view(0, batch_of(1, &image))?, step)?.into();
                *self.stages.lock() = Some((image, stages.clone()));
                stages
            }
        };
        if stages.iter().flat_map(|s| &s.outputs).any(|(_, shape)| shape.num_elements() == 0) {
            return Ok(None);
        }
        let mut file = self.registers_with(source.clone());
        for stage in stages.iter() {
            self.run_stage(stage, batch, &mut file.0, step)?;
        }
        Ok(Some(self.take_results(file)))
    }

    /// Runs one image through the chain, and splits the chain into stages by the memory that the image needs.
    fn plan(&self, image: Tensor, step: &Arc<DeviceStep>) -> Result<Vec<Stage>> {
        // By register, from the source on.
        let mut bytes = vec![image.num_bytes()];
        let mut shapes = vec![Shape::new(image.shape().get(1..).unwrap_or(&[]))];
        let mut file = self.registers_with(image);
        for (i, call) in self.code.calls.iter().enumerate() {
            self.code.run_part(&self.code.instrs[i..i + 1], &mut file.0, step)?;
            let Some(output) = &file.0[call.dst as usize] else { bail!(Internal, "node {} gave nothing", call.callee.node) };
            let Some((1, image)) = output.shape().dims().split_first() else {
                bail!(Internal, "an output of shape {} for one image", output.shape());
            };
            bytes.push(output.num_bytes());
            shapes.push(Shape::new(image));
        }
        self.pool.release(file);
        let num_calls = self.code.calls.len();
        let mut stages: Vec<Stage> = Vec::new();
        let (mut start, mut peak) = (0, 0);
        for i in 0..num_calls {
            peak = peak.max(self.reads(i).map(|r| bytes[(r - self.source) as usize]).sum::<usize>() + bytes[i + 1]);
            if i + 1 < num_calls && self.num_live_after(i) > 1 {
                continue;
            }
            let images = 1 << (TILE_BYTES / peak.max(1)).max(1).ilog2();
            match stages.last_mut().filter(|s| s.images == images) {
                Some(stage) => stage.calls.end = i + 1,
                None => stages.push(Stage { calls: start..i + 1, outputs: Vec::new(), images }),
            }
            (start, peak) = (i + 1, 0);
        }
        for stage in &mut stages {
            let outlives = |&i: &usize| self.last_use[i + 1] >= stage.calls.end;
            stage.outputs = stage.calls.clone().filter(outlives).map(|i| (self.code.calls[i].dst, shapes[i + 1].clone())).collect();
        }
        Ok(stages)
    }

    /// Returns the number of registers that call `i` or an earlier one writes, and that are results or are read later.
    fn num_live_after(&self, i: usize) -> usize {
        self.last_use[..=i + 1].iter().filter(|&&last| last > i).count()
    }

    /// Runs a stage for the whole batch. The registers hold whole batches before and after.
    fn run_stage(&self, stage: &Stage, batch: usize, registers: &mut [Option<Tensor>], step: &Arc<DeviceStep>) -> Result<()> {
        let threads = intra_op::threads();
        // Each of several threads gets several tiles, so that one that is disturbed leaves some to others.
        let images = if threads == 1 { stage.images } else { stage.images.min(batch.div_ceil(2 * threads)).max(1) };
        if images >= batch {
            return self.run_stage_at_once(stage, batch, registers, step);
        }
        let tiles = batch.div_ceil(images);
        let mut outputs = Vec::with_capacity(stage.outputs.len());
        for (_, shape) in &stage.outputs {
            outputs.push(step.device.host_allocator().uninit(DType::F32, batch_of(batch, shape))?);
        }
        let mut parts: Vec<Vec<&mut [f32]>> = (0..tiles).map(|_| Vec::new()).collect();
        for (output, (_, shape)) in outputs.iter_mut().zip(&stage.outputs) {
            let chunks = output.as_mut_slice::<f32>()?.chunks_mut(images * shape.num_elements());
            parts.iter_mut().zip(chunks).for_each(|(part, chunk)| part.push(chunk));
        }
        // Each lock is taken once, by the thread that the tile goes to.
        let parts: Vec<Mutex<Vec<&mut [f32]>>> = parts.into_iter().map(Mutex::new).collect();
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let inputs: &[Option<Tensor>] = registers;
        let one = |tile: usize| {
            let first = tile * images;
            let part = first..batch.min(first + images);
            if let Err(error) = self.run_tile_into(stage, part, inputs, &mut parts[tile].lock(), step) {
                *failure.lock() = Some(error);
            }
        };
        if tiles >= threads {
            intra_op::run(tiles, &|tile| intra_op::alone(|| one(tile)));
        } else {
            (0..tiles).for_each(one);
        }
        drop(parts);
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        self.end_stage(stage, registers, outputs);
        Ok(())
    }

    /// Runs a stage for a batch that is one tile, whose outputs need not be copied together.
    fn run_stage_at_once(&self, stage: &Stage, batch: usize, registers: &mut [Option<Tensor>], step: &Arc<DeviceStep>) -> Result<()> {
        let mut file = self.run_tile(stage, 0..batch, registers, step)?;
        let outputs =
            stage.outputs.iter().map(|(register, image)| tile_output(&mut file, *register, batch, image)).collect::<Result<_>>()?;
        self.pool.release(file);
        self.end_stage(stage, registers, outputs);
        Ok(())
    }

    /// Frees the tensors that no later stage reads, and stores the outputs of a stage.
    fn end_stage(&self, stage: &Stage, registers: &mut [Option<Tensor>], outputs: Vec<Tensor>) {
        for r in self.source..self.source + self.last_use.len() as Reg {
            if self.last_use(r) < stage.calls.end {
                registers[r as usize] = None;
            }
        }
        for ((register, _), output) in stage.outputs.iter().zip(outputs) {
            registers[*register as usize] = Some(output);
        }
    }

    /// Runs a stage for some images, and returns the registers with its outputs.
    fn run_tile(&self, stage: &Stage, images: Range<usize>, inputs: &[Option<Tensor>], step: &Arc<DeviceStep>) -> Result<Registers> {
        step.step.look_up()?;
        let mut file = self.pool.acquire();
        let registers = &mut file.0[..];
        for r in stage.calls.clone().flat_map(|call| self.reads(call)).map(|r| r as usize) {
            if let (Some(whole), None) = (&inputs[r], &registers[r]) {
                let image = Shape::new(whole.shape().get(1..).unwrap_or(&[]));
                registers[r] = Some(whole.view(images.start * image.num_elements(), batch_of(images.len(), &image))?);
            }
        }
        self.code.run_part(&self.code.instrs[stage.calls.clone()], registers, step)?;
        Ok(file)
    }

    /// Runs a stage for some images, and copies their outputs to their position in the batch.
    fn run_tile_into(
        &self,
        stage: &Stage,
        images: Range<usize>,
        inputs: &[Option<Tensor>],
        outputs: &mut [&mut [f32]],
        step: &Arc<DeviceStep>,
    ) -> Result<()> {
        let count = images.len();
        let mut file = self.run_tile(stage, images, inputs, step)?;
        for ((register, image), output) in stage.outputs.iter().zip(outputs) {
            output.copy_from_slice(tile_output(&mut file, *register, count, image)?.as_slice()?);
        }
        self.pool.release(file);
        Ok(())
    }
}

/// Takes an output of so many images from the registers of a tile.
fn tile_output(file: &mut Registers, register: Reg, images: usize, image: &Shape) -> Result<Tensor> {
    match file.0[register as usize].take() {
        Some(tensor) if *tensor.shape() == batch_of(images, image) => Ok(tensor),
        _ => bail!(Internal, "a tile of another shape than {image}"),
    }
}

fn batch_of(images: usize, image: &Shape) -> Shape {
    Shape::new(&[&[images], image.dims()].concat())
}

impl Kernel for BatchProgram {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let step = ctx.device_step();
        // Dead, as all members would be.
        let Ok(source) = ctx.take(0) else { return Ok(()) };
        let results = match self.run_tiled(&source, step) {
            Ok(Some(results)) => results,
            Ok(None) => self.run_whole(source, step)?,
            Err(_) => {
                step.step.look_up()?;
                // What fails for a part fails for all, with the message that names the sizes the caller knows.
                self.run_whole(source, step)?
            }
        };
        results.into_iter().enumerate().for_each(|(i, result)| {
            if let Some(result) = result {
                ctx.set_output(i, result);
            }
        });
        Ok(())
    }
}
