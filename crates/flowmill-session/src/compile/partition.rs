//! Partitioning of a unit by device.

use super::unit::{CostFacts, Unit};
use super::{HOST, Part, Placement};
use crate::devices::Devices;
use flowmill_graph::{ArgDef, Node, TensorType, arg_ranges};
use flowmill_partition::{Memory, PartitionOptions, Transfer};
use flowmill_runtime::plan::kernel_def;
use flowmill_tensor::{DType, Result};
use std::sync::Arc;

/// The parts of a unit.
pub(super) struct Parts<'a> {
    /// The part of each device that has nodes. The first part is that of the caller's device, which has all arguments and results.
    pub(super) parts: Vec<Part<'a>>,
    /// The names of the tensors that go from part to part, by the numbers of their transfers.
    pub(super) transfers: Arc<[String]>,
}

/// Splits a unit into one part for each device that has nodes. With `start_times`, by node id, receives are delayed.
///
/// # Errors
/// Returns the errors of [`flowmill_partition::partition`].
pub(super) fn partition<'a>(
    unit: Unit<'a>,
    placement: Placement,
    devices: &Devices,
    start_times: Option<&[Option<u64>]>,
) -> Result<Parts<'a>> {
    let Placement::Several(placed) = placement else {
        return Ok(Parts { parts: vec![Part { unit, device: HOST }], transfers: Arc::default() });
    };
    let Unit { name, function, graph, arg_types, num_results, functions, site, records_nodes, .. } = unit;
    let flowmill_partition::Partition { mut parts, transfers } =
        flowmill_partition::partition(graph, placed.into_iter().collect(), devices, PartitionOptions { start_times })?;
    parts.retain(|(device, graph)| *device == site.device || graph.op_nodes().next().is_some());
    if let Some(own) = parts.iter().position(|(device, _)| *device == site.device) {
        parts[..=own].rotate_right(1);
    }
    match parts.first() {
        Some((device, graph)) if *device != site.device => {
            // A body without arguments and results, all of it on other devices.
            let empty = graph.part(&[]);
            parts.insert(0, (site.device, empty));
        }
        _ => (),
    }
    let part = |(device, graph)| {
        let (arg_types, num_results) = if device == site.device { (arg_types.clone(), num_results) } else { (Vec::new(), 0) };
        let (name, site) = (name.clone(), site.clone());
        let (placed, by_cost) = (None, CostFacts::default());
        Part {
            unit: Unit { name, function, graph, shapes: None, arg_types, num_results, functions, site, placed, by_cost, records_nodes },
            device,
        }
    };
    let name = |device| flowmill_partition::Devices::name(devices, device);
    let transfers = transfers.iter().map(|transfer| {
        let Transfer { tensor, from, to } = transfer;
        format!("{tensor} from {} to {}", name(*from), name(*to))
    });
    let transfers = transfers.collect();
    Ok(Parts { parts: parts.into_iter().map(part).collect(), transfers })
}

impl flowmill_partition::Devices for Devices {
    fn name(&self, device: usize) -> String {
        self.get(device).map_or_else(String::new, |device| device.device.attributes().name.to_string())
    }

    fn incarnation(&self, device: usize) -> u64 {
        self.get(device).map_or(0, |device| device.device.attributes().incarnation)
    }

    fn is_host(&self, device: usize) -> bool {
        self.get(device).is_none_or(|device| device.device.is_host())
    }

    fn input_memory(&self, device: usize, node: &Node, input: usize) -> Memory {
        self.memory(device, node, (node.input_types(), &node.op_def().inputs), input)
    }

    fn output_memory(&self, device: usize, node: &Node, output: usize) -> Memory {
        self.memory(device, node, (node.output_types(), &node.op_def().outputs), output)
    }
}

impl Devices {
    /// Returns the memory of tensor `i` of a node's inputs or outputs, by its type and the registration of the kernel.
    fn memory(&self, device: usize, node: &Node, (types, args): (&[TensorType], &[ArgDef]), i: usize) -> Memory {
        // Strings and resources have no form in the memory of a device. The tensors inside of variants do.
        if types.get(i).is_some_and(|t| matches!(t.dtype, DType::String | DType::Resource)) {
            return Memory::Host;
        }
        let Some(found) = self.get(device).and_then(|own| kernel_def(node, &own.device, &self.host().device)) else {
            return Memory::Either;
        };
        let (def, is_own) = found;
        let declared = |arg: &ArgDef| match &arg.name {
            name if def.is_in_host_memory(name) => Some(Memory::Host),
            name if def.is_in_any_memory(name) => Some(Memory::Either),
            _ => None,
        };
        let is_any_declared = args.iter().any(|arg| declared(arg).is_some());
        let ranges = if is_any_declared { arg_ranges(args, node.attrs()).unwrap_or_default() } else { Vec::new() };
        let of_tensor = args.iter().zip(ranges).find(|(_, range)| range.contains(&i)).and_then(|(arg, _)| declared(arg));
        of_tensor.unwrap_or(if is_own { Memory::Device } else { Memory::Either })
    }
}
