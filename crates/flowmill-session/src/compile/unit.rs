//! The unit of compilation: the part of a graph that a step or a function needs.

use super::boundary;
use super::place::Placed;
use super::reference_reads::read_after_updates;
use crate::session::Signature;
use flowmill_cost::MeasuredCosts;
use flowmill_graph::{FunctionBody, Graph, Node, NodeId, Role, ShapeAnalysis, rewrite_with_connections};
use flowmill_runtime::FunctionLibraryRuntime;
use flowmill_tensor::{DType, Result};
use std::sync::Arc;

/// A graph whose arguments are `_Arg` nodes and whose results are `_Retval` nodes. Nodes that have to run for their effects have a control edge to
/// `_SINK`.
pub(crate) struct Unit<'a> {
    /// A name for messages: a fetch or target of the step, or the function.
    pub(crate) name: String,
    /// The function whose body the graph is; empty for a step.
    pub(crate) function: &'a str,
    pub(crate) graph: Graph,
    /// The shapes of the graph's tensors, if the graph was optimised.
    pub(crate) shapes: Option<ShapeAnalysis>,
    /// The types of the arguments, used or not.
    pub(crate) arg_types: Vec<DType>,
    pub(crate) num_results: usize,
    /// The functions that nodes may call.
    pub(crate) functions: &'a Arc<FunctionLibraryRuntime>,
    /// The device that the unit is called from.
    pub(crate) site: CallSite,
    /// The devices of the nodes of the session's whole graph. `None` for a body, for a session with one device, and if only the graph's part is placed.
    pub(crate) placed: Option<Placed>,
    /// The facts that placement by cost uses besides estimates.
    pub(crate) by_cost: CostFacts,
    /// True if the report of the passes names the nodes that they changed.
    pub(crate) records_nodes: bool,
}

/// Facts of earlier steps that placement by cost uses besides estimates.
#[derive(Clone, Debug, Default)]
pub(crate) struct CostFacts {
    /// The costs of nodes that were measured, in place of the estimated ones.
    pub(crate) measured: Option<MeasuredCosts>,
    /// The devices of an earlier placement, which is kept.
    pub(crate) devices: Option<Arc<PlacedNodes>>,
}

/// The nodes that were placed by cost, by their names, in the order of the graph, with the numbers of their devices.
pub(crate) type PlacedNodes = Vec<(Arc<str>, usize)>;

/// The part of a session's graph that a step may need, with the facts that its placement depends on.
pub(crate) struct StepGraph {
    pub(crate) graph: Graph,
    /// See [`Unit::placed`].
    pub(crate) placed: Option<Placed>,
    /// See [`Unit::by_cost`].
    pub(crate) by_cost: CostFacts,
}

/// The devices that a call of a function depends on, by their numbers. The bodies of calls with different sites are placed differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CallSite {
    /// The device of the caller: of the arguments, the results, and the nodes that request no device. It is the host for a step.
    pub(crate) device: usize,
    /// The arguments whose resource is on another device, each with that device.
    pub(crate) resources: Vec<(usize, usize)>,
}

impl CallSite {
    /// Returns the device of the resource that an argument is the handle of, or `None` for other nodes.
    pub(crate) fn device_of_resource(&self, node: &Node) -> Option<usize> {
        let is_handle = node.role() == Role::Arg && node.output_types().first().is_some_and(|t| t.dtype == DType::Resource);
        let index = node.attrs().get::<i64>("index").ok().filter(|_| is_handle)?;
        let elsewhere = self.resources.iter().find(|(i, _)| *i as i64 == index);
        Some(elsewhere.map_or(self.device, |(_, device)| *device))
    }
}

impl<'a> Unit<'a> {
    /// Makes the unit that a step with this signature runs.
    ///
    /// # Errors
    /// Returns `InvalidArgument` or `NotFound` for feeds, fetches and targets that the graph does not have or that contradict each other.
    pub(crate) fn of_step(step: StepGraph, signature: &Signature, functions: &'a Arc<FunctionLibraryRuntime>) -> Result<Unit<'a>> {
        let StepGraph { mut graph, placed, by_cost } = step;
        let [feeds, fetches, targets] = signature.lists();
        let execution = rewrite_with_connections(&mut graph, &feeds, &fetches, &targets, &signature.connections())?;
        for target in execution.targets {
            // What _SINK waits for is kept by all passes.
            graph.add_control_edge(target, NodeId::SINK)?;
        }
        boundary::put_on_devices(&mut graph, signature, &execution.args, &execution.retvals)?;
        read_after_updates(&mut graph)?;
        let name = fetches.iter().chain(&targets).next().copied().unwrap_or_default().to_owned();
        Ok(Unit {
            name,
            function: "",
            graph,
            shapes: None,
            arg_types: execution.arg_types,
            num_results: execution.retval_types.len(),
            functions,
            site: CallSite::default(),
            placed,
            by_cost,
            records_nodes: false,
        })
    }

    /// Makes the unit that a call of a function from `site` runs.
    ///
    /// # Errors
    /// Returns `Internal` for a body whose nodes do not fit together.
    pub(crate) fn of_body(
        function: &'a str,
        mut body: FunctionBody,
        functions: &'a Arc<FunctionLibraryRuntime>,
        site: &CallSite,
    ) -> Result<Unit<'a>> {
        for id in body.effects() {
            body.graph.add_control_edge(id, NodeId::SINK)?;
        }
        body.prune()?;
        let num_results = body.retval_types.len();
        let (name, site, arg_types) = (function.to_owned(), site.clone(), body.arg_types);
        Ok(Unit {
            name,
            function,
            graph: body.graph,
            shapes: None,
            arg_types,
            num_results,
            functions,
            site,
            placed: None,
            by_cost: CostFacts::default(),
            records_nodes: false,
        })
    }

    /// Returns true for a step, false for a function's body.
    pub(crate) fn is_step(&self) -> bool {
        self.function.is_empty()
    }
}
