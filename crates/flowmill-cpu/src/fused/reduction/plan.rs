//! The values of a program for arguments of given shapes.

use super::{Program, Step};
use crate::elementwise::{CHUNK, Function, Operand};
use crate::reduction::{Max, Min, Sum};
use flowmill_graph::ReductionFunction;
use flowmill_numeric::reduce::{SHORT_ROWS, Segment, reduce};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use smallvec::SmallVec;

/// The memory that holds a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// The value does not depend on a reduction and is not computed in blocks: the tensor of this number.
    Tensor(usize),
    /// The value has the result's shape and is computed in blocks, in this temporary.
    Block(usize),
    /// The value has fewer elements than the result and is computed per slice; the number among such values.
    PerSlice(usize),
    /// The result of the program, which is written to the output directly.
    Output,
}

/// A value that is computed per slice.
pub(super) struct PerSlice {
    /// The shape of the value for one slice.
    pub(super) shape: Shape,
    /// The number of elements for one slice.
    pub(super) len: usize,
}

/// An instruction and the places of its operands and its result.
pub(super) struct PlannedStep {
    pub(super) code: Code,
    pub(super) operands: SmallVec<[Place; 2]>,
    pub(super) place: Place,
    /// The number of reductions that the value depends on, one after the other.
    pub(super) level: usize,
}

pub(super) enum Code {
    Function(Function),
    Reduce(ReductionFunction),
}

/// Tensors in the order of the result; `None` for one that does not broadcast to it.
pub(super) type Operands<'a> = SmallVec<[Option<Operand<'a, f32>>; 8]>;

/// A program for arguments of given shapes.
pub(super) struct Plan {
    /// The result's shape.
    pub(super) full: Shape,
    /// The number of dimensions before the first reduced one.
    pub(super) outer_rank: usize,
    pub(super) num_slices: usize,
    /// The number of elements of a slice.
    pub(super) slice: usize,
    /// The segments of a slice, of which the first is reduced.
    pub(super) segments: SmallVec<[Segment; 4]>,
    /// The number of elements that are reduced to one.
    pub(super) count: usize,
    /// The steps that are computed as tensors before the slices, in order: those that do not depend on reductions and are smaller than the result.
    before: Vec<usize>,
    pub(super) per_slice: Vec<PerSlice>,
    pub(super) steps: Vec<PlannedStep>,
    pub(super) num_blocks: usize,
    /// The cost per element, in simple operations.
    pub(super) cost: usize,
}

impl Plan {
    /// Returns the plan for values of these shapes. Returns `None` if the program cannot be computed by slices: reductions are of tensors of
    /// other shapes than the result's, or the result is empty.
    pub(super) fn new(program: &Program, shapes: &[Shape]) -> Option<Plan> {
        let full = shapes.last().cloned()?;
        let rank = full.rank();
        let outer_rank = program.axes.iter().map(|&axis| rank.checked_sub(axis)).min().flatten()?;
        if program.axes.iter().any(|&axis| axis > rank) || full.num_elements() == 0 {
            return None;
        }
        let is_reduced = |axis: usize| program.axes.contains(&(rank - axis));
        let mut segments: SmallVec<[Segment; 4]> = SmallVec::new();
        for (axis, &size) in full.iter().enumerate().skip(outer_rank).filter(|(_, size)| **size != 1) {
            match segments.last_mut() {
                Some(last) if last.reduced == is_reduced(axis) => last.size *= size,
                _ => segments.push(Segment { size, reduced: is_reduced(axis) }),
            }
        }
        let count = (outer_rank..rank).filter(|&axis| is_reduced(axis)).map(|axis| full[axis]).product();
        // The first reduced dimension may have one element only: then another one leads, which is kept.
        if segments.first().is_none_or(|first| !first.reduced) {
            return None;
        }
        let slice: usize = full[outer_rank..].iter().product();
        let mut plan = Plan {
            num_slices: full.num_elements() / slice,
            slice,
            outer_rank,
            segments,
            count,
            before: Vec::new(),
            per_slice: Vec::new(),
            steps: Vec::new(),
            num_blocks: 0,
            cost: program.cost,
            full,
        };
        plan.place(program, shapes).then_some(plan)
    }

    /// Returns the length of the short runs at the end of a slice that are reduced together with others, as in a group norm of few channels. Reductions of
    /// large slices are of columns first.
    pub(super) fn run(&self) -> Option<usize> {
        match self.segments[..] {
            [Segment { reduced: true, .. }, Segment { reduced: false, .. }, Segment { size, reduced: true }] if size < SHORT_ROWS => {
                Some(size)
            }
            _ => None,
        }
    }

    /// Finds a place for each value. Returns false if one has none.
    fn place(&mut self, program: &Program, shapes: &[Shape]) -> bool {
        let num_args = program.num_args;
        let len = self.full.num_elements();
        let mut places: Vec<Place> = (0..num_args).map(Place::Tensor).collect();
        let mut levels = vec![0; num_args];
        let mut last_use = vec![0; program.steps.len()];
        for (at, step) in program.steps.iter().enumerate() {
            step.operands().iter().filter(|&&v| v >= num_args).for_each(|&v| last_use[v - num_args] = at);
        }
        let mut free: Vec<usize> = Vec::new();
        for (at, step) in program.steps.iter().enumerate() {
            let shape = &shapes[num_args + at];
            let level = step.operands().iter().map(|&v| levels[v]).max().unwrap_or(0);
            let is_last = at + 1 == program.steps.len();
            let (place, level) = match step {
                Step::Reduce(_, operand) => {
                    if shapes[*operand] != self.full || is_last {
                        return false;
                    }
                    (self.add_per_slice(shape), level + 1)
                }
                Step::Function(_) if is_last => (Place::Output, level),
                Step::Function(_) if shape.num_elements() == len => {
                    if *shape != self.full {
                        return false;
                    }
                    let slot = free.pop().unwrap_or_else(|| {
                        self.num_blocks += 1;
                        self.num_blocks - 1
                    });
                    (Place::Block(slot), level)
                }
                Step::Function(instr) if level == 0 => {
                    if instr.operands.iter().any(|&v| !matches!(places[v], Place::Tensor(_))) {
                        return false;
                    }
                    self.before.push(at);
                    (Place::Tensor(num_args + self.before.len() - 1), 0)
                }
                Step::Function(_) => {
                    // It has all dimensions of the reduction that it depends on.
                    if shape.rank() != self.full.rank() || shape[..self.outer_rank] != self.full[..self.outer_rank] {
                        return false;
                    }
                    (self.add_per_slice(shape), level)
                }
            };
            let operands: SmallVec<[Place; 2]> = step.operands().iter().map(|&v| places[v]).collect();
            // What is computed per slice reads no blocks: a block has the result's shape, and so has what it is combined with.
            let reads_blocks = operands.iter().any(|operand| matches!(operand, Place::Block(_)));
            if matches!(step, Step::Function(_)) && matches!(place, Place::PerSlice(_)) && reads_blocks {
                return false;
            }
            if !matches!(place, Place::Tensor(_)) {
                let code = match step {
                    Step::Function(instr) => Code::Function(instr.function.clone()),
                    Step::Reduce(function, _) => Code::Reduce(*function),
                };
                self.steps.push(PlannedStep { code, operands, place, level });
            }
            // Temporaries whose value is read for the last time are free, but not for this step, which writes while it reads.
            let mut done: SmallVec<[usize; 2]> = SmallVec::new();
            for &v in step.operands().iter().filter(|&&v| v >= num_args && last_use[v - num_args] == at) {
                if let Place::Block(slot) = places[v]
                    && !done.contains(&slot)
                {
                    done.push(slot);
                }
            }
            free.extend(done);
            places.push(place);
            levels.push(level);
        }
        true
    }

    fn add_per_slice(&mut self, shape: &Shape) -> Place {
        let shape = Shape::new(&shape[self.outer_rank.min(shape.rank())..]);
        self.per_slice.push(PerSlice { len: shape.num_elements(), shape });
        Place::PerSlice(self.per_slice.len() - 1)
    }

    /// Returns the tensors that slices read: the arguments, and the values that are computed before.
    pub(super) fn tensors(&self, program: &Program, alloc: &Allocator, args: &[&Tensor]) -> Result<SmallVec<[Tensor; 8]>> {
        let mut tensors: SmallVec<[Tensor; 8]> = args.iter().map(|&arg| arg.clone()).collect();
        for &at in &self.before {
            let Step::Function(instr) = &program.steps[at] else { bail!(Internal, "a reduction is not computed before slices") };
            // A value that is a tensor is an argument, or the result of an earlier step of `before`.
            let place = |v: usize| match v.checked_sub(program.num_args) {
                None => Some(v),
                Some(step) => Some(program.num_args + self.before.iter().position(|&earlier| earlier == step)?),
            };
            tensors.push(instr.whole(alloc, |v| tensors.get(place(v)?))?);
        }
        Ok(tensors)
    }

    /// Returns tensors as operands that are read in the order of the result.
    pub(super) fn operands<'t>(&self, tensors: &'t [Tensor]) -> Result<Operands<'t>> {
        tensors
            .iter()
            .map(|tensor| {
                // A tensor that only smaller values read need not broadcast to the result.
                let fits = tensor.rank() <= self.full.rank();
                Ok(if fits { Some(Operand::new(tensor.as_slice()?, tensor.shape(), &self.full)) } else { None })
            })
            .collect()
    }

    /// Returns the operand at a place, for a block of `count` slices whose values are `values`.
    pub(super) fn source<'b>(
        &'b self,
        operands: &'b [Option<Operand<'b, f32>>],
        place: Place,
        values: &'b [Vec<f32>],
        count: usize,
    ) -> Result<Source<'b>> {
        Ok(match place {
            Place::Block(slot) => Source::Slot(slot),
            Place::Tensor(i) => match operands.get(i) {
                Some(Some(operand)) => Source::Tensor(operand),
                _ => bail!(Internal, "a tensor of a fused reduction does not broadcast to the result"),
            },
            Place::PerSlice(i) => {
                let value = &self.per_slice[i];
                let full = Self::slices(count, &self.full[self.outer_rank..]);
                Source::PerSlice(Operand::new(&values[i][..count * value.len], &Self::slices(count, &value.shape), &full))
            }
            Place::Output => bail!(Internal, "the result of a fused reduction is no operand"),
        })
    }

    /// Returns the shape of `count` slices of values of this shape.
    pub(super) fn slices(count: usize, shape: &[usize]) -> SmallVec<[usize; 8]> {
        [count].into_iter().chain(shape.iter().copied()).collect()
    }

    /// Returns the shape of a value that is computed per slice, for all slices.
    pub(super) fn whole_shape(&self, value: &PerSlice) -> SmallVec<[usize; 8]> {
        self.full[..self.outer_rank].iter().chain(value.shape.iter()).copied().collect()
    }

    /// Computes an element-wise function of values per slice for `count` slices from `first`. `values` holds the values per slice, each for these
    /// slices; `buffers` are for operands that are not adjacent.
    pub(super) fn small_step(
        &self,
        step: &PlannedStep,
        tensors: &[Tensor],
        (first, count): (usize, usize),
        values: &mut [Vec<f32>],
        buffers: &mut [Vec<f32>; 2],
    ) -> Result<()> {
        let (Place::PerSlice(at), Code::Function(function)) = (step.place, &step.code) else { return Ok(()) };
        let value = &self.per_slice[at];
        let len = count * value.len;
        let mut target = std::mem::take(&mut values[at]);
        target.resize(len, 0.0);
        let [x, y] = buffers;
        x.resize(len, 0.0);
        y.resize(len, 0.0);
        let (Some(&a), Some(&b)) = (step.operands.first(), step.operands.last()) else { return Ok(()) };
        let (a, start_of_a) = self.small_operand(a, tensors, value, (first, count), values)?;
        let (b, start_of_b) = self.small_operand(b, tensors, value, (first, count), values)?;
        function.apply(a.read(start_of_a, len, x), b.read(start_of_b, len, y), &mut target);
        values[at] = target;
        Ok(())
    }

    /// Returns an operand that is read in the order of a value per slice, and the place of its first element there.
    fn small_operand<'b>(
        &'b self,
        place: Place,
        tensors: &'b [Tensor],
        value: &PerSlice,
        (first, count): (usize, usize),
        values: &'b [Vec<f32>],
    ) -> Result<(Operand<'b, f32>, usize)> {
        match place {
            Place::PerSlice(i) => {
                let other = &self.per_slice[i];
                let operand =
                    Operand::new(&values[i][..count * other.len], &Self::slices(count, &other.shape), &Self::slices(count, &value.shape));
                Ok((operand, 0))
            }
            Place::Tensor(i) => {
                let tensor = &tensors[i];
                Ok((Operand::new(tensor.as_slice()?, tensor.shape(), &self.whole_shape(value)), first * value.len))
            }
            Place::Block(_) | Place::Output => bail!(Internal, "a value per slice of a fused reduction reads a block"),
        }
    }

    /// Reduces a block of whole parts of slices to `target`; its dimensions are `segments`. Means are left as sums.
    pub(super) fn reduce(function: ReductionFunction, block: &[f32], segments: &[Segment], target: &mut [f32]) {
        match function {
            ReductionFunction::Max => reduce::<f32, Max>(block, segments, 1, target),
            ReductionFunction::Min => reduce::<f32, Min>(block, segments, 1, target),
            ReductionFunction::Mean | ReductionFunction::Sum => reduce::<f32, Sum>(block, segments, 1, target),
        }
    }

    /// Finishes values that [`Plan::reduce`] has reduced.
    pub(super) fn finish(&self, function: ReductionFunction, values: &mut [f32]) {
        if function == ReductionFunction::Mean {
            values.iter_mut().for_each(|x| *x /= self.count as f32);
        }
    }
}

/// The temporaries of a block, and the code that computes its element-wise values.
pub(super) struct Block<'a> {
    pub(super) plan: &'a Plan,
    /// The tensors in the order of the result.
    pub(super) operands: &'a [Option<Operand<'a, f32>>],
    /// The first element in the result.
    pub(super) start: usize,
    /// The slices in which the block lies: the first, and their number.
    pub(super) slices: (usize, usize),
}

impl Block<'_> {
    /// Computes an element-wise value of the block. `values` holds the values per slice of the block's slices; a result goes to `output`.
    pub(super) fn step(
        &self,
        step: &PlannedStep,
        slots: &mut [&mut [f32]],
        values: &[Vec<f32>],
        [x, y]: [&mut [f32]; 2],
        output: &mut [f32],
    ) -> Result<()> {
        let Code::Function(function) = &step.code else { return Ok(()) };
        let n = output.len();
        let taken = match step.place {
            Place::Block(slot) => std::mem::take(&mut slots[slot]),
            _ => &mut [],
        };
        let (Some(&a), Some(&b)) = (step.operands.first(), step.operands.last()) else { return Ok(()) };
        let operand = |place: Place| self.plan.source(self.operands, place, values, self.slices.1);
        let (a, b) = (operand(a)?, operand(b)?);
        let offset = self.start - self.slices.0 * self.plan.slice;
        let (a, b) = (read(&a, slots, self.start, offset, n, x)?, read(&b, slots, self.start, offset, n, y)?);
        if step.place == Place::Output {
            function.apply(a, b, output);
        } else {
            function.apply(a, b, &mut taken[..n]);
        }
        if let Place::Block(slot) = step.place {
            slots[slot] = taken;
        }
        Ok(())
    }
}

/// An operand of a step that is computed in blocks.
pub(super) enum Source<'b> {
    Slot(usize),
    Tensor(&'b Operand<'b, f32>),
    PerSlice(Operand<'b, f32>),
}

impl Source<'_> {
    fn operand(&self) -> Option<&Operand<'_, f32>> {
        match self {
            Source::Slot(_) => None,
            Source::Tensor(operand) => Some(operand),
            Source::PerSlice(operand) => Some(operand),
        }
    }

    /// Returns true if [`read`] may copy a block of `n` elements.
    pub(super) fn may_copy(&self, n: usize) -> bool {
        self.operand().is_some_and(|operand| !operand.is_same() && (n > CHUNK || !operand.is_read_in_place()))
    }

    /// Returns the only element, if there is a single one for all elements of a block.
    pub(super) fn single(&self) -> Option<f32> {
        self.operand().and_then(Operand::single)
    }
}

/// Returns the elements of a block's operand; `offset` is the distance from the first element of the block's slices.
pub(super) fn read<'b>(
    source: &'b Source<'b>,
    slots: &'b [impl AsRef<[f32]>],
    start: usize,
    offset: usize,
    n: usize,
    buffer: &'b mut [f32],
) -> Result<&'b [f32]> {
    Ok(match source {
        Source::Slot(slot) => &slots[*slot].as_ref()[..n],
        Source::Tensor(operand) => operand.read(start, n, buffer),
        Source::PerSlice(operand) => operand.read(offset, n, buffer),
    })
}
