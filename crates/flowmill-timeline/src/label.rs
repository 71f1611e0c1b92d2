//! The text that describes a firing in `NodeExecStats.timeline_label`.
//!
//! ```text
//! NAME = OP(INPUT, INPUT:1, ^INPUT) [BYTES B] TENSOR from DEVICE to DEVICE @ FRAME:ITERATION,ITERATION
//! ```
//!
//! The part up to the closing parenthesis is TensorFlow's. The others are there for copies between devices and for nodes in loops. A label that
//! TensorFlow writes for a tensor that comes from another process has the part of copies alone.

use std::fmt::Write;

/// The parts of a label.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Label<'a> {
    /// The op; empty if the label has none.
    pub(crate) op: &'a str,
    /// The names of the input tensors, without `:0`; control inputs begin with `^`.
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) copy: Option<CopyLabel<'a>>,
    /// The frame of the innermost loop and the iterations, outermost first.
    pub(crate) iteration: Option<(&'a str, &'a str)>,
}

/// A copy between devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyLabel<'a> {
    pub(crate) bytes: u64,
    pub(crate) tensor: &'a str,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
}

impl<'a> Label<'a> {
    /// Reads a label. Parts that are not there are empty.
    pub(crate) fn parse(text: &'a str) -> Label<'a> {
        let (rest, iteration) = match text.rsplit_once(" @ ").and_then(|(rest, at)| Some((rest, at.rsplit_once(':')?))) {
            Some((rest, iteration)) if is_numbers(iteration.1) => (rest, Some(iteration)),
            _ => (text, None),
        };
        let call = rest.rfind(')').and_then(|close| Some((rest.get(..close)?.split_once(" = ")?.1, rest.get(close + 1..)?)));
        let (op, inputs, details) = match call.and_then(|(call, details)| Some((call.split_once('(')?, details))) {
            Some(((op, inputs), details)) => (op, inputs.split(", ").filter(|input| !input.is_empty()).collect(), details),
            None => ("", Vec::new(), rest),
        };
        Label { op, inputs, copy: CopyLabel::parse(details), iteration }
    }
}

impl<'a> CopyLabel<'a> {
    fn parse(text: &'a str) -> Option<CopyLabel<'a>> {
        let (bytes, rest) = text.trim_start().strip_prefix('[')?.split_once("B] ")?;
        let (rest, to) = rest.rsplit_once(" to ")?;
        let (tensor, from) = rest.rsplit_once(" from ")?;
        Some(CopyLabel { bytes: bytes.trim().parse().ok()?, tensor, from, to: to.trim_end() })
    }

    pub(crate) fn write(&self, label: &mut String) {
        let CopyLabel { bytes, tensor, from, to } = self;
        let _ = write!(label, " [{bytes}B] {tensor} from {from} to {to}");
    }
}

fn is_numbers(text: &str) -> bool {
    text.split(',').all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Writes the iteration of a label. Parentheses in the frame's name would end the list of inputs.
pub(crate) fn write_iteration(label: &mut String, frame: &str, iteration: &[u64]) {
    let numbers: Vec<String> = iteration.iter().map(u64::to_string).collect();
    let _ = write!(label, " @ {}:{}", frame.replace(['(', ')'], "_"), numbers.join(","));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_nodes() {
        let label = Label::parse("a/b = AddV2(x, y:1, ^c)");
        assert_eq!((label.op, &label.inputs[..], label.copy, label.iteration), ("AddV2", &["x", "y:1", "^c"][..], None, None));
        let label = Label::parse("n = Neg(x) @ while/frame:0,12");
        assert_eq!((label.op, label.iteration), ("Neg", Some(("while/frame", "0,12"))));
        assert_eq!(Label::parse("c = Const()"), Label { op: "Const", ..Label::default() });
        assert_eq!(Label::parse("unknown"), Label::default());
        assert_eq!(Label::parse(""), Label::default());
        assert_eq!(Label::parse(") = ("), Label::default());
    }

    #[test]
    fn labels_of_copies() {
        let text = "[1024B] edge_160_conv2/biases/read from /job:ps/replica:0/task:3/cpu:0 to /job:worker/replica:0/task:0/cpu:0";
        let copy = Label::parse(text).copy.unwrap();
        assert_eq!((copy.bytes, copy.tensor), (1024, "edge_160_conv2/biases/read"));
        assert_eq!((copy.from, copy.to), ("/job:ps/replica:0/task:3/cpu:0", "/job:worker/replica:0/task:0/cpu:0"));
        let mut label = "x/_1 = _Recv(^t)".to_owned();
        CopyLabel { bytes: 8, tensor: "edge_1_x", from: "A", to: "B" }.write(&mut label);
        write_iteration(&mut label, "f(1)", &[3]);
        let read = Label::parse(&label);
        assert_eq!((read.op, read.copy.unwrap().tensor, read.iteration), ("_Recv", "edge_1_x", Some(("f_1_", "3"))));
    }
}
