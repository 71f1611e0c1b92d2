//! Random numbers, and Sobol's, which are not.

use super::{common, dims};
use flowmill_graph::InferenceContext as Context;
use flowmill_tensor::{PartialShape, Result, bail};

/// The elements of input 0 in another order: only the shape is known.
pub(crate) fn identity_shape(c: &mut Context<'_>) -> Result<()> {
    common::pass(c, 0, 0);
    Ok(())
}

/// `num_samples` class numbers for each row of logits.
pub(crate) fn multinomial(c: &mut Context<'_>) -> Result<()> {
    let logits = dims::with_rank(&c.input(0), 2)?;
    let samples = common::size_input(c, 1)?;
    c.set_output(0, PartialShape::new(&[dims::size(&logits, 0), samples]));
    Ok(())
}

/// Random integers in the shape that input 0 is, between the scalars in inputs 1 and 2.
pub(crate) fn uniform_integers(c: &mut Context<'_>) -> Result<()> {
    expect_range(c, 1)?;
    common::shape_input::<0>(c)
}

/// Random numbers in the shape that input 0 gives; the seed is two numbers.
pub(crate) fn stateless_random(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 1)?, 2)?;
    common::shape_input::<0>(c)
}

/// Like [`stateless_random`], between the scalars in inputs 2 and 3.
pub(crate) fn stateless_range(c: &mut Context<'_>) -> Result<()> {
    expect_range(c, 2)?;
    stateless_random(c)
}

/// Random numbers in the shape that input 0 gives, by a key, a counter and an algorithm.
pub(crate) fn stateless_keyed(c: &mut Context<'_>) -> Result<()> {
    expect_key(c)?;
    common::shape_input::<0>(c)
}

/// Like [`stateless_keyed`], between the scalars in inputs 4 and 5.
pub(crate) fn stateless_keyed_range(c: &mut Context<'_>) -> Result<()> {
    expect_range(c, 4)?;
    stateless_keyed(c)
}

/// Checks inputs 1 to 3: key, counter and algorithm.
fn expect_key(c: &Context<'_>) -> Result<()> {
    let key = common::expect_vector(c, 1)?;
    common::expect_vector(c, 2)?;
    common::expect_scalar(c, 3)?;
    dims::expect(key, 1).map(drop)
}

/// Checks inputs `low` and `low + 1`: the bounds of a range.
fn expect_range(c: &Context<'_>, low: usize) -> Result<()> {
    for (i, name) in [(low, "minval"), (low + 1, "maxval")] {
        let shape = c.input(i);
        if shape.rank().is_some_and(|rank| rank != 0) {
            bail!(InvalidArgument, "{name} must be a scalar; got a tensor of shape {shape}");
        }
    }
    Ok(())
}

/// Truncated normal numbers: the four parameters are broadcast together.
pub(crate) fn stateless_truncated_normal(c: &mut Context<'_>) -> Result<()> {
    let mut parameters = PartialShape::broadcast(&c.input(2), &c.input(3))?;
    for i in 4..6 {
        parameters = PartialShape::broadcast(&c.input(i), &parameters)?;
    }
    stateless_random(c)
}

/// Truncated normal numbers, whose four parameters are scalars or vectors.
pub(crate) fn parameterized_truncated_normal(c: &mut Context<'_>) -> Result<()> {
    for i in 1..5 {
        dims::with_rank_at_most(&c.input(i), 1)?;
    }
    common::shape_input::<0>(c)
}

/// Random numbers in the shape that input 2 gives, by the state in a variable.
pub(crate) fn stateful_random(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    common::shape_input::<2>(c)
}

/// Like [`stateful_random`], between the scalars in inputs 3 and 4.
pub(crate) fn stateful_range(c: &mut Context<'_>) -> Result<()> {
    expect_range(c, 3)?;
    stateful_random(c)
}

/// Moves the state in a variable on; if there is an output, it is the old state: a counter of two numbers, and a key.
pub(crate) fn rng_skip(c: &mut Context<'_>) -> Result<()> {
    common::expect_scalar(c, 1)?;
    common::expect_scalar(c, 2)?;
    common::set_all(c, &PartialShape::new(&[3]))
}

/// So many points with so many coordinates.
pub(crate) fn sobol_sample(c: &mut Context<'_>) -> Result<()> {
    let (dim, count) = (common::size_input(c, 0)?, common::size_input(c, 1)?);
    common::expect_scalar(c, 2)?;
    c.set_output(0, PartialShape::new(&[count, dim]));
    Ok(())
}

/// Indices, seeds of three numbers, greatest indices; each one for all or as many as the others.
pub(crate) fn random_index_shuffle(c: &mut Context<'_>) -> Result<()> {
    let (index, seed) = (dims::with_rank_at_most(&c.input(0), 1)?, dims::with_rank_at_most(&c.input(1), 2)?);
    let max = dims::with_rank_at_most(&c.input(2), 1)?;
    let (Some(i), Some(s), Some(m)) = (index.rank(), seed.rank(), max.rank()) else { return Ok(()) };
    let last = s.checked_sub(1).map_or(0, |last| dims::size(&seed, last));
    if last >= 0 && last != 3 {
        bail!(InvalidArgument, "Seed must have shape [3] or [n, 3] but got {seed}.");
    }
    if (i, s, m) == (0, 1, 0) {
        return common::scalars(c);
    }
    let mut count = if i == 1 { dims::size(&index, 0) } else { dims::UNKNOWN };
    if s == 2 {
        let seeds = dims::size(&seed, 0);
        if count >= 0 && seeds >= 0 && seeds != count {
            bail!(InvalidArgument, "Seed has shape [{seeds}, 3] but must have shape [{count}, 3]. since index had shape {index}.");
        }
        count = count.max(seeds);
    }
    if m == 1 {
        count = dims::merge(count, dims::size(&max, 0))?;
    }
    c.set_output(0, PartialShape::new(&[count]));
    Ok(())
}

/// The key (one number) and counter (two) of a random generator.
pub(crate) fn random_key_counter(c: &mut Context<'_>) -> Result<()> {
    dims::expect(common::expect_vector(c, 0)?, 2)?;
    c.set_output(0, PartialShape::new(&[1]));
    c.set_output(1, PartialShape::new(&[2]));
    Ok(())
}

/// Like [`random_key_counter`], with the number of the algorithm as a further output.
pub(crate) fn random_key_counter_alg(c: &mut Context<'_>) -> Result<()> {
    c.set_output(2, PartialShape::scalar());
    random_key_counter(c)
}

/// For each parameter (input 1), numbers in the shape that input 0 gives.
pub(crate) fn random_gamma(c: &mut Context<'_>) -> Result<()> {
    let shape = c.input_as_shape(0)?.concat(&c.input(1));
    c.set_output(0, shape);
    Ok(())
}
