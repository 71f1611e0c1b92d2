//! Recurrent cells, and connectionist temporal classification.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result};

/// One step of an LSTM: seven tensors of batch × cells.
pub(crate) fn lstm_block_cell(c: &mut Context<'_>) -> Result<()> {
    let (x, state) = (dims::with_rank(&c.input(0), 2)?, dims::with_rank(&c.input(1), 2)?);
    common::set_all(c, &PartialShape::new(&[dims::size(&x, 0), dims::size(&state, 1)]))
}

/// An LSTM over time: seven tensors of time × batch × cells.
pub(crate) fn block_lstm(c: &mut Context<'_>) -> Result<()> {
    let x = dims::with_rank(&c.input(1), 3)?;
    let b = dims::with_rank(&c.input(8), 1)?;
    let cells = dims::divide(dims::size(&b, 0), 4)?;
    common::set_all(c, &PartialShape::new(&[dims::size(&x, 0), dims::size(&x, 1), cells]))
}

/// Back through one step of an LSTM: the state before, the gates, the peepholes.
pub(crate) fn lstm_block_cell_grad(c: &mut Context<'_>) -> Result<()> {
    let (x, state) = (dims::with_rank(&c.input(0), 2)?, dims::with_rank(&c.input(1), 2)?);
    let (batch, cells) = (dims::size(&x, 0), dims::size(&state, 1));
    c.set_output(0, PartialShape::new(&[batch, cells]));
    c.set_output(1, PartialShape::new(&[batch, dims::multiply(cells, 4)?]));
    (2..5).for_each(|i| c.set_output(i, PartialShape::new(&[cells])));
    Ok(())
}

/// Back through an LSTM over time: each input but the first has a gradient of its shape.
pub(crate) fn block_lstm_grad(c: &mut Context<'_>) -> Result<()> {
    for (i, rank) in [3, 2, 2, 2, 1, 1, 1, 1].into_iter().enumerate() {
        let shape = dims::with_rank(&c.input(i + 1), rank)?;
        c.set_output(i, shape);
    }
    Ok(())
}

/// One step of a GRU: four tensors of batch × cells.
pub(crate) fn gru_block_cell(c: &mut Context<'_>) -> Result<()> {
    let (x, state) = (dims::with_rank(&c.input(0), 2)?, dims::with_rank(&c.input(1), 2)?);
    common::set_all(c, &PartialShape::new(&[dims::size(&x, 0), dims::size(&state, 1)]))
}

/// Indices, values and shape of the decoded sequences, and a score for each of the batch.
pub(crate) fn ctc_greedy_decoder(c: &mut Context<'_>) -> Result<()> {
    let inputs = dims::with_rank(&c.input(0), 3)?;
    let batch = dims::merge(dims::size(&inputs, 1), common::expect_vector(c, 1)?)?;
    c.set_output(0, PartialShape::new(&[dims::UNKNOWN, 2]));
    c.set_output(1, PartialShape::new(&[dims::UNKNOWN]));
    c.set_output(2, PartialShape::new(&[2]));
    c.set_output(3, PartialShape::new(&[batch, 1]));
    Ok(())
}

/// Like [`ctc_greedy_decoder`], with several sequences per batch entry: all indices, all values, all shapes, and a score per entry and sequence.
pub(crate) fn ctc_beam_search_decoder(c: &mut Context<'_>) -> Result<()> {
    let inputs = dims::with_rank(&c.input(0), 3)?;
    let batch = dims::merge(dims::size(&inputs, 1), common::expect_vector(c, 1)?)?;
    let count: i64 = c.attrs().get("top_paths")?;
    for i in 0..usize::try_from(count).unwrap_or(0).min(c.num_outputs() / 3) {
        let count = count as usize;
        c.set_output(i, PartialShape::new(&[dims::UNKNOWN, 2]));
        c.set_output(count + i, PartialShape::new(&[dims::UNKNOWN]));
        c.set_output(2 * count + i, PartialShape::new(&[2]));
    }
    if let Some(last) = c.num_outputs().checked_sub(1) {
        c.set_output(last, PartialShape::new(&[batch, count]));
    }
    Ok(())
}

/// A loss for each of the batch, and the gradient of the inputs.
pub(crate) fn ctc_loss(c: &mut Context<'_>) -> Result<()> {
    let inputs = dims::with_rank(&c.input(0), 3)?;
    let indices = dims::with_rank(&c.input(1), 2)?;
    dims::merge(dims::size(&indices, 0), common::expect_vector(c, 2)?)?;
    let batch = dims::merge(dims::size(&inputs, 1), common::expect_vector(c, 3)?)?;
    c.set_output(0, PartialShape::new(&[batch]));
    c.set_output(1, dims::replaced(&inputs, 1, batch));
    Ok(())
}

/// The gradients of one step of gated recurrent units.
pub(crate) fn gru_block_cell_grad(c: &mut Context<'_>) -> Result<()> {
    let (x, state) = (dims::with_rank(&c.input(0), 2)?, dims::with_rank(&c.input(1), 2)?);
    let gates = dims::with_rank(&c.input(2), 2)?;
    let batch = dims::size(&x, 0);
    common::set_all(c, &PartialShape::new(&[batch, dims::size(&state, 1)]))?;
    c.set_output(0, x);
    c.set_output(3, PartialShape::new(&[batch, dims::size(&gates, 1)]));
    Ok(())
}
