//! Plans of at most one program, which run without an executor.

use super::ir::{NodeKind, PlanEdge, PlanGraph, PlanNodeId};
use crate::invoke::Callee;
use crate::kernel::Kernel;
use crate::step::DeviceStep;
use flowmill_tensor::{Result, Tensor, bail};
use smallvec::SmallVec;
use std::sync::Arc;

/// A plan that consists of arguments, results, constants and at most one program. Most small graphs and most functions have this form. Running it is
/// one call.
pub struct DirectPlan {
    program: Option<(Callee, Arc<dyn Kernel>)>,
    /// The sources of the program's inputs. The flag is true for the last use of an argument, which is then moved instead of cloned.
    inputs: Vec<(Source, bool)>,
    num_outputs: usize,
    /// The sources of the plan's results. The flag is true for the last use of an output, which is then moved instead of cloned.
    results: Vec<(Source, bool)>,
    num_args: usize,
}

/// The values of a run. For a small function they are on the stack.
type Args = SmallVec<[Option<Tensor>; 8]>;

#[derive(Clone, PartialEq)]
enum Source {
    Arg(usize),
    Const(Tensor),
    Output(usize),
}

impl DirectPlan {
    /// Returns the plan of `graph` if it has this form.
    pub fn of(graph: &PlanGraph) -> Option<DirectPlan> {
        let mut program = None;
        for (i, node) in graph.nodes.iter().enumerate() {
            match node.kind {
                NodeKind::Program if program.is_none() && node.controls.is_empty() => program = Some(PlanNodeId(i as u32)),
                NodeKind::Arg(_) | NodeKind::Ret(_) | NodeKind::Const(_) if node.controls.is_empty() => {}
                _ => return None,
            }
        }
        let source = |edge: &PlanEdge| -> Option<Source> {
            if Some(edge.node) == program {
                return Some(Source::Output(edge.slot as usize));
            }
            match &graph.nodes.get(edge.node.0 as usize)?.kind {
                NodeKind::Arg(i) => Some(Source::Arg(*i)),
                NodeKind::Const(value) => Some(Source::Const(value.clone())),
                _ => None,
            }
        };
        let mut results = vec![None; graph.num_results];
        for node in &graph.nodes {
            if let NodeKind::Ret(i) = node.kind {
                let edge = node.inputs.first().filter(|_| node.takes_ref == [true] || !is_ref(graph, &node.inputs))?;
                *results.get_mut(i)? = Some(source(edge)?);
            }
        }
        let node = program.map(|id| &graph.nodes[id.0 as usize]);
        let sources = node.map_or(Some(Vec::new()), |n| n.inputs.iter().map(source).collect::<Option<Vec<_>>>())?;
        let results = results.into_iter().collect::<Option<Vec<_>>>()?;
        let is_last = |i: usize| !sources[i + 1..].contains(&sources[i]) && !results.contains(&sources[i]);
        Some(DirectPlan {
            program: node.and_then(|n| Some((Callee::of(n), n.kernel.clone()?))),
            inputs: (0..sources.len()).map(|i| (sources[i].clone(), is_last(i))).collect(),
            num_outputs: node.map_or(0, |n| n.outputs.len()),
            results: (0..results.len()).map(|i| (results[i].clone(), !results[i + 1..].contains(&results[i]))).collect(),
            num_args: graph.args.len(),
        })
    }

    /// Runs the plan on this thread. A result that is `None` is dead.
    ///
    /// # Errors
    /// Returns the error of the kernel that failed, `Internal` if a kernel panics, and `InvalidArgument` for a wrong number of arguments.
    pub fn run(&self, step: &Arc<DeviceStep>, args: Vec<Tensor>) -> Result<Vec<Option<Tensor>>> {
        if args.len() != self.num_args {
            bail!(InvalidArgument, "{} arguments for a plan that takes {}", args.len(), self.num_args);
        }
        let mut args: Args = args.into_iter().map(Some).collect();
        let mut outputs: Args = smallvec::smallvec![None; self.num_outputs];
        if let Some((callee, program)) = &self.program {
            let mut inputs = Args::with_capacity(self.inputs.len());
            for (source, is_last) in &self.inputs {
                inputs.push(match source {
                    Source::Arg(i) if *is_last => args[*i].take(),
                    Source::Arg(i) => args[*i].clone(),
                    Source::Const(value) => Some(value.clone()),
                    Source::Output(_) => None,
                });
            }
            crate::panics::caught(|| callee.invoke(&**program, &mut inputs, &mut outputs, step))?;
        }
        let result = |(source, is_last): &(Source, bool)| match source {
            Source::Arg(i) => args[*i].clone(),
            Source::Const(value) => Some(value.clone()),
            Source::Output(i) if *is_last => outputs[*i].take(),
            Source::Output(i) => outputs[*i].clone(),
        };
        Ok(self.results.iter().map(result).collect())
    }
}

fn is_ref(graph: &PlanGraph, inputs: &[PlanEdge]) -> bool {
    inputs.iter().any(|e| graph.nodes.get(e.node.0 as usize).and_then(|n| n.outputs.get(e.slot as usize)).is_some_and(|o| o.is_ref))
}
