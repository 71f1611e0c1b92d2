//! Programs that compute layer norms, found by their values at some rows.

use crate::rewrite::{constant, constant_shape};
use crate::values::apply;
use flowmill_graph::{Graph, OutputId, ReductionFunction, ReductionInstruction, ReductionProgram};
use flowmill_tensor::DType;

/// `(x - mean) / sqrt(variance + epsilon) * gamma + beta` over the last dimension.
pub(super) struct LayerNorm {
    pub(super) x: OutputId,
    pub(super) gamma: Vec<f32>,
    pub(super) beta: Vec<f32>,
    pub(super) epsilon: f32,
}

/// The longest row that is computed.
const MAX_WIDTH: usize = 1 << 14;
/// The greatest difference of a value, relative to itself or 1.
const TOLERANCE: f32 = 1e-4;

/// Returns the layer norm that a program computes. Its arguments are one tensor, constant scalars, and one or two constant vectors.
pub(super) fn find(graph: &Graph, program: &ReductionProgram, args: &[OutputId]) -> Option<LayerNorm> {
    if program.axes != [1] {
        return None;
    }
    let (mut x, mut scalars, mut vectors) = (None, Vec::new(), Vec::new());
    let mut values: Vec<Option<Vec<f32>>> = Vec::new();
    for &arg in args {
        let Some(shape) = constant_shape(graph, arg) else {
            // A second tensor that is not constant.
            if x.replace((arg, values.len())).is_some() {
                return None;
            }
            values.push(None);
            continue;
        };
        let width = shape.last().copied().unwrap_or(1);
        if shape.num_elements() != width || width > MAX_WIDTH {
            return None;
        }
        let found = constant(graph, arg).filter(|c| c.controls.is_empty() && c.value.dtype() == DType::F32)?;
        let elements = found.value.as_slice::<f32>().ok()?.to_vec();
        match elements[..] {
            [scalar] => scalars.push(scalar),
            _ => vectors.push(elements.clone()),
        }
        values.push(Some(elements));
    }
    let (x, place) = x?;
    let width = vectors.first()?.len();
    let (ones, zeros) = (vec![1.0; width], vec![0.0; width]);
    let candidates: Vec<(&[f32], &[f32])> = match &vectors[..] {
        [a] => vec![(a, &zeros), (&ones, a)],
        [a, b] if a.len() == b.len() => vec![(a, b), (b, a)],
        _ => return None,
    };
    let rows = rows(width);
    let results: Vec<Vec<f32>> = rows.iter().map(|row| result(program, &values, place, row)).collect::<Option<_>>()?;
    for (gamma, beta) in candidates {
        for &epsilon in scalars.iter().filter(|&&epsilon| epsilon >= 0.0) {
            let is_norm = |(row, result): (&Vec<f32>, &Vec<f32>)| {
                let expected = normalised(row, gamma, beta, epsilon);
                result.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= TOLERANCE * b.abs().max(1.0))
            };
            if rows.iter().zip(&results).all(is_norm) {
                return Some(LayerNorm { x, gamma: gamma.to_vec(), beta: beta.to_vec(), epsilon });
            }
        }
    }
    None
}

/// Returns rows whose variances are far from each other, from zero to hundreds, so that epsilon shows.
fn rows(width: usize) -> Vec<Vec<f32>> {
    let mut state = 1u32;
    let noise: Vec<f32> = (0..width)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    let scaled = |scale: f32, shift: f32| noise.iter().map(|x| x * scale + shift).collect();
    vec![scaled(1.0, 0.0), scaled(1e-3, 0.0), scaled(1e-5, 0.0), scaled(30.0, 5.0), scaled(0.0, 0.25)]
}

/// Returns the result of a program for one row of the argument at `place`. A value of one element is repeated.
fn result(program: &ReductionProgram, constants: &[Option<Vec<f32>>], place: usize, row: &[f32]) -> Option<Vec<f32>> {
    let repeated = |values: &Vec<f32>| match values[..] {
        [one] => vec![one; row.len()],
        _ => values.clone(),
    };
    let mut values: Vec<Vec<f32>> = Vec::new();
    for (i, constant) in constants.iter().enumerate() {
        let elements = if i == place { row.to_vec() } else { repeated(constant.as_ref()?) };
        values.push(Some(elements).filter(|elements| elements.len() == row.len())?);
    }
    for instruction in &program.instructions {
        values.push(match instruction {
            ReductionInstruction::Elementwise(instruction) => {
                let operands: Vec<Vec<f32>> = instruction.operands.iter().map(|&v| values.get(v).cloned()).collect::<Option<_>>()?;
                apply(instruction.function, &operands, None)?
            }
            ReductionInstruction::Reduce(function, operand) => {
                let operand = values.get(*operand)?;
                let sum = || operand.iter().map(|&x| f64::from(x)).sum::<f64>();
                let reduced = match function {
                    ReductionFunction::Mean => (sum() / row.len() as f64) as f32,
                    ReductionFunction::Sum => sum() as f32,
                    ReductionFunction::Max | ReductionFunction::Min => return None,
                };
                vec![reduced; row.len()]
            }
        });
    }
    values.pop()
}

fn normalised(row: &[f32], gamma: &[f32], beta: &[f32], epsilon: f32) -> Vec<f32> {
    let width = row.len() as f64;
    let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / width;
    let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / width;
    let scale = 1.0 / (variance + f64::from(epsilon)).sqrt();
    let factors = gamma.iter().zip(beta).map(|(&gamma, &beta)| (f64::from(gamma), f64::from(beta)));
    row.iter().zip(factors).map(|(&x, (gamma, beta))| ((f64::from(x) - mean) * scale * gamma + beta) as f32).collect()
}
