//! The kernels for values that static shapes depend on.

use flowmill_graph::{Evaluator, Graph, NodeId};
use flowmill_runtime::{FunctionLibraryRuntime, ResourceManager};
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::{Arc, LazyLock};

/// All kernels, in steps that have neither resources nor functions. They are registered when the first value is asked for.
pub(crate) struct Kernels {
    resources: Arc<ResourceManager>,
    functions: LazyLock<Arc<FunctionLibraryRuntime>>,
}

impl Default for Kernels {
    fn default() -> Kernels {
        let functions = || Arc::new(FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined.")));
        Kernels { resources: Arc::default(), functions: LazyLock::new(functions) }
    }
}

impl Evaluator for Kernels {
    fn evaluate(&self, graph: &Graph, node: NodeId, inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
        flowmill_runtime::evaluate(&crate::kernels(), &self.resources, &self.functions, graph, node, inputs)
    }
}
