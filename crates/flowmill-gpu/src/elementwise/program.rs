//! Programs of element-wise functions, printed as CUDA C.

use super::functions::Function;
use crate::text::{compute_name, element_name};
use flowmill_tensor::{DType, Result, SmallVec, bail, error};

/// A list of instructions on numbered values: value `v` is input `v`, or the result of instruction `v - inputs.len()`.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The types of the inputs.
    pub(crate) inputs: SmallVec<[DType; 4]>,
    pub(crate) instructions: Vec<Instruction>,
    /// The values that are stored.
    pub(crate) outputs: SmallVec<[usize; 1]>,
}

/// An operation and the values that it is applied to.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    pub(crate) operands: SmallVec<[usize; 3]>,
    /// The type of the result.
    pub(crate) dtype: DType,
}

/// An operation on elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// A function of operands of one type. The parameter is the value that the function's text calls `p`, such as the slope of a leaky rectifier.
    Apply(&'static Function, f64),
    /// The sum of any number of operands.
    Sum,
    /// A conversion.
    Cast,
    /// The second operand if the first is true, and else the third.
    Select,
}

impl Program {
    /// Makes a program of one instruction on all inputs, whose result has the type `output`.
    pub(crate) fn of(operation: Operation, inputs: &[DType], output: DType) -> Program {
        let instruction = Instruction { operation, operands: (0..inputs.len()).collect(), dtype: output };
        Program { inputs: inputs.iter().copied().collect(), instructions: vec![instruction], outputs: SmallVec::from_elem(inputs.len(), 1) }
    }

    /// Returns the type of a value.
    ///
    /// # Errors
    /// Returns `Internal` if there is no such value.
    pub(crate) fn type_of(&self, value: usize) -> Result<DType> {
        let instruction = || self.instructions.get(value.checked_sub(self.inputs.len())?).map(|instruction| instruction.dtype);
        self.inputs.get(value).copied().or_else(instruction).ok_or_else(|| error!(Internal, "a program has no value {value}"))
    }

    /// Returns the program that computes output number `i` alone. It has the same inputs, of which it may not read all.
    pub(crate) fn only(&self, i: usize) -> Program {
        let last = self.outputs[i];
        let instructions = self.instructions[..=last - self.inputs.len()].to_vec();
        Program { inputs: self.inputs.clone(), instructions, outputs: SmallVec::from_elem(last, 1) }
    }

    /// Returns statements that compute the value `v{n}` of each instruction from the values `v0`, `v1` and so on of the inputs.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have, and for an instruction with too few operands.
    pub(crate) fn statements(&self) -> Result<String> {
        (0..self.instructions.len()).map(|i| self.statement(i)).collect()
    }

    /// Returns the statement of instruction `i`.
    ///
    /// # Errors
    /// Returns the errors of [`Program::statements`].
    pub(crate) fn statement(&self, i: usize) -> Result<String> {
        let Instruction { operation, operands, dtype } = &self.instructions[i];
        let names: Vec<String> = operands.iter().map(|value| format!("v{value}")).collect();
        let argument = match operands.first() {
            Some(&value) => self.type_of(value)?,
            None => bail!(Internal, "an element-wise instruction has no operands"),
        };
        let unnamed = |dtype: DType| error!(Internal, "GPU kernels have no elements of type {dtype}");
        let compute = compute_name(*dtype).ok_or_else(|| unnamed(*dtype))?;
        let value = match operation {
            Operation::Apply(function, _) if names.len() != function.arity => {
                bail!(InvalidArgument, "{} has {} operands, not {}", function.name, function.arity, names.len())
            }
            Operation::Apply(function, parameter) => {
                let own = compute_name(argument).ok_or_else(|| unnamed(argument))?;
                expand(function.text_for(argument), &names, own, *parameter)
            }
            Operation::Sum => names.join(" + "),
            Operation::Cast => cast(argument, *dtype, &names[0], compute),
            Operation::Select if names.len() == 3 => format!("{} ? {} : {}", names[0], names[1], names[2]),
            Operation::Select => bail!(Internal, "a selection needs three operands"),
        };
        // A value of a narrow float is rounded as a node of its own would round it.
        let rounded = match dtype {
            DType::F16 | DType::BF16 => format!("({compute})({})({value})", element_name(*dtype).unwrap_or("float")),
            _ => value,
        };
        Ok(format!("    {compute} v{} = {rounded};\n", self.inputs.len() + i))
    }
}

/// Replaces `a`, `b` and `c` by the operands, `C` by the type, and `p` by the parameter, where they are whole words.
fn expand(text: &str, operands: &[String], compute: &str, parameter: f64) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
        expanded.push_str(&rest[..start]);
        let end = rest[start..].find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).map_or(rest.len(), |n| start + n);
        match &rest[start..end] {
            "a" => expanded.push_str(operands.first().map_or("a", String::as_str)),
            "b" => expanded.push_str(operands.get(1).map_or("b", String::as_str)),
            "c" => expanded.push_str(operands.get(2).map_or("c", String::as_str)),
            "C" => expanded.push_str(compute),
            "p" => expanded.push_str(&format!("(({compute}){parameter:e})")),
            word => expanded.push_str(word),
        }
        rest = &rest[end..];
    }
    expanded + rest
}

/// Returns the text of a conversion. Floats are truncated to integers, and every number but zero is true.
fn cast(from: DType, to: DType, value: &str, compute: &str) -> String {
    match to {
        DType::Bool => format!("{value} != 0"),
        // TensorFlow converts floats to small integers through a wider one, which wraps.
        DType::I8 | DType::I16 | DType::U8 | DType::U16 if from.is_floating() => format!("({compute})(int)({value})"),
        _ => format!("({compute})({value})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_replaced() {
        let names = ["v0".to_owned(), "v1".to_owned()];
        assert_eq!(expand("a > 0 ? max(a, b) : (C)0.5 * p", &names, "float", 0.25), "v0 > 0 ? max(v0, v1) : (float)0.5 * ((float)2.5e-1)");
    }

    #[test]
    fn narrow_floats_are_rounded_after_each_instruction() {
        let Some(add) = Function::of("Add") else { return assert_eq!("Add", "a function") };
        let apply = |operands: &[usize]| Instruction {
            operation: Operation::Apply(add, 0.0),
            operands: operands.iter().copied().collect(),
            dtype: DType::F16,
        };
        let program = Program {
            inputs: SmallVec::from_slice(&[DType::F16; 2]),
            instructions: vec![apply(&[0, 1]), apply(&[2, 2])],
            outputs: SmallVec::from_slice(&[3]),
        };
        let text = program.statements().unwrap_or_default();
        assert_eq!(text, "    float v2 = (float)(half)(v0 + v1);\n    float v3 = (float)(half)(v2 + v2);\n");
    }
}
