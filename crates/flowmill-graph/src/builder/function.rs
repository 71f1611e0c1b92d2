//! Functions of the library as graphs.

use super::ScopedBuilder;
use crate::{Attrs, FunctionBody, instantiate_function};
use flowmill_proto::NameAttrList;
use flowmill_tensor::{Result, bail};

impl ScopedBuilder<'_> {
    /// Returns the body of a function of the graph's library.
    ///
    /// # Errors
    /// `NotFound` if there is none of that name, and the errors of [`instantiate_function`].
    pub fn function_body(&self, function: &NameAttrList) -> Result<FunctionBody> {
        let Some(found) = self.graph.library().get(&function.name).cloned() else {
            bail!(NotFound, "Function {} is not defined.", function.name);
        };
        instantiate_function(&found, &Attrs::from(function.attr.clone()), self.graph.library(), self.graph.registry())
    }
}
