//! Copies the bodies of called functions into the graph.
//!
//! Before: `y = PartitionedCall(x) {f=@g}` where `g(a) = Neg(a)`. After: `y/Neg = Neg(x)`.
//!
//! Sound because a node of a body computes the same in the caller's graph. Nodes that waited for the call wait for the body's effects, or for its
//! results if it has no effects. Effects are kept, whether or not the results have consumers. Every node of the body waits for what the call waited
//! for; in a loop or a branch, nodes that no argument starts wait for all arguments. Frames get names of their own. Not inlined are:
//! * functions that call themselves, directly or through others: the inner call is kept, at any depth;
//! * calls that would nest deeper than [`MAX_NESTING`](crate::MAX_NESTING) or add more nodes than [`MAX_ADDED_NODES`](crate::MAX_ADDED_NODES);
//! * calls and functions that are marked `_noinline`, unless they are marked for XLA, too;
//! * functions that do not exist, do not fit the call, or have no valid body: a step that runs the call returns the error.
//!
//! Needs nothing to run before it.

use crate::lowering::{Argument, Body, Functions, Liveness, Place, Reason, gate_of, identity, inputs_gate, is_noinline, redirect, splice};
use flowmill_graph::{Graph, NodeId, OutputId, call_of};
use flowmill_tensor::Result;
use std::sync::Arc;

pub(crate) fn run(graph: &mut Graph, functions: &mut Functions) -> Result<usize> {
    let calls = functions.candidates(graph, |n| call_of(graph, n).is_some());
    if calls.is_empty() {
        return Ok(0);
    }
    let liveness = functions.liveness(graph)?;
    let mut count = 0;
    for id in calls {
        match body(graph, functions, id) {
            Err(reason) => functions.leave(id, reason),
            Ok(body) => {
                inline(graph, functions, id, &body, &liveness)?;
                count += 1;
            }
        }
    }
    Ok(count)
}

fn body(graph: &Graph, functions: &mut Functions, id: NodeId) -> std::result::Result<Arc<Body>, Reason> {
    let node = graph.get(id).ok_or(Reason::NotAFunction)?;
    let body = functions.body(graph, id, &call_of(graph, node).ok_or(Reason::NotAFunction)?)?;
    if body.is_noinline || is_noinline(node.attrs()) {
        return Err(Reason::NoInline);
    }
    if body.fits(node, 0..) { Ok(body) } else { Err(Reason::OtherTypes) }
}

fn inline(graph: &mut Graph, functions: &mut Functions, id: NodeId, body: &Body, liveness: &Liveness) -> Result<()> {
    let (name, device) = (graph.node(id)?.name().to_owned(), graph.node(id)?.device().to_owned());
    let mut inputs: Vec<OutputId> = graph.inputs(id).collect();
    let controls: Vec<NodeId> = graph.control_inputs(id).collect();
    for input in &mut inputs {
        if graph.output_type(*input)?.is_ref {
            // A call reads its arguments before it runs.
            *input = identity(graph, *input, &format!("{name}/input"), &device, &controls)?;
        }
    }
    let has_effects = !body.effects.is_empty();
    let is_uniform = liveness.is_uniform(id);
    let gate = match inputs_gate(graph, id, liveness)? {
        // The arguments are live together, so one of them tells the rest.
        None if liveness.is_conditional(id) && body.has_roots => {
            gate_of(graph, &format!("{name}/inputs"), &device, inputs.first().copied(), [])?
        }
        gate => gate,
    };
    // What an argument starts needs no gate, unless the call waits for more, or an effect must not run for one argument alone.
    let is_gated = controls.is_empty() && (is_uniform || !has_effects);
    let args: Vec<Argument> = inputs.iter().map(|&source| Argument { source, is_gated }).collect();
    let spliced = splice(graph, functions, body, &Place { caller: id, prefix: &name, device: &device, args: &args, gate })?;
    for &effect in &spliced.effects {
        // Whatever becomes of the results.
        graph.add_control_edge(effect, NodeId::SINK)?;
    }
    let done = |graph: &mut Graph| {
        let name = format!("{name}/done");
        if has_effects {
            gate_of(graph, &name, &device, [], spliced.effects.iter().copied())
        } else if !spliced.results.is_empty() {
            gate_of(graph, &name, &device, spliced.results.iter().copied(), [])
        } else {
            gate_of(graph, &name, &device, inputs.iter().copied(), controls.iter().copied())
        }
    };
    redirect(graph, id, |_, slot| Ok(spliced.results[slot as usize]), done)
}
