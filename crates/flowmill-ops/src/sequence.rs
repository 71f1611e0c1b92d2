//! Sequences: recurrent cells as one op, and connectionist temporal classification.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use crate::work;

/// An LSTM's inputs for one step: the input, state and output of the step before, weights, peepholes, bias.
macro_rules! lstm_inputs {
    () => {
        "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
    };
}

/// The outputs of an LSTM's step that its gradient needs, besides the output itself: gates, states, new values.
macro_rules! lstm_gates {
    () => {
        "i: T, cs: T, f: T, o: T, ci: T, co: T"
    };
}

const LSTM_CELL: &str = concat!("(", lstm_inputs!(), ") -> (", lstm_gates!(), ", h: T)");
const LSTM_CELL_GRAD: &str = concat!(
    "(",
    lstm_inputs!(),
    ", ",
    lstm_gates!(),
    ", cs_grad: T, h_grad: T) -> (cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T)"
);
const BLOCK_LSTM: &str = concat!("(seq_len_max: int64, ", lstm_inputs!(), ") -> (", lstm_gates!(), ", h: T)");
const BLOCK_LSTM_GRAD: &str = concat!(
    "(seq_len_max: int64, ",
    lstm_inputs!(),
    ", ",
    lstm_gates!(),
    ", h: T, cs_grad: T, h_grad: T)
     -> (x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T)"
);
const LSTM_ATTRS: &str = "forget_bias: float = 1.0; cell_clip: float = 3.0; use_peephole: bool = false; T: {half, float}";
const LSTM_GRAD_ATTRS: &str = "use_peephole: bool; T: {half, float}";

/// The attributes that say how a loss reads its labels.
macro_rules! ctc_labels {
    () => {
        "preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; ignore_longer_outputs_than_inputs: bool = false"
    };
}

pub(crate) const OPS: &[Op] = &[
    op("LSTMBlockCell", LSTM_CELL).costly().work(work::recurrent(0, 3)).attrs(LSTM_ATTRS).shape(shape::lstm_block_cell),
    op("LSTMBlockCellGrad", LSTM_CELL_GRAD).costly().work(work::recurrent(0, 3)).attrs(LSTM_GRAD_ATTRS).shape(shape::lstm_block_cell_grad),
    op("BlockLSTM", BLOCK_LSTM).costly().work(work::recurrent(1, 4)).gradient(gradient::block_lstm).attrs(LSTM_ATTRS).shape(shape::block_lstm),
    op("BlockLSTMV2", BLOCK_LSTM).costly().work(work::recurrent(1, 4))
        .gradient(gradient::block_lstm)
        .attrs("cell_clip: float = 0.0; use_peephole: bool = false; T: {half, float}")
        .shape(shape::block_lstm),
    op("BlockLSTMGrad", BLOCK_LSTM_GRAD).costly().work(work::recurrent(1, 4)).attrs(LSTM_GRAD_ATTRS).shape(shape::block_lstm_grad),
    op("BlockLSTMGradV2", BLOCK_LSTM_GRAD).costly().work(work::recurrent(1, 4)).attrs(LSTM_GRAD_ATTRS).shape(shape::block_lstm_grad),
    op("GRUBlockCell", "(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T) -> (r: T, u: T, c: T, h: T)").costly().work(work::recurrent(0, 2))
        .attrs("T: {float}")
        .shape(shape::gru_block_cell),
    op(
        "CTCGreedyDecoder",
        "(inputs: T, sequence_length: int32)
         -> (decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T)",
    )
    .not_differentiable()
    .attrs("merge_repeated: bool = false; blank_index: int = -1; T: {float, double} = float")
    .shape(shape::ctc_greedy_decoder),
    op(
        "CTCBeamSearchDecoder",
        "(inputs: T, sequence_length: int32)
         -> (decoded_indices: top_paths * int64, decoded_values: top_paths * int64, decoded_shape: top_paths * int64, log_probability: T)",
    ).costly()
    .not_differentiable()
    .attrs("beam_width: int >= 1; top_paths: int >= 1; merge_repeated: bool = true; T: {float, double} = float")
    .shape(shape::ctc_beam_search_decoder),
    op("CTCLoss", "(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> (loss: T, gradient: T)").costly()
        .gradient(gradient::ctc_loss)
        .attrs(concat!(ctc_labels!(), "; T: {float, double} = float"))
        .shape(shape::ctc_loss),
    op(
        "CTCLossV2",
        "(inputs: float, labels_indices: int64, labels_values: int32, sequence_length: int32) -> (loss: float, gradient: float)",
    ).costly()
    .gradient(gradient::ctc_loss)
    .attrs(ctc_labels!())
    .shape(shape::ctc_loss),
    op("GRUBlockCellGrad", "(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T, r: T, u: T, c: T, d_h: T) -> (d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T)").costly().work(work::recurrent(0, 2))
        .attrs("T: {float}")
        .shape(shape::gru_block_cell_grad),
];
