//! Gradients of matrices with a diagonal structure, and of `Einsum`.

use super::formula::Formula;
use super::scatter::diagonal_of;
use super::{Grads, all, first, like};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::{Result, bail};

type B<'a> = ScopedBuilder<'a>;

/// (input, num_lower, num_upper).
pub(crate) fn matrix_band_part(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.call("MatrixBandPart", &[dy, op.inputs[1], op.inputs[2]])?, 2)
}

/// The sum of what of `whole` is not in `part`: the gradient of what fills up.
fn rest_of(b: &mut B<'_>, whole: OutputId, part: OutputId) -> Result<OutputId> {
    let (all_whole, all_part) = (b.all_axes(whole)?, b.all_axes(part)?);
    let (whole, part) = (b.call("Sum", &[whole, all_whole])?, b.call("Sum", &[part, all_part])?);
    b.sub(whole, part)
}

/// (diagonal), or (diagonal, k, num_rows, num_cols, padding).
pub(crate) fn matrix_diag(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let diagonal = diagonal_of(b, op, dy, &op.inputs[1..])?;
    if op.inputs.len() == 1 {
        return first(diagonal, 0);
    }
    let padding = rest_of(b, dy, diagonal)?;
    Ok(vec![Some(diagonal.into()), None, None, None, Some(padding.into())])
}

/// (input), or (input, k, padding).
pub(crate) fn matrix_diag_part(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let zeros = b.zeros_like(op.inputs[0])?;
    let kind = b.graph().node(op.node)?.op().replace("Part", "").replace("MatrixDiag", "MatrixSetDiag");
    if op.inputs.len() == 1 {
        return first(b.call(&kind, &[zeros, dy])?, 0);
    }
    let k = op.inputs[1];
    let input = like(b, op, &kind, &[zeros, dy, k], &["align"])?;
    let padding = rest_of(b, dy, input)?;
    Ok(vec![Some(input.into()), None, Some(padding.into())])
}

const ELLIPSIS: &str = "...";

/// An equation with one or two operands: an operand's gradient is the equation with the result in that operand's place. Labels that come up in
/// one operand alone were summed: its gradient is the same along them.
pub(crate) fn einsum(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let equation: String = b.graph().node(op.node)?.attrs().get::<&str>("equation")?.split_whitespace().collect();
    let Some((operands, result)) = equation.split_once("->") else {
        bail!(InvalidArgument, "The equation '{equation}' of an Einsum has no '->'");
    };
    let operands: Vec<&str> = operands.split(',').collect();
    if operands.len() > 2 || operands.len() != op.inputs.len() {
        bail!(Unimplemented, "The gradient of an Einsum of {} operands", op.inputs.len());
    }
    let mut grads = Vec::with_capacity(operands.len());
    for (i, own) in operands.iter().enumerate() {
        let other = (operands.len() == 2).then(|| (operands[1 - i], op.inputs[1 - i]));
        grads.push(of_operand(b, op.inputs[i], own, other, (result, dy))?);
    }
    all(grads)
}

/// The labels of a term: the ellipsis, if there is one, and the letters.
fn letters(term: &str) -> (bool, String) {
    (term.contains(ELLIPSIS), term.replace(ELLIPSIS, ""))
}

fn of_operand(
    b: &mut B<'_>,
    input: OutputId,
    own: &str,
    other: Option<(&str, OutputId)>,
    (result, dy): (&str, OutputId),
) -> Result<OutputId> {
    let (has_ellipsis, own_letters) = letters(own);
    let (_, result_letters) = letters(result);
    let other_letters = other.map_or(String::new(), |(term, _)| letters(term).1);
    if own_letters.chars().any(|c| own_letters.matches(c).count() > 1) {
        return of_diagonal(b, input, own, other, (result, dy));
    }
    let is_known = |c: &char| result_letters.contains(*c) || other_letters.contains(*c);
    let known: String = own_letters.chars().filter(is_known).collect();
    let summed: String = own_letters.chars().filter(|c| !is_known(c)).collect();
    let any_ellipsis = result.contains(ELLIPSIS);
    // [broadcast dimensions, summed labels as ones, known labels], which then goes into the operand's order.
    let front = if any_ellipsis { ELLIPSIS } else { "" };
    let mut grad = match other {
        None => b.op("Einsum").input(dy).attr("equation", format!("{result}->{front}{known}")).output()?,
        Some((term, value)) => {
            let value = b.conj(value)?;
            b.op("Einsum").inputs(&[dy, value]).attr("equation", format!("{result},{term}->{front}{known}")).output()?
        }
    };
    for _ in summed.chars() {
        let axis = b.int(-1 - known.chars().count() as i32)?;
        grad = b.call("ExpandDims", &[grad, axis])?;
    }
    // The operand in the same order, to which what was broadcast or summed goes back.
    let own_front = if has_ellipsis { ELLIPSIS } else { "" };
    let ordered = format!("{own_front}{summed}{known}");
    let is_ordered = ordered == own;
    let like_input = match is_ordered {
        true => input,
        false => b.op("Einsum").input(input).attr("equation", format!("{own}->{ordered}")).output()?,
    };
    let shape = b.dynamic_shape_of(like_input)?;
    if any_ellipsis {
        let one = b.number(grad, 1.0)?;
        let ones = b.call("Fill", &[shape, one])?;
        let whole = b.mul(grad, ones)?;
        [grad, _] = b.unbroadcast(like_input, whole, whole, whole)?;
    } else if !summed.is_empty() {
        grad = b.call("BroadcastTo", &[grad, shape])?;
    }
    match is_ordered {
        true => Ok(grad),
        false => b.op("Einsum").input(grad).attr("equation", format!("{ordered}->{own}")).output(),
    }
}

/// A term that names a label twice takes a diagonal: the gradient of the term with the label once is put on a diagonal of zeros. One label, twice.
fn of_diagonal(b: &mut B<'_>, input: OutputId, own: &str, other: Option<(&str, OutputId)>, result: (&str, OutputId)) -> Result<OutputId> {
    let (has_ellipsis, own_letters) = letters(own);
    let twice: Vec<char> = own_letters.chars().filter(|&c| own_letters.matches(c).count() > 1).collect();
    let &[label, second] = &twice[..] else {
        bail!(Unimplemented, "The gradient of an Einsum whose operand '{own}' repeats more than one label");
    };
    debug_assert_eq!(label, second);
    let rest: String = own_letters.chars().filter(|&c| c != label).collect();
    let front = if has_ellipsis { ELLIPSIS } else { "" };
    let once = format!("{front}{rest}{label}");
    let diagonal = b.op("Einsum").input(input).attr("equation", format!("{own}->{once}")).output()?;
    let grad = of_operand(b, diagonal, &once, other, result)?;
    let matrix = b.call("MatrixDiag", &[grad])?;
    // A fresh letter for the second of the two.
    let Some(fresh) = ('a'..='z').chain('A'..='Z').find(|c| !own_letters.contains(*c)) else {
        bail!(InvalidArgument, "'{own}' uses all letters");
    };
    let mut seen = false;
    let target: String = own
        .chars()
        .map(|c| match c == label && std::mem::replace(&mut seen, true) {
            true => fresh,
            false => c,
        })
        .collect();
    b.op("Einsum").input(matrix).attr("equation", format!("{front}{rest}{label}{fresh}->{target}")).output()
}
