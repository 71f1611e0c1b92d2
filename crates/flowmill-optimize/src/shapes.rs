//! The shapes of a graph's tensors from the first pass to the plan.

use flowmill_graph::{Graph, OutputId, ShapeAnalysis};
use std::cell::{OnceCell, RefCell};

/// The shapes of a graph's tensors, which are analysed at the first use and handed on from pass to pass.
///
/// A pass asks for the shapes of the tensors that were there when it first asked. Nodes that are added later are analysed when the next pass asks, so
/// that all passes together analyse each node once. A pass that changes the shape of a tensor but not its node calls [`Shapes::clear`].
#[derive(Debug, Default)]
pub struct Shapes {
    current: OnceCell<ShapeAnalysis>,
    /// The analysis of earlier passes, before its update.
    earlier: RefCell<Option<ShapeAnalysis>>,
}

impl Shapes {
    /// Returns the analysis of the graph as it was at the first call of a pass.
    pub fn of(&self, graph: &Graph) -> &ShapeAnalysis {
        self.current.get_or_init(|| {
            let mut analysis = self.earlier.take().unwrap_or_default();
            analysis.update(graph);
            analysis
        })
    }

    /// Records that `new` replaces `old` and has the same shape.
    pub fn set_same(&mut self, new: OutputId, old: OutputId) {
        if let Some(shapes) = self.current.get_mut() {
            shapes.set_same(new, old);
        }
    }

    /// Forgets all shapes.
    pub fn clear(&mut self) {
        *self = Shapes::default();
    }

    /// Makes the next use analyse the nodes that were added since the first.
    pub fn renew(&mut self) {
        if let Some(analysis) = self.current.take() {
            *self.earlier.get_mut() = Some(analysis);
        }
    }

    /// Returns the analysis of the graph as it is.
    pub fn finish(mut self, graph: &Graph) -> ShapeAnalysis {
        self.renew();
        let mut analysis = self.earlier.take().unwrap_or_default();
        analysis.update(graph);
        analysis
    }
}
