//! Runs a chain of kernels on a batch, a few images at a time.
//!
//! Run node by node, a batch writes and reads tensors of a hundred megabytes, which fit into no cache. Here the batch is split into *tiles* of a few
//! images. A *stage* is a part of the chain that runs all of its kernels on one tile after the other. Threads share the tiles of a stage; a kernel
//! that works on a tile does not fork. Each stage has its own number of images per tile, because in a network the images shrink and the weights grow
//! from layer to layer.
//!
//! The memory that an image needs is measured: before the first batch of images of some shape, one image goes through the chain alone.

use crate::intra_op;
use crate::invoke::Callee;
use crate::kernel::{Kernel, KernelContext};
use crate::step::DeviceStep;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Error, Result, Shape, Tensor, bail};
use std::ops::Range;
use std::sync::Arc;

/// The most bytes that one kernel reads and writes of a tile, unless a single image needs more. It is a share of the last-level cache.
const TILE_BYTES: usize = 8 << 20;

/// A register for a tensor: the source, or an instruction's output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Register(usize);

impl Register {
    pub(super) const SOURCE: Register = Register(0);

    /// Returns the register of an instruction's output.
    pub(super) fn of_instruction(index: usize) -> Register {
        Register(index + 1)
    }
}

/// An input of an instruction.
pub(super) enum Operand {
    /// A value that is split along its first dimension.
    Batched(Register),
    /// A value that all images share.
    Constant(Tensor),
}

/// One kernel of the chain, with one output.
pub(super) struct Instruction {
    pub(super) callee: Callee,
    pub(super) kernel: Arc<dyn Kernel>,
    pub(super) operands: Vec<Operand>,
}

impl Instruction {
    fn reads(&self) -> impl Iterator<Item = Register> + '_ {
        self.operands.iter().filter_map(|o| if let Operand::Batched(register) = o { Some(*register) } else { None })
    }
}

/// A kernel that runs a chain of kernels on tiles of a batch.
pub(super) struct BatchProgram {
    instructions: Vec<Instruction>,
    /// The registers that become outputs.
    results: Vec<Register>,
    /// For each register, the last instruction that reads it; the number of instructions for results.
    last_use: Vec<usize>,
    /// The stages for images of the shape of the last batch.
    stages: Mutex<Option<(Shape, Arc<[Stage]>)>>,
}

/// Instructions that run on one tile after the other.
struct Stage {
    instructions: Range<usize>,
    /// The outputs that later stages or the caller need, each with the shape of one image.
    outputs: Vec<(Register, Shape)>,
    /// The number of images per tile.
    images: usize,
}

type Registers = Vec<Option<Tensor>>;

impl BatchProgram {
    /// Makes a program from topologically sorted instructions: each follows the instructions whose outputs it reads.
    pub(super) fn new(instructions: Vec<Instruction>, results: Vec<Register>) -> BatchProgram {
        let mut last_use = vec![0; instructions.len() + 1];
        for (i, instruction) in instructions.iter().enumerate() {
            instruction.reads().for_each(|r| last_use[r.0] = i);
        }
        results.iter().for_each(|r| last_use[r.0] = instructions.len());
        BatchProgram { instructions, results, last_use, stages: Mutex::new(None) }
    }

    /// Runs instructions on the registers. The last use of a register empties it. `observe` is called with each output.
    fn run(
        &self,
        range: Range<usize>,
        registers: &mut Registers,
        step: &Arc<DeviceStep>,
        mut observe: impl FnMut(&Tensor) -> Result<()>,
    ) -> Result<()> {
        for i in range {
            let Some(instruction) = self.instructions.get(i) else { break };
            let operand = |operand: &Operand| match operand {
                Operand::Constant(value) => Some(value.clone()),
                Operand::Batched(r) => registers[r.0].clone(),
            };
            let mut inputs: Vec<Option<Tensor>> = instruction.operands.iter().map(operand).collect();
            for r in instruction.reads().filter(|r| self.last_use[r.0] == i) {
                registers[r.0] = None;
            }
            let mut output = [None];
            instruction.callee.invoke(&*instruction.kernel, &mut inputs, &mut output, step)?;
            let [Some(output)] = output else { bail!(Internal, "node {} gave nothing", instruction.callee.node) };
            observe(&output)?;
            registers[i + 1] = Some(output);
        }
        Ok(())
    }

    fn registers(&self) -> Registers {
        vec![None; self.instructions.len() + 1]
    }

    /// Computes the results for the whole batch at once.
    fn run_whole(&self, source: Tensor, step: &Arc<DeviceStep>) -> Result<Vec<Option<Tensor>>> {
        let mut registers = self.registers();
        registers[0] = Some(source);
        self.run(0..self.instructions.len(), &mut registers, step, |_| Ok(()))?;
        Ok(self.results.iter().map(|r| registers[r.0].clone()).collect())
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
        let mut registers = self.registers();
        registers[0] = Some(source.clone());
        for stage in stages.iter() {
            self.run_stage(stage, batch, &mut registers, step)?;
        }
        Ok(Some(self.results.iter().map(|r| registers[r.0].clone()).collect()))
    }

    /// Runs one image through the chain, and splits the chain into stages by the memory that the image needs.
    fn plan(&self, image: Tensor, step: &Arc<DeviceStep>) -> Result<Vec<Stage>> {
        let mut bytes = vec![image.num_bytes()];
        let mut shapes = vec![Shape::new(image.shape().get(1..).unwrap_or(&[]))];
        let mut registers = self.registers();
        registers[0] = Some(image);
        self.run(0..self.instructions.len(), &mut registers, step, |output| {
            let Some((1, image)) = output.shape().dims().split_first() else {
                bail!(Internal, "an output of shape {} for one image", output.shape());
            };
            bytes.push(output.num_bytes());
            shapes.push(Shape::new(image));
            Ok(())
        })?;
        let mut stages: Vec<Stage> = Vec::new();
        let (mut start, mut peak) = (0, 0);
        for (i, instruction) in self.instructions.iter().enumerate() {
            peak = peak.max(instruction.reads().map(|r| bytes[r.0]).sum::<usize>() + bytes[i + 1]);
            if i + 1 < self.instructions.len() && self.num_live_after(i) > 1 {
                continue;
            }
            let images = 1 << (TILE_BYTES / peak.max(1)).max(1).ilog2();
            match stages.last_mut().filter(|s| s.images == images) {
                Some(stage) => stage.instructions.end = i + 1,
                None => stages.push(Stage { instructions: start..i + 1, outputs: Vec::new(), images }),
            }
            (start, peak) = (i + 1, 0);
        }
        for stage in &mut stages {
            let outlives = |&i: &usize| self.last_use[i + 1] >= stage.instructions.end;
            stage.outputs = stage.instructions.clone().filter(outlives).map(|i| (Register(i + 1), shapes[i + 1].clone())).collect();
        }
        Ok(stages)
    }

    /// Returns the registers that instruction `i` or an earlier one writes, and that are results or are read later.
    fn num_live_after(&self, i: usize) -> usize {
        self.last_use[..=i + 1].iter().filter(|&&last| last > i).count()
    }

    /// Runs a stage for the whole batch. The registers hold whole batches before and after.
    fn run_stage(&self, stage: &Stage, batch: usize, registers: &mut Registers, step: &Arc<DeviceStep>) -> Result<()> {
        let threads = intra_op::threads();
        // Each thread gets several tiles, so that one that is disturbed leaves some to others.
        let images = stage.images.min(batch.div_ceil(2 * threads)).max(1);
        let tiles = batch.div_ceil(images);
        let mut outputs = Vec::with_capacity(stage.outputs.len());
        for (_, shape) in &stage.outputs {
            outputs.push(Tensor::uninit(DType::F32, batch_of(batch, shape))?);
        }
        let mut parts: Vec<Vec<&mut [f32]>> = (0..tiles).map(|_| Vec::new()).collect();
        for (output, (_, shape)) in outputs.iter_mut().zip(&stage.outputs) {
            let chunks = output.as_mut_slice::<f32>()?.chunks_mut(images * shape.num_elements());
            parts.iter_mut().zip(chunks).for_each(|(part, chunk)| part.push(chunk));
        }
        // Each lock is taken once, by the thread that the tile goes to.
        let parts: Vec<Mutex<Vec<&mut [f32]>>> = parts.into_iter().map(Mutex::new).collect();
        let failure: Mutex<Option<Error>> = Mutex::new(None);
        let inputs: &Registers = registers;
        let one = |tile: usize| {
            let first = tile * images;
            let part = first..batch.min(first + images);
            if let Err(error) = self.run_tile(stage, part, inputs, &mut parts[tile].lock(), step) {
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
        for (r, last) in self.last_use.iter().enumerate() {
            if *last < stage.instructions.end {
                registers[r] = None;
            }
        }
        for ((register, _), output) in stage.outputs.iter().zip(outputs) {
            registers[register.0] = Some(output);
        }
        Ok(())
    }

    /// Runs a stage for some images, and copies their outputs to their position in the batch.
    fn run_tile(
        &self,
        stage: &Stage,
        images: Range<usize>,
        inputs: &Registers,
        outputs: &mut [&mut [f32]],
        step: &Arc<DeviceStep>,
    ) -> Result<()> {
        step.step.look_up()?;
        let mut registers = self.registers();
        for r in self.instructions[stage.instructions.clone()].iter().flat_map(Instruction::reads) {
            if let (Some(whole), None) = (&inputs[r.0], &registers[r.0]) {
                let image = Shape::new(whole.shape().get(1..).unwrap_or(&[]));
                registers[r.0] = Some(whole.view(images.start * image.num_elements(), batch_of(images.len(), &image))?);
            }
        }
        self.run(stage.instructions.clone(), &mut registers, step, |_| Ok(()))?;
        for ((register, image), output) in stage.outputs.iter().zip(outputs) {
            match registers[register.0].take() {
                Some(tensor) if *tensor.shape() == batch_of(images.len(), image) => output.copy_from_slice(tensor.as_slice()?),
                _ => bail!(Internal, "a tile of another shape than {image}"),
            }
        }
        Ok(())
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
