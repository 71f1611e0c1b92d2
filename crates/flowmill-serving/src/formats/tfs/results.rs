//! Responses to classification and regression.

use super::print::Style;
use super::print::{new_line, print_key, separate};
use crate::formats::json::print::{PrintElement, print_string};
use crate::proto::tfs::{ClassificationResult, RegressionResult};
use flowmill::Result;
use flowmill::tensor::bail;

/// Adds the response to `:classify` to `out`: for each example a list of `[label, score]`.
///
/// # Errors
/// `InvalidArgument` if there is no example.
pub fn print_classifications(result: &ClassificationResult, out: &mut Vec<u8>) -> Result<()> {
    if result.classifications.is_empty() {
        bail!(InvalidArgument, "the response has no classifications");
    }
    begin(out);
    for (i, example) in result.classifications.iter().enumerate() {
        separate(i, 2, Style::OneLine, out);
        out.push(b'[');
        for (i, class) in example.classes.iter().enumerate() {
            separate(i, 3, Style::OneLine, out);
            out.push(b'[');
            print_string(class.label.as_bytes(), out);
            out.extend_from_slice(b", ");
            class.score.print(out);
            out.push(b']');
        }
        out.push(b']');
    }
    new_line(1, out);
    end(out);
    Ok(())
}

/// Adds the response to `:regress` to `out`: for each example its value.
///
/// # Errors
/// `InvalidArgument` if there is no example.
pub fn print_regressions(result: &RegressionResult, out: &mut Vec<u8>) -> Result<()> {
    if result.regressions.is_empty() {
        bail!(InvalidArgument, "the response has no regressions");
    }
    begin(out);
    for (i, regression) in result.regressions.iter().enumerate() {
        separate(i, 2, Style::OneLine, out);
        regression.value.print(out);
    }
    end(out);
    Ok(())
}

fn begin(out: &mut Vec<u8>) {
    out.push(b'{');
    print_key("results", 1, out);
    out.push(b'[');
}

fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"]\n}");
}
