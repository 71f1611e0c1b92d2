//! A builder for one run of a session.

use super::names::{Fetches, ToNodeName, ToTensorName};
use super::{Callable, RunOptions, RunOutcome, Session};
use flowmill_graph::Graph;
use flowmill_runtime::CancelToken;
use flowmill_tensor::{Error, Result, Tensor};
use std::sync::Arc;
use std::time::Duration;

/// A builder for one run: feeds, targets and options. [`Runner::fetch`] and [`Runner::run`] execute the run.
///
/// Tensors and nodes are given by id or by name. Ids are looked up at once. The first error of a look-up is returned by the method that executes the
/// run.
#[must_use = "a run is executed by `fetch` or `run`"]
pub struct Runner<'s> {
    session: &'s Session,
    feeds: Vec<(String, Tensor)>,
    targets: Vec<String>,
    options: RunOptions,
    failure: Option<Error>,
}

impl Session {
    /// Begins a run: `session.runner().feed(x, value).fetch(y)`.
    pub fn runner(&self) -> Runner<'_> {
        Runner { session: self, feeds: Vec::new(), targets: Vec::new(), options: RunOptions::default(), failure: None }
    }

    /// Prepares a run that will be called many times with a value for each of `feeds`, by id or by name.
    ///
    /// # Errors
    /// Returns `NotFound` or `OutOfRange` for an id that is not in the graph, and the errors of [`Session::make_callable`].
    pub fn callable<F: ToTensorName, G: ToTensorName>(
        self: &Arc<Session>,
        feeds: impl IntoIterator<Item = F>,
        fetches: impl IntoIterator<Item = G>,
    ) -> Result<Callable> {
        let (feeds, fetches) = {
            let graph = self.graph.read();
            let feeds = feeds.into_iter().map(|tensor| tensor.to_tensor_name(&graph)).collect::<Result<Vec<_>>>()?;
            let fetches = fetches.into_iter().map(|tensor| tensor.to_tensor_name(&graph)).collect::<Result<Vec<_>>>()?;
            (feeds, fetches)
        };
        self.make_callable(&names(&feeds), &names(&fetches), &[])
    }
}

impl Runner<'_> {
    /// Adds a feed: the run uses the value in place of the tensor.
    pub fn feed(mut self, tensor: impl ToTensorName, value: Tensor) -> Self {
        if let Some(name) = self.look_up(|graph| tensor.to_tensor_name(graph)) {
            self.feeds.push((name, value));
        }
        self
    }

    /// Adds a target: a node that is executed, with the nodes that it needs, and of which nothing is fetched.
    pub fn target(mut self, node: impl ToNodeName) -> Self {
        if let Some(name) = self.look_up(|graph| node.to_node_name(graph)) {
            self.targets.push(name);
        }
        self
    }

    /// Ends the run with `DeadlineExceeded` after this time.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Ends the run with `Cancelled` when the token is cancelled.
    pub fn cancel(mut self, token: CancelToken) -> Self {
        self.options.cancel = Some(token);
        self
    }

    /// Sets all options of the run.
    pub fn options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Executes the run and returns the value of a tensor, or the values of several in an array or a `Vec`.
    ///
    /// # Errors
    /// Returns `NotFound` or `OutOfRange` for an id that is not in the graph, and the errors of [`Session::run_with`].
    pub fn fetch<F: Fetches>(mut self, fetches: F) -> Result<F::Values> {
        let names = self.look_up(|graph| fetches.names(graph)).unwrap_or_default();
        let outcome = self.execute(&names)?;
        fetches.values(outcome.values)
    }

    /// Executes the targets.
    ///
    /// # Errors
    /// Returns `NotFound` for an id that is not in the graph, and the errors of [`Session::run_with`].
    pub fn run(self) -> Result<RunOutcome> {
        self.execute(&[])
    }

    fn execute(self, fetches: &[String]) -> Result<RunOutcome> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let feeds: Vec<(&str, Tensor)> = self.feeds.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        self.session.run_with(&feeds, &names(fetches), &names(&self.targets), &self.options)
    }

    fn look_up<T>(&mut self, f: impl FnOnce(&Graph) -> Result<T>) -> Option<T> {
        match f(&self.session.graph.read()) {
            Ok(found) => Some(found),
            Err(error) => {
                self.failure.get_or_insert(error);
                None
            }
        }
    }
}

fn names(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}
