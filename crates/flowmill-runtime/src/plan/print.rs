//! The text form of a plan, for debugging.

use super::{NodeKind, PlanEdge, PlanGraph, PlanNode};
use std::fmt;

/// A line for each frame that is a loop, then one for each node: `3: Enter a/Enter = Enter(2:0, ^1) in frame 0`.
impl fmt::Display for PlanGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, frame) in self.frames.iter().enumerate().skip(1) {
            let parent = frame.parent.map_or(0, |parent| parent.0);
            writeln!(f, "frame {i}: {} in frame {parent}, {} parallel iterations", frame.name, frame.parallel_iterations)?;
        }
        self.nodes.iter().enumerate().try_for_each(|(i, node)| writeln!(f, "{i}: {node}"))
    }
}

impl fmt::Display for PlanNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} = {}(", kind(&self.kind), self.name, self.op)?;
        for (i, edge) in self.inputs.iter().chain(&self.controls).enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            match edge.slot {
                PlanEdge::CONTROL => write!(f, "^{}", edge.node.0)?,
                slot => write!(f, "{}:{slot}", edge.node.0)?,
            }
        }
        write!(f, ") in frame {}", self.frame.0)?;
        for (i, shape) in self.shapes.iter().enumerate() {
            write!(f, "{} {shape}", if i == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

fn kind(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Op => "Op",
        NodeKind::Arg(_) => "Arg",
        NodeKind::Ret(_) => "Ret",
        NodeKind::Const(_) => "Const",
        NodeKind::Merge => "Merge",
        NodeKind::Enter { .. } => "Enter",
        NodeKind::Exit => "Exit",
        NodeKind::NextIteration => "NextIteration",
        NodeKind::ControlTrigger => "ControlTrigger",
        NodeKind::Program => "Program",
    }
}
