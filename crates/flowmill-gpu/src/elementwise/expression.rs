//! Trees of element-wise functions.

use super::functions::Function;
use crate::text::{compute_name, element_name};
use flowmill_tensor::{DType, Result, error};
use std::fmt::Write;

/// An expression of one element of each input.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    /// The element of an input.
    Input(usize),
    /// A function of values of one type.
    Apply {
        function: &'static Function,
        dtype: DType,
        arguments: Vec<Expression>,
        /// The value of the parameter that the function's text calls `p`, such as the slope of a leaky rectifier.
        parameter: f64,
    },
    /// The sum of values of one type.
    Sum { dtype: DType, arguments: Vec<Expression> },
    /// A conversion.
    Cast { from: DType, to: DType, argument: Box<Expression> },
    /// The second value where the first is true, and else the third.
    Select(Box<[Expression; 3]>),
}

impl Expression {
    /// Returns the text of statements that compute the value from variables `x0`, `x1` and so on, and the name of the variable that holds it.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(crate) fn print(&self, statements: &mut String, types: &[DType]) -> Result<(String, DType)> {
        let unnamed = |dtype: DType| error!(Internal, "GPU kernels have no elements of type {dtype}");
        let (dtype, value) = match self {
            Expression::Input(i) => return Ok((format!("x{i}"), types.get(*i).copied().unwrap_or(DType::F32))),
            Expression::Apply { function, dtype, arguments, parameter } => {
                let names = print_all(arguments, statements, types)?;
                let result = if function.is_predicate { DType::Bool } else { *dtype };
                let compute = compute_name(*dtype).ok_or_else(|| unnamed(*dtype))?;
                (result, expand(function.text_for(*dtype), &names, compute, *parameter))
            }
            Expression::Sum { dtype, arguments } => (*dtype, print_all(arguments, statements, types)?.join(" + ")),
            Expression::Cast { from, to, argument } => {
                let (name, _) = argument.print(statements, types)?;
                (*to, cast(*from, *to, &name).ok_or_else(|| unnamed(*to))?)
            }
            Expression::Select(arguments) => {
                let names = print_all(&arguments[..], statements, types)?;
                let (_, dtype) = arguments[1].print(&mut String::new(), types)?;
                (dtype, format!("{} ? {} : {}", names[0], names[1], names[2]))
            }
        };
        let name = format!("v{}", statements.lines().count());
        let compute = compute_name(dtype).ok_or_else(|| unnamed(dtype))?;
        // A value of a narrow float is rounded where a node of its own would round it.
        let rounded = match dtype {
            DType::F16 | DType::BF16 => format!("({compute})({})({value})", element_name(dtype).unwrap_or("float")),
            _ => value,
        };
        let _ = writeln!(statements, "    {compute} {name} = {rounded};");
        Ok((name, dtype))
    }
}

fn print_all(arguments: &[Expression], statements: &mut String, types: &[DType]) -> Result<Vec<String>> {
    arguments.iter().map(|argument| Ok(argument.print(statements, types)?.0)).collect()
}

/// Replaces `a`, `b` and `c` by the arguments, `C` by the type, and `p` by the parameter, where they are whole words.
fn expand(text: &str, arguments: &[String], compute: &str, parameter: f64) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
        expanded.push_str(&rest[..start]);
        let end = rest[start..].find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).map_or(rest.len(), |n| start + n);
        match &rest[start..end] {
            "a" => expanded.push_str(arguments.first().map_or("a", String::as_str)),
            "b" => expanded.push_str(arguments.get(1).map_or("b", String::as_str)),
            "c" => expanded.push_str(arguments.get(2).map_or("c", String::as_str)),
            "C" => expanded.push_str(compute),
            "p" => expanded.push_str(&format!("(({compute}){parameter:e})")),
            word => expanded.push_str(word),
        }
        rest = &rest[end..];
    }
    expanded + rest
}

/// Returns the text of a conversion. Floats are truncated to integers, and every number but zero is true.
fn cast(from: DType, to: DType, value: &str) -> Option<String> {
    let compute = compute_name(to)?;
    Some(match to {
        DType::Bool => format!("{value} != 0"),
        // TensorFlow converts floats to small integers through a wider one, which wraps.
        DType::I8 | DType::I16 | DType::U8 | DType::U16 if from.is_floating() => format!("({compute})(int)({value})"),
        _ => format!("({compute})({value})"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_replaced() {
        let names = ["x0".to_owned(), "x1".to_owned()];
        assert_eq!(expand("a > 0 ? max(a, b) : (C)0.5 * p", &names, "float", 0.25), "x0 > 0 ? max(x0, x1) : (float)0.5 * ((float)2.5e-1)");
    }
}
