//! Equations of `Einsum`, such as `abc,cd->abd`: the kernel and the passes that rewrite the op read them here.

use flowmill_tensor::{Result, bail};

/// The name of a dimension in an [`EinsumEquation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EinsumLabel {
    /// A letter.
    Named(char),
    /// A dimension that an ellipsis covers, by its distance from the ellipsis' end.
    Ellipsis(usize),
}

/// The terms of an equation of `Einsum` of one or two operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EinsumEquation {
    inputs: Vec<String>,
    output: String,
}

const ELLIPSIS: &str = "...";

impl EinsumEquation {
    /// Parses the text of the attribute `equation`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` unless there is one `->`, one or two operands, and nothing but letters and one ellipsis per term.
    pub fn parse(text: &str) -> Result<EinsumEquation> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut sides = text.split("->");
        let (Some(left), Some(output), None) = (sides.next(), sides.next(), sides.next()) else {
            bail!(InvalidArgument, "Expecting exactly one '->' in einsum equation: {text}");
        };
        let inputs: Vec<String> = left.split(',').map(str::to_owned).collect();
        if inputs.len() > 2 {
            bail!(InvalidArgument, "Expecting 1 or 2 input subscripts in equation '{text}' but got: {}", inputs.len());
        }
        for term in inputs.iter().map(String::as_str).chain([output]) {
            let letters = term.replacen(ELLIPSIS, "", 1);
            if let Some(c) = letters.chars().find(|c| !c.is_alphabetic()) {
                bail!(InvalidArgument, "Invalid character '{c}' in einsum equation: {text}");
            }
        }
        Ok(EinsumEquation { inputs, output: output.to_owned() })
    }

    /// Returns the number of operands.
    pub fn num_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Returns the term of the result.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Returns the labels of the dimensions of operand `i`, which has rank `rank`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the term does not have as many dimensions.
    pub fn input_labels(&self, i: usize, rank: usize) -> Result<Vec<EinsumLabel>> {
        let Some(term) = self.inputs.get(i) else { bail!(InvalidArgument, "Expecting {} inputs but got {}", self.inputs.len(), i + 1) };
        let letters = term.replacen(ELLIPSIS, "", 1).chars().count();
        match rank.checked_sub(letters).filter(|&dims| dims == 0 || term.contains(ELLIPSIS)) {
            Some(dims) => Ok(labels(term, dims)),
            None => {
                let least = if term.contains(ELLIPSIS) { "rank at least" } else { "rank" };
                bail!(InvalidArgument, "Expected input {i} to have {least} {letters} but got: {rank}")
            }
        }
    }

    /// Returns the labels of the result's dimensions, where the longest ellipsis of an operand covers `ellipsis` dimensions.
    pub fn output_labels(&self, ellipsis: usize) -> Vec<EinsumLabel> {
        labels(&self.output, ellipsis)
    }
}

/// Returns the labels of a term's dimensions; its ellipsis covers `dims` of them.
fn labels(term: &str, dims: usize) -> Vec<EinsumLabel> {
    let named = |s: &str| s.chars().map(EinsumLabel::Named).collect::<Vec<_>>();
    match term.split_once(ELLIPSIS) {
        None => named(term),
        Some((before, after)) => {
            let middle = (0..dims).rev().map(EinsumLabel::Ellipsis);
            named(before).into_iter().chain(middle).chain(named(after)).collect()
        }
    }
}

/// The labels of two operands by their role in the product that an equation describes. Each list is in the order of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EinsumProduct {
    /// The labels of both operands and the result: one product per combination of their values.
    pub batch: Vec<EinsumLabel>,
    /// The labels of the left operand and the result.
    pub rows: Vec<EinsumLabel>,
    /// The labels of the right operand and the result.
    pub columns: Vec<EinsumLabel>,
    /// The labels of both operands that are summed over.
    pub inner: Vec<EinsumLabel>,
}

impl EinsumProduct {
    /// Returns the roles of the labels. Batch labels are in the order of `output`, all others in that of their operand, and inner ones in that of the left operand.
    ///
    /// Returns `None` unless each label occurs once per term, and in two terms at least.
    pub fn of(left: &[EinsumLabel], right: &[EinsumLabel], output: &[EinsumLabel]) -> Option<EinsumProduct> {
        let is_repeated = |term: &[EinsumLabel]| term.iter().enumerate().any(|(i, label)| term[..i].contains(label));
        if [left, right, output].into_iter().any(is_repeated) {
            return None;
        }
        let mut product = EinsumProduct { batch: Vec::new(), rows: Vec::new(), columns: Vec::new(), inner: Vec::new() };
        product.batch.extend(output.iter().filter(|label| left.contains(label) && right.contains(label)));
        for label in left {
            match (right.contains(label), output.contains(label)) {
                (true, true) => {}
                (true, false) => product.inner.push(*label),
                (false, true) => product.rows.push(*label),
                (false, false) => return None,
            }
        }
        for label in right.iter().filter(|label| !left.contains(label)) {
            output.contains(label).then(|| product.columns.push(*label))?;
        }
        let num_labels = product.batch.len() + product.rows.len() + product.columns.len();
        (num_labels == output.len()).then_some(product)
    }
}
