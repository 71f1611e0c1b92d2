//! The views of TensorFlow 1's profiler: the nodes of a graph with what their firings took, by name scope, by dataflow, by op, or by line of Python.
//!
//! ```text
//! graph, StepStats, traces ─▶ Profiler (nodes.rs) ─▶ tree of the view (tree.rs) ─▶ accounted, filtered, sorted (show.rs) ─▶ text.rs, message.rs
//! ```

mod advice;
mod message;
mod nodes;
mod options;
mod show;
mod stats;
mod text;
mod tree;

pub use nodes::{CodeFrame, Profiler};
pub use options::{ProfileOptions, View};

use flowmill_proto::tfprof;
use show::ShownTree;

/// A profile as one view shows it.
pub struct Profile {
    tree: ShownTree,
    view: View,
    options: ProfileOptions,
}

impl Profile {
    /// Returns the profile as a tree or a table of text.
    pub fn text(&self) -> String {
        text::text(&self.tree, self.view, &self.options)
    }

    /// Returns the profile as TensorFlow's message for the views by scope and by dataflow.
    pub fn graph_node(&self) -> tfprof::GraphNodeProto {
        message::graph_node(&self.tree.root)
    }

    /// Returns the profile as TensorFlow's message for the views by op and by code.
    pub fn multi_graph_node(&self) -> tfprof::MultiGraphNodeProto {
        message::multi_graph_node(&self.tree, self.view)
    }
}
