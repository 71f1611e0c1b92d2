//! The plan of a program for arguments of given shapes: the values that are tensors, and the steps that are computed in blocks.

use super::program::{Arg, Program, piece_shape};
use flowmill_tensor::{Result, Shape, bail};
use smallvec::SmallVec;

/// A short list of values of a program.
pub(super) type Few<T> = SmallVec<[T; 16]>;

/// The place from which a step of a block reads an operand.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// An operand of the blocks, by its place in [`Plan::operands`].
    Operand(usize),
    /// A temporary.
    Slot(usize),
    /// The elements that the result holds before.
    Target,
}

/// An instruction that blocks compute.
pub(super) struct Step {
    pub(super) instr: usize,
    pub(super) a: Source,
    pub(super) b: Source,
    /// The temporary that gets the value.
    pub(super) slot: usize,
    /// The result of the blocks that gets the value.
    pub(super) output: Option<usize>,
    /// True if no later step reads the value, so that it needs no temporary.
    pub(super) is_last_use: bool,
}

/// The plan of a program for arguments of given shapes.
pub(super) struct Plan {
    /// The shape of each value.
    pub(super) shapes: Few<Shape>,
    /// The value with the shape of the blocks.
    pub(super) widest: usize,
    /// The values that are computed as tensors before the blocks, in order: parts of arguments, and results that are smaller than the widest.
    pub(super) tensors: Few<usize>,
    /// The values that blocks read from tensors.
    pub(super) operands: SmallVec<[usize; 8]>,
    pub(super) steps: Few<Step>,
    pub(super) num_slots: usize,
    /// The temporary for the elements that the result holds before, if the step that overwrites them, or a later one, reads them.
    pub(super) target_slot: Option<usize>,
}

/// Returns a shape without leading ones, which do not affect the order of elements.
fn trimmed(shape: &Shape) -> &[usize] {
    let dims = shape.dims();
    &dims[dims.iter().take_while(|&&d| d == 1).count()..]
}

impl Plan {
    /// Returns the plan for arguments of the shapes of `args`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if arguments do not fit together, and if a program does not keep the shape of a target.
    pub(super) fn new(program: &Program, args: &[Arg<'_>]) -> Result<Plan> {
        let mut shapes: Few<Shape> = Few::new();
        for (arg, piece) in args.iter().zip(&program.pieces) {
            shapes.push(piece_shape(*piece, arg.shape())?);
        }
        for instr in &program.instrs {
            let shape = instr.shape(&shapes)?;
            shape.checked_num_elements()?;
            shapes.push(shape);
        }
        let sizes: Few<usize> = shapes.iter().map(Shape::num_elements).collect();
        let num_args = program.num_args();
        let widest = (num_args..shapes.len()).max_by_key(|&v| sizes[v]).unwrap_or(num_args);
        let (len, full) = (sizes[widest], &shapes[widest]);
        // Values of one size but different shapes have no common order of elements.
        let has_one_order = (num_args..shapes.len()).all(|v| sizes[v] < len || trimmed(&shapes[v]) == trimmed(full));
        let is_blockwise = |v: usize| has_one_order && sizes[v] == len;

        let mut tensors: Few<usize> = Few::new();
        let used_whole =
            |v: usize| program.instrs.iter().enumerate().any(|(i, instr)| !is_blockwise(num_args + i) && instr.operands.contains(&v));
        for (v, (arg, piece)) in args.iter().zip(&program.pieces).enumerate() {
            if matches!(arg, Arg::Target(_)) {
                if !piece.is_whole() || used_whole(v) || shapes[v] != *full || program.outputs != [widest] {
                    bail!(InvalidArgument, "a program does not keep the shape {}: its result has shape {full}", shapes[v]);
                }
            } else if !piece.is_whole() && (used_whole(v) || trimmed(&shapes[v]) != trimmed(full)) {
                tensors.push(v);
            }
        }
        tensors.extend((num_args..shapes.len()).filter(|&v| !is_blockwise(v)));
        let mut plan =
            Plan { shapes, widest, tensors, operands: SmallVec::new(), steps: Few::new(), num_slots: program.num_slots, target_slot: None };
        plan.place_steps(program, args.iter().position(|arg| matches!(arg, Arg::Target(_))));
        Ok(plan)
    }

    /// Finds the steps of the blocks, and what they read.
    fn place_steps(&mut self, program: &Program, target: Option<usize>) {
        let num_args = program.num_args();
        let mut sources: Few<Option<Source>> = Few::from_elem(None, self.shapes.len());
        if let Some(v) = target {
            sources[v] = Some(Source::Target);
        }
        let mut outputs = 0..;
        let order: SmallVec<[Option<usize>; 2]> =
            program.outputs.iter().map(|v| if self.tensors.contains(v) { None } else { outputs.next() }).collect();
        for (i, instr) in program.instrs.iter().enumerate() {
            if self.tensors.contains(&(num_args + i)) {
                continue;
            }
            let mut read: SmallVec<[Source; 2]> = SmallVec::new();
            for &v in &instr.operands {
                let source = *sources[v].get_or_insert_with(|| {
                    self.operands.push(v);
                    Source::Operand(self.operands.len() - 1)
                });
                read.push(source);
            }
            let (Some(&a), Some(&b)) = (read.first(), read.last()) else { continue };
            let output = instr.output.and_then(|o| order[o]);
            let is_last_use = !program.instrs.iter().skip(i + 1).any(|later| later.operands.contains(&(num_args + i)));
            self.steps.push(Step { instr: i, a, b, slot: instr.slot, output, is_last_use });
            sources[num_args + i] = Some(Source::Slot(instr.slot));
        }
        let overwrites = self.steps.iter().position(|step| step.output.is_some()).unwrap_or(self.steps.len());
        let reads_target = |step: &Step| matches!(step.a, Source::Target) || matches!(step.b, Source::Target);
        if self.steps.iter().skip(overwrites).any(reads_target) {
            self.target_slot = Some(self.num_slots);
            self.num_slots += 1;
        }
    }
}
