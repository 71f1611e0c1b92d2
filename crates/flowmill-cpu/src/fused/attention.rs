//! `_FusedAttention`: products of queries and keys, functions of these scores, softmax, and products with values, a few rows of scores at a time.
//!
//! A task computes the rows of one head, or a part of them. It packs keys and values once, and holds the scores of one block of rows, never all.

use super::program::{Instr, code_of};
use crate::elementwise::{Operand, broadcast_shape};
use crate::gemm::{Epilogue, MatrixRef, PackedRhs, Precision, gemm, gemm_packed};
use crate::parallel;
use crate::simd::rows::softmax_in_place;
use flowmill_graph::{ElementwiseFunction, ElementwiseInstruction};
use flowmill_kernels::attention::{AttentionShapes, Matrices};
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// The number of scores that are computed at a time, unless there are many keys.
const MAX_SCORES: usize = 12 << 10;
/// The number of scores that the functions are applied to at a time, whose intermediate results stay in the L1 cache.
const AT_ONCE: usize = 1 << 10;
/// The least number of rows of a block, and the least for which keys and values are packed, so that a packed matrix is used more than once.
const MIN_ROWS: usize = 8;

/// The layouts of query, key, value and result.
#[derive(Clone, Copy)]
struct Layouts {
    /// True if rows come before the last leading dimension.
    interleaved: [bool; 4],
    key_is_transposed: bool,
}

struct Attention {
    layouts: Layouts,
    /// Functions of the scores; value 0 are the scores, then come the arguments.
    program: Vec<Step>,
    num_args: usize,
}

/// An instruction of the program.
enum Step {
    Function(Instr),
    /// The second value where the first one is not zero, otherwise the third one.
    Select([usize; 3]),
}

impl Step {
    fn new(instruction: ElementwiseInstruction) -> Result<Step> {
        if instruction.function != ElementwiseFunction::SelectV2 {
            return Instr::new(instruction).map(Step::Function);
        }
        match instruction.operands[..] {
            [condition, a, b] => Ok(Step::Select([condition, a, b])),
            _ => bail!(InvalidArgument, "SelectV2 has 3 operands, not {}", instruction.operands.len()),
        }
    }

    /// Returns the shape of the result.
    fn shape(&self, shapes: &[Shape]) -> Result<Shape> {
        match self {
            Step::Function(instr) => instr.shape(shapes),
            Step::Select([condition, a, b]) => broadcast_shape(&shapes[*condition], &broadcast_shape(&shapes[*a], &shapes[*b])?),
        }
    }
}

/// Returns true if a program may have the function.
pub(super) fn can_be(function: ElementwiseFunction) -> bool {
    function == ElementwiseFunction::SelectV2 || code_of(function).is_some()
}

/// Makes the kernel of `_FusedAttention`.
pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    let interleaved: Vec<bool> = init.attrs.list("interleaved")?;
    let Ok(interleaved) = <[bool; 4]>::try_from(interleaved.as_slice()) else {
        bail!(InvalidArgument, "interleaved has {} values, not 4", interleaved.len());
    };
    let Some(num_args) = init.input_types.len().checked_sub(3) else { bail!(InvalidArgument, "attention needs three inputs") };
    let program = ElementwiseInstruction::parse_list(&init.attrs.list::<&str>("program")?, num_args + 1)?;
    let program: Vec<Step> = program.into_iter().map(Step::new).collect::<Result<_>>()?;
    let layouts = Layouts { interleaved, key_is_transposed: init.attrs.get_or("key_is_transposed", false)? };
    Ok(Arc::new(Attention { layouts, program, num_args }))
}

impl Kernel for Attention {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let context = {
            let args: SmallVec<[&Tensor; 4]> = ctx.inputs_from(3).collect();
            self.context(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, &args)?
        };
        ctx.set_output(0, context);
        Ok(())
    }
}

impl Attention {
    fn context(&self, alloc: &Allocator, query: &Tensor, key: &Tensor, value: &Tensor, args: &[&Tensor]) -> Result<Tensor> {
        if args.len() != self.num_args {
            bail!(InvalidArgument, "an attention with {} arguments, not {}", args.len(), self.num_args);
        }
        let Layouts { interleaved, key_is_transposed } = self.layouts;
        let AttentionShapes { operands: [q, k, v], num_keys, scores, result: shape } =
            AttentionShapes::new([query, key, value], args, interleaved, key_is_transposed)?;
        let mut shapes: Vec<Shape> = [scores.clone()].into_iter().chain(args.iter().map(|arg| arg.shape().clone())).collect();
        for step in &self.program {
            shapes.push(step.shape(&shapes)?);
        }
        // All functions are of scores.
        if shapes[1 + args.len()..].iter().any(|shape| *shape != scores) {
            bail!(InvalidArgument, "Incompatible shapes: {} vs. {scores}", shapes[shapes.len() - 1]);
        }
        if num_keys == 0 {
            return alloc.zeros(DType::F32, shape);
        }
        let out = Matrices::new(&shape, interleaved[3])?;
        let mut result = alloc.uninit(DType::F32, shape)?;
        if result.num_elements() == 0 {
            return Ok(result);
        }
        let args = args.iter().map(|arg| Ok(Operand::new(arg.as_slice::<f32>()?, arg.shape(), &scores))).collect::<Result<Vec<_>>>()?;
        let heads = Heads { attention: self, q, k, v, num_keys, args, data: [query.as_slice()?, key.as_slice()?, value.as_slice()?] };
        heads.compute(&out, result.as_mut_slice()?);
        Ok(result)
    }
}

/// The operands of one call.
struct Heads<'a> {
    attention: &'a Attention,
    q: Matrices,
    k: Matrices,
    v: Matrices,
    num_keys: usize,
    /// The arguments of the program in the shape of the scores.
    args: Vec<Operand<'a, f32>>,
    /// The elements of query, key and value.
    data: [&'a [f32]; 3],
}

impl Heads<'_> {
    fn compute(&self, out: &Matrices, result: &mut [f32]) {
        let num_heads: usize = self.q.leading.iter().product();
        let rows_at_once = (MAX_SCORES / self.num_keys).max(MIN_ROWS).min(self.q.rows);
        let num_blocks = self.q.rows.div_ceil(rows_at_once);
        let (size, columns) = (self.q.columns, self.v.columns);
        let work = num_heads.saturating_mul(self.q.rows).saturating_mul(self.num_keys).saturating_mul(size + columns);
        let threads = parallel::threads();
        let is_parallel = threads > 1 && parallel::is_worth_forking(work / 20);
        // A head is divided only if there are fewer heads than threads: each part packs keys and values.
        let parts = if is_parallel && num_heads < 2 * threads { (2 * threads).div_ceil(num_heads).min(num_blocks) } else { 1 };
        let rows_of = |part: usize| {
            let blocks = parallel::piece(num_blocks, parts, part);
            blocks.start * rows_at_once..(blocks.end * rows_at_once).min(self.q.rows)
        };
        if !is_parallel {
            (0..num_heads).for_each(|head| self.head(head, 0..self.q.rows, rows_at_once, &mut result[out.offset(head)..], out.ld));
            return;
        }
        // Results of heads may lie between each other, so each task computes into memory of its own, which is copied under a lock.
        let result = Mutex::new(result);
        parallel::run(num_heads * parts, |index| {
            let (head, rows) = (index / parts, rows_of(index % parts));
            let mut context = vec![0.0f32; rows.len() * columns];
            self.head(head, rows.clone(), rows_at_once, &mut context, columns);
            let mut result = result.lock();
            let first = out.offset(head) + rows.start * out.ld;
            for (i, row) in context.chunks_exact(columns).enumerate() {
                result[first + i * out.ld..][..columns].copy_from_slice(row);
            }
        });
    }

    /// Computes some rows of a head; rows of `context` are `ld` elements apart.
    fn head(&self, head: usize, rows: Range<usize>, rows_at_once: usize, context: &mut [f32], ld: usize) {
        let [query, key, value] = self.data;
        let (size, columns, num_keys) = (self.q.columns, self.v.columns, self.num_keys);
        let (key, value) = (&key[self.k.offset(head)..], &value[self.v.offset(head)..]);
        let transposed = !self.attention.layouts.key_is_transposed;
        let [keys, values] = [
            HeadMatrix::new(MatrixRef { data: key, ld: self.k.ld, transposed }, (size, num_keys), rows.len()),
            HeadMatrix::new(MatrixRef { data: value, ld: self.v.ld, transposed: false }, (num_keys, columns), rows.len()),
        ];
        let queries = &query[self.q.offset(head)..];
        let mut scores = vec![0.0f32; rows_at_once.min(rows.len()) * num_keys];
        let mut temporaries = Temporaries::new(self.attention, scores.len().min(AT_ONCE));
        for first in rows.clone().step_by(rows_at_once) {
            let count = rows_at_once.min(rows.end - first);
            let block = &mut scores[..count * num_keys];
            keys.multiply(&queries[first * self.q.ld..], self.q.ld, count, block, num_keys);
            self.apply(block, (head * self.q.rows + first) * num_keys, &mut temporaries);
            softmax_in_place(block, num_keys);
            values.multiply(block, num_keys, count, &mut context[(first - rows.start) * ld..], ld);
        }
    }

    /// Applies the program to scores in place; `start` is the place of the first one among all scores.
    fn apply(&self, scores: &mut [f32], start: usize, temporaries: &mut Temporaries) {
        if !self.attention.program.is_empty() {
            for (i, scores) in scores.chunks_mut(AT_ONCE).enumerate() {
                self.apply_to_few(scores, start + i * AT_ONCE, temporaries);
            }
        }
    }

    fn apply_to_few(&self, scores: &mut [f32], start: usize, temporaries: &mut Temporaries) {
        let n = scores.len();
        for (at, step) in self.attention.program.iter().enumerate() {
            let (done, rest) = temporaries.values.split_at_mut(at);
            let Some(target) = rest.first_mut().map(|target| &mut target[..n]) else { continue };
            let [x, y, z] = &mut temporaries.buffers;
            match step {
                Step::Function(instr) => {
                    let (Some(&a), Some(&b)) = (instr.operands.first(), instr.operands.last()) else { continue };
                    instr.function.apply(self.read(a, scores, done, start, x), self.read(b, scores, done, start, y), target);
                }
                Step::Select([condition, a, b]) => {
                    let condition = self.read(*condition, scores, done, start, x);
                    let (a, b) = (self.read(*a, scores, done, start, y), self.read(*b, scores, done, start, z));
                    for (target, (&condition, (&a, &b))) in target.iter_mut().zip(condition.iter().zip(a.iter().zip(b))) {
                        *target = if condition != 0.0 { a } else { b };
                    }
                }
            }
        }
        if let Some(last) = temporaries.values.last() {
            scores.copy_from_slice(&last[..n]);
        }
    }

    /// Returns the elements of value `v` of the program for a block of scores; `done` holds those of earlier instructions.
    fn read<'b>(&'b self, v: usize, scores: &'b [f32], done: &'b [Vec<f32>], start: usize, buffer: &'b mut [f32]) -> &'b [f32] {
        let n = scores.len();
        match v.checked_sub(1) {
            None => scores,
            Some(arg) => match self.args.get(arg) {
                Some(operand) => operand.read(start, n, buffer),
                None => &done[arg - self.args.len()][..n],
            },
        }
    }
}

/// The keys or values of a head, which are packed if enough rows are multiplied with them.
enum HeadMatrix<'a> {
    Packed(PackedRhs),
    InPlace(MatrixRef<'a, f32>, (usize, usize)),
}

impl<'a> HeadMatrix<'a> {
    /// Makes the form of a matrix of `k` rows and `n` columns for products of `rows` rows.
    fn new(matrix: MatrixRef<'a, f32>, (k, n): (usize, usize), rows: usize) -> HeadMatrix<'a> {
        if rows < MIN_ROWS {
            return HeadMatrix::InPlace(matrix, (k, n));
        }
        HeadMatrix::Packed(PackedRhs::pack_strided(Precision::F32, matrix.data, matrix.ld, k, n, matrix.transposed))
    }

    /// Computes the product of `m` rows that are `lda` apart with the matrix; rows of the result are `ldc` apart.
    fn multiply(&self, rows: &[f32], lda: usize, m: usize, c: &mut [f32], ldc: usize) {
        match self {
            HeadMatrix::Packed(matrix) => gemm_packed(rows, lda, m, matrix, c, ldc, &Epilogue::default()),
            HeadMatrix::InPlace(matrix, (k, n)) => {
                gemm(m, *k, *n, MatrixRef { data: rows, ld: lda, transposed: false }, *matrix, c, ldc, false);
            }
        }
    }
}

/// The memory for the functions of some scores.
struct Temporaries {
    /// The result of each instruction.
    values: Vec<Vec<f32>>,
    /// Operands that are not adjacent.
    buffers: [Vec<f32>; 3],
}

impl Temporaries {
    fn new(attention: &Attention, len: usize) -> Temporaries {
        let len = if attention.program.is_empty() { 0 } else { len };
        Temporaries { values: vec![vec![0.0; len]; attention.program.len()], buffers: [vec![0.0; len], vec![0.0; len], vec![0.0; len]] }
    }
}
