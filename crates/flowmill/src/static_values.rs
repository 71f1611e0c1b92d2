//! The kernels for values that static shapes depend on.

use flowmill_graph::{Evaluator, Graph, NodeId};
use flowmill_runtime::{Device, FunctionLibraryRuntime, HostDevice, KernelRegistry, ResourceManager};
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::{Arc, LazyLock};

/// All kernels, in steps that have neither resources nor functions. The standard ones are registered when the first value is asked for.
pub(crate) struct Kernels {
    host: LazyLock<Arc<dyn Device>, Box<dyn FnOnce() -> Arc<dyn Device> + Send + Sync>>,
    resources: Arc<ResourceManager>,
    functions: LazyLock<Arc<FunctionLibraryRuntime>>,
}

impl Kernels {
    /// Returns an evaluator with these kernels.
    pub(crate) fn new(kernels: Arc<KernelRegistry>) -> Kernels {
        Kernels::made_by(move || kernels)
    }

    fn made_by(make: impl FnOnce() -> Arc<KernelRegistry> + Send + Sync + 'static) -> Kernels {
        let functions = || Arc::new(FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined.")));
        Kernels {
            host: LazyLock::new(Box::new(|| HostDevice::cpu(0, make()))),
            resources: Arc::default(),
            functions: LazyLock::new(functions),
        }
    }
}

impl Default for Kernels {
    fn default() -> Kernels {
        Kernels::made_by(crate::kernels)
    }
}

impl Evaluator for Kernels {
    fn evaluate(&self, graph: &Graph, node: NodeId, inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
        flowmill_runtime::evaluate(&self.host, &self.resources, &self.functions, graph, node, inputs)
    }
}
