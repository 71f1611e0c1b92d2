//! Cells of recurrent networks give the CPU's results on a GPU.

use crate::compare::{Case, Random};
use crate::setup::on_stub;
use flowmill::prelude::*;

/// Adds the weights, the peepholes and the bias of an LSTM.
fn with_weights(case: Case, random: &mut Random, dtype: DType, [inputs, cells]: [usize; 2], has_peepholes: bool) -> Case {
    let case = case.input(random.unit(dtype, &[inputs + cells, 4 * cells]));
    let case = (0..3).fold(case, |case, _| case.input(random.unit(dtype, &[if has_peepholes { cells } else { 0 }])));
    case.input(random.tensor(dtype, &[4 * cells])).attr("use_peephole", has_peepholes).within(64.0)
}

#[test]
pub(crate) fn cells_and_their_gradients() {
    on_stub(|| {
        let mut random = Random::new(95);
        for (batch, inputs, cells) in [(3usize, 4usize, 5usize), (2, 1, 70)] {
            for (dtype, has_peepholes) in [(DType::F32, false), (DType::F32, true), (DType::F16, true)] {
                let mut state = |columns: usize| random.unit(dtype, &[batch, columns]);
                let (x, cs, h) = (state(inputs), state(cells), state(cells));
                let results: Vec<Tensor> = (0..8).map(|_| state(cells)).collect();
                let case = |op: &'static str| Case::new(op).input(x.clone()).input(cs.clone()).input(h.clone());
                let cell = with_weights(case("LSTMBlockCell"), &mut random, dtype, [inputs, cells], has_peepholes);
                cell.attr("cell_clip", 1.0f32).outputs(7).check();
                let gradient = with_weights(case("LSTMBlockCellGrad"), &mut random, dtype, [inputs, cells], has_peepholes);
                results.into_iter().fold(gradient, Case::input).outputs(5).check();
            }
        }
    });
}

#[test]
pub(crate) fn sequences_of_cells_and_their_gradients() {
    on_stub(|| {
        let mut random = Random::new(96);
        for (steps, [time, batch, inputs, cells]) in [(3i64, [3usize, 2, 4, 5]), (2, [4, 3, 2, 6]), (0, [2, 2, 3, 3])] {
            for (dtype, has_peepholes) in [(DType::F32, false), (DType::F32, true), (DType::F16, true)] {
                for version in ["", "V2"] {
                    let x = random.unit(dtype, &[time, batch, inputs]);
                    let (cs, h) = (random.unit(dtype, &[batch, cells]), random.unit(dtype, &[batch, cells]));
                    let results: Vec<Tensor> = (0..9).map(|_| random.unit(dtype, &[time, batch, cells])).collect();
                    let case = |op: &str| {
                        let case = Case::new(format!("{op}{version}").leak()).input(Tensor::scalar(steps)).input(x.clone());
                        case.input(cs.clone()).input(h.clone())
                    };
                    let block = with_weights(case("BlockLSTM"), &mut random, dtype, [inputs, cells], has_peepholes);
                    block.outputs(7).check();
                    let gradient = with_weights(case("BlockLSTMGrad"), &mut random, dtype, [inputs, cells], has_peepholes);
                    results.into_iter().fold(gradient, Case::input).outputs(8).within(256.0).check();
                }
            }
        }
    });
}

#[test]
pub(crate) fn gated_units_and_their_gradients() {
    on_stub(|| {
        let mut random = Random::new(97);
        for (batch, inputs, cells) in [(3usize, 4usize, 5usize), (2, 1, 70), (0, 2, 3), (2, 0, 3)] {
            let mut unit = |dims: &[usize]| random.unit(DType::F32, dims);
            let (x, h) = (unit(&[batch, inputs]), unit(&[batch, cells]));
            let weights = [unit(&[inputs + cells, 2 * cells]), unit(&[inputs + cells, cells]), unit(&[2 * cells]), unit(&[cells])];
            let results: Vec<Tensor> = (0..4).map(|_| unit(&[batch, cells])).collect();
            let case = |op| weights.iter().fold(Case::new(op).input(x.clone()).input(h.clone()), |case, w| case.input(w.clone()));
            case("GRUBlockCell").outputs(4).within(64.0).check();
            results.into_iter().fold(case("GRUBlockCellGrad"), Case::input).outputs(4).within(64.0).check();
        }
    });
}
