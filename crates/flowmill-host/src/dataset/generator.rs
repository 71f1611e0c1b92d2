//! `GeneratorDataset`, whose elements a function computes from a state that another function returns.

use super::args::{Call, dataset_kernel};
use super::context::{Function, FunctionAttr, IteratorContext};
use super::element::{Dataset, Element, Elements, UNKNOWN};
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Code, Result};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("GeneratorDataset", |init| {
        let functions =
            [("init_func", "init_func_other_args"), ("next_func", "next_func_other_args"), ("finalize_func", "finalize_func_other_args")];
        let [first, next, last] = functions.map(|(f, captured)| FunctionAttr::new(init, f, captured));
        let functions = [first?, next?, last?];
        dataset_kernel(init, move |call| generate(call, &functions))
    });
}

/// One iteration. The finalising function is called once, at the end or when the iterator is dropped.
struct Generator {
    functions: [Arc<Function>; 3],
    ctx: Arc<IteratorContext>,
    state: Option<Element>,
}

impl Generator {
    fn next(&mut self) -> Result<Option<Element>> {
        let [init, next, _] = &self.functions;
        let state = match &self.state {
            Some(state) => state,
            None => self.state.insert(init.call(&self.ctx, Vec::new())?),
        };
        match next.call(&self.ctx, state.clone()) {
            Err(e) if e.code() == Code::OutOfRange => self.finalize().map(|()| None),
            other => other.map(Some),
        }
    }

    fn finalize(&mut self) -> Result<()> {
        let Some(state) = self.state.take() else { return Ok(()) };
        self.functions[2].call_to_end(&self.ctx, state).map(drop)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // An error cannot be reported any more.
        drop(self.finalize());
    }
}

fn generate(call: &mut Call<'_, '_>, functions: &[FunctionAttr; 3]) -> Result<Dataset> {
    let [init, next, last] = functions;
    let functions = [init.capture(call.ctx)?, next.capture(call.ctx)?, last.capture(call.ctx)?];
    Ok(Dataset::new(call.signature()?, UNKNOWN, move |ctx| {
        let mut generator = Generator { functions: functions.clone(), ctx: ctx.clone(), state: None };
        Ok(Elements::new(move || generator.next()))
    }))
}
