//! Calls of signatures that classify or regress serialized examples.

use super::{Call, Outcome, ServedSignature};
use crate::inference::{ExampleMethod, ExampleTask};
use crate::proto::tfs::inference_result::Result as ExampleResult;
use flowmill::{Result, Tensor};

impl ServedSignature {
    /// Runs the signature on serialized examples, shape [number of examples], and returns what the method makes of its outputs.
    ///
    /// # Errors
    /// `InvalidArgument` if the signature or its outputs do not have the form that the method needs, and the errors of [`ServedSignature::call`].
    pub async fn call_examples(&self, method: ExampleMethod, examples: Tensor, call: Call) -> Result<(ExampleResult, Outcome)> {
        let task = ExampleTask::new(method, self.spec(), self.checks_method_name())?;
        let wanted: &[&str] = match method {
            ExampleMethod::Classify => &["classes", "scores"],
            ExampleMethod::Regress => &["outputs"],
        };
        let outputs = wanted.iter().filter(|name| self.spec().outputs.contains_key(**name)).map(|name| (*name).to_owned()).collect();
        let num_examples = examples.num_elements();
        let mut outcome = self.call(vec![("inputs".to_owned(), examples)], Call { outputs, ..call }).await?;
        let values: Vec<Tensor> = std::mem::take(&mut outcome.outputs).into_iter().map(|(_, value)| value).collect();
        Ok((task.result(num_examples, &values)?, outcome))
    }
}
