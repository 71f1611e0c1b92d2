//! TensorArrays whose elements are in a GPU's memory. The kernels are those of the host, with another storage.

use super::storage::GpuStorage;
use super::types::VALUES;
use flowmill_runtime::KernelRegistry;

/// The inputs and outputs that are in the host's memory.
const IN_HOST_MEMORY: [&str; 7] = ["grad_handle", "handle", "index", "indices", "lengths", "shape_to_prepend", "size"];

pub(super) fn register(registry: &mut KernelRegistry) {
    let mut shared = KernelRegistry::new();
    flowmill_host::register_tensor_arrays_in::<GpuStorage>(&mut shared);
    for op in shared.ops() {
        for def in shared.defs(op) {
            // As in TensorFlow, arrays of `int32` are the host's.
            let def = def.clone().constrain("T", VALUES).constrain("dtype", VALUES);
            registry.register(op, IN_HOST_MEMORY.iter().fold(def, |def, name| def.host_memory(name)));
        }
    }
}
