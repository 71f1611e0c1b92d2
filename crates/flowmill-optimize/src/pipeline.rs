//! The passes in their order, and the functions that run them.

use crate::Shapes;
use crate::changes::{ChangeRecorder, NodeChanges};
use crate::lowering::{Functions, called};
use crate::passes;
use flowmill_graph::{ControlFlow, Graph, ShapeAnalysis, Target};
use flowmill_tensor::{Error, Result};

/// One pass: a rewrite of the whole graph.
#[derive(Clone, Copy)]
pub struct Pass {
    /// The pass's name in [`Options::disabled`] and in reports, which is also the name of its file.
    pub name: &'static str,
    /// Rewrites the graph, whose nodes are all on the target, and returns the number of places that it changed. After an error the graph may be half
    /// rewritten.
    pub run: fn(&mut Graph, PassContext<'_>) -> Result<usize>,
    /// True for a pass that runs in rounds together with the passes beside it that do, until none of them changes the graph.
    pub repeats: bool,
}

impl Pass {
    /// Returns this pass as one that runs in rounds.
    const fn in_rounds(self) -> Pass {
        Pass { repeats: true, ..self }
    }
}

/// The things that a pass works with, besides the graph.
pub struct PassContext<'a> {
    /// The device that the graph's nodes are on.
    pub target: &'a dyn Target,
    /// The shapes of the graph's tensors.
    pub shapes: &'a mut Shapes,
    /// The largest number of places that the pass may change. Passes that make one change of many nodes, such as to prune them, do not count these.
    pub limit: usize,
}

/// A pass that inlines bodies of functions into the graph.
#[derive(Clone, Copy)]
pub struct LoweringPass {
    /// The pass's name in [`Options::disabled`] and in reports, which is also the name of its file.
    pub name: &'static str,
    /// Rewrites the graph, and returns the number of places that it changed. After an error the graph may be half rewritten.
    pub run: fn(&mut Graph, &mut Functions) -> Result<usize>,
}

/// The pass of a file of `passes`, which has the file's name.
macro_rules! pass {
    (Pass, $file:ident) => {
        Pass { name: stringify!($file), run: passes::$file::run, repeats: false }
    };
    ($kind:ident, $file:ident) => {
        $kind { name: stringify!($file), run: passes::$file::run }
    };
}

/// The passes that run before all others. They run in rounds until a round changes nothing, because each may create work for the others. Their order
/// does not change the result. Calls come first because most functions are called, which saves rounds.
pub const LOWERING: &[LoweringPass] =
    &[pass!(LoweringPass, inline_calls), pass!(LoweringPass, lower_case), pass!(LoweringPass, lower_if), pass!(LoweringPass, lower_while)];

/// The largest number of rounds of passes that repeat. A report says if there was work left.
pub const MAX_ROUNDS: usize = 8;

/// The passes that run after [`LOWERING`], in order, each with the reason for its position.
pub const PIPELINE: &[Pass] = &[
    // First, so that nobody looks at what nobody needs.
    pass!(Pass, prune),
    // Before patterns are looked for: they need not expect `Identity` anywhere.
    pass!(Pass, remove_identities),
    // Before constants are folded: reshapes constant weights. After identities are removed: weights may be behind one.
    pass!(Pass, flatten_products),
    // Before control edges are reduced, which removes what it leaves.
    pass!(Pass, convert_to_no_ops).in_rounds(),
    // Before patterns are looked for: few of them admit control edges. Branches and loops that go leave some in the next round.
    pass!(Pass, reduce_control_edges).in_rounds(),
    // Before all that asks whether weights are constant: frozen models compute theirs by reshapes and products of constants.
    pass!(Pass, fold_constants).in_rounds(),
    // After constants are folded: it asks only for what no kernel evaluates.
    pass!(Pass, resolve_shapes).in_rounds(),
    // After operands are constant, and before the passes that look for one form of functions.
    pass!(Pass, canonicalize).in_rounds(),
    // After constants are folded: permutations, axes and neutral elements are.
    pass!(Pass, remove_no_ops).in_rounds(),
    // After functions have one form.
    pass!(Pass, simplify_arithmetic).in_rounds(),
    // After reshapes and slices that lie between a split and a join are gone.
    pass!(Pass, cancel_splits).in_rounds(),
    // After transposes that undo each other are gone; what it brings together goes in the next round.
    pass!(Pass, sink_transposes).in_rounds(),
    // After conditions are constant.
    pass!(Pass, fold_branches).in_rounds(),
    // After bounds of loops are constant; before invariants leave a loop that is none.
    pass!(Pass, unroll_loops).in_rounds(),
    // After constants in loops are folded; the next round folds what has left a loop.
    pass!(Pass, hoist_invariants).in_rounds(),
    // So that in the next round nodes without use are no consumers.
    pass!(Pass, prune).in_rounds(),
    // After constants are folded: paddings are. Before layouts change, which would separate the nodes by transposes.
    pass!(Pass, fold_dilation),
    // Before all that looks for convolutions and batch norms, which know one layout; after constants are folded: axes and paddings are.
    pass!(Pass, channels_last),
    // After layouts change: it knows one. Before all that looks for convolutions: there is one where there were many.
    pass!(Pass, join_groups),
    // After constants are folded: permutations may be computed. Before all that takes functions of the scores.
    pass!(Pass, fuse_attention),
    // After constants are folded: those of an activation may be computed. Before reshapes are moved: they pass one node.
    pass!(Pass, fuse_activations),
    // What computed fused scores and activations is no consumer any more, and joins no group.
    pass!(Pass, prune),
    // After layouts change, so that biases and channels are last. Before all that looks behind a product for factors, biases and activations.
    pass!(Pass, sink_reshapes),
    // Before epilogues are fused: leaves one bias where there were a product and a sum.
    pass!(Pass, fold_batch_norm),
    // Before epilogues are fused: looks for `Conv2D`, not for what that becomes.
    pass!(Pass, fold_padding),
    // After paddings and batch norms are folded, which leaves less between convolutions. Before epilogues are fused: looks for `Conv2D` and for functions.
    pass!(Pass, pull_strides),
    // Before epilogues are fused: what a loop adds to such a product then becomes an epilogue of another.
    pass!(Pass, hoist_products),
    pass!(Pass, fuse_epilogues),
    // After epilogues are fused: layers are one node, and weights have their last values. Before layers are fused with others, and with what is behind them.
    pass!(Pass, quantize_layers),
    // After epilogues are fused: convolutions have taken what lies between them.
    pass!(Pass, fuse_separable),
    // Before single element-wise nodes are fused: looks for them.
    pass!(Pass, fuse_layer_norm),
    // What computed the moments of fused norms is no consumer any more, and joins no group.
    pass!(Pass, prune),
    // After fusion: a tensor with two consumers is not fused into either.
    pass!(Pass, merge_duplicates),
    // After equal factors are one tensor.
    pass!(Pass, hoist_common_factor),
    // After factors are hoisted out of sums; before sums are fused.
    pass!(Pass, rewrite_sums),
    // After equal nodes are one: two normalisations of a tensor often have one mean. Before element-wise nodes are fused without reductions.
    pass!(Pass, fuse_reductions),
    // After all that looks for single element-wise nodes.
    pass!(Pass, fuse_elementwise),
    // After element-wise nodes are one.
    pass!(Pass, fuse_prologues),
    // After prologues are fused, which takes less time than what lies behind.
    pass!(Pass, fuse_epilogue_programs),
    // Last: constants that were folded away are still there.
    pass!(Pass, prune),
];

/// Options of a run of the passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The names of passes that do not run.
    pub disabled: &'a [String],
    /// The function whose body the graph is; `""` for the graph of a step.
    pub function: &'a str,
    /// The largest number of changes that all passes together make; `None` for any number. The change after which a graph computes something else is the
    /// smallest number for which it does. Inlining is not counted.
    pub fuel: Option<usize>,
    /// True if reports name the nodes that each pass changed. This takes time proportional to the graph per pass.
    pub records_nodes: bool,
}

impl Options<'_> {
    fn is_enabled(&self, pass: &str) -> bool {
        !self.disabled.iter().any(|disabled| disabled == pass)
    }
}

/// The outcome of one pass.
#[derive(Clone, Debug)]
pub struct PassReport {
    /// The name of the pass.
    pub name: &'static str,
    /// The number of places that it changed.
    pub num_changes: usize,
    /// The error for which the pass's changes were discarded.
    pub error: Option<Error>,
    /// The nodes that it changed, if [`Options::records_nodes`] is set.
    pub nodes: NodeChanges,
}

/// A record of what [`lower`] or [`optimize`] did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The passes in the order in which they ran, without disabled ones.
    pub passes: Vec<PassReport>,
    /// The reasons why calls, branches and loops were not lowered, each with the number of such nodes.
    pub left: Vec<(&'static str, usize)>,
    /// The number of nodes before the first pass.
    pub num_nodes_before: usize,
    /// The number of nodes after the last pass.
    pub num_nodes_after: usize,
    /// True if [`MAX_ROUNDS`] ended the rounds of passes that repeat.
    pub is_capped: bool,
}

impl Report {
    /// Returns this report, extended by a later report for the same graph.
    pub fn then(mut self, later: Report) -> Report {
        self.passes.extend(later.passes);
        self.left.extend(later.left);
        Report { num_nodes_after: later.num_nodes_after, is_capped: self.is_capped || later.is_capped, ..self }
    }

    /// Returns the number of changes of all passes of that name.
    pub fn num_changes(&self, pass: &str) -> usize {
        self.passes.iter().filter(|p| p.name == pass).map(|p| p.num_changes).sum()
    }

    /// Returns the number of passes whose changes were discarded.
    pub fn num_failures(&self) -> usize {
        self.passes.iter().filter(|p| p.error.is_some()).count()
    }
}

/// Runs the passes of [`PIPELINE`]. If a pass fails, its changes are discarded and the report has its error. Debug builds also treat a pass that
/// leaves an invalid graph as failed.
pub fn optimize(graph: &mut Graph, options: &Options<'_>, target: &dyn Target) -> Report {
    run_passes(PIPELINE, graph, options, target)
}

/// Like [`optimize`], and returns the shapes of the tensors of the new graph, too.
pub fn optimize_with_shapes(graph: &mut Graph, options: &Options<'_>, target: &dyn Target) -> (Report, ShapeAnalysis) {
    let mut shapes = Shapes::default();
    let report = run_all(PIPELINE, graph, options, target, &mut shapes);
    (report, shapes.finish(graph))
}

/// Like [`optimize`], with other passes.
pub fn run_passes(passes: &[Pass], graph: &mut Graph, options: &Options<'_>, target: &dyn Target) -> Report {
    run_all(passes, graph, options, target, &mut Shapes::default())
}

fn run_all(passes: &[Pass], graph: &mut Graph, options: &Options<'_>, target: &dyn Target, shapes: &mut Shapes) -> Report {
    let num_nodes_before = graph.num_nodes();
    let recorder = ChangeRecorder::new(graph, options.records_nodes);
    let original = graph.clone();
    let fuel = options.fuel.unwrap_or(usize::MAX);
    let mut run = PipelineRun { graph, target, shapes, original, done: Vec::new(), recorder, num_changes: 0, fuel };
    let mut report = Report { num_nodes_before, ..Report::default() };
    let enabled: Vec<&Pass> = passes.iter().filter(|pass| options.is_enabled(pass.name)).collect();
    for stage in enabled.chunk_by(|a, b| a.repeats && b.repeats) {
        let (reports, is_capped) = run.stage(stage);
        report.passes.extend(reports);
        report.is_capped |= is_capped;
    }
    report.num_nodes_after = graph.num_nodes();
    report
}

/// A run of the passes on one graph.
struct PipelineRun<'a> {
    graph: &'a mut Graph,
    target: &'a dyn Target,
    shapes: &'a mut Shapes,
    /// The graph before the first pass.
    original: Graph,
    /// The runs of passes that succeeded, in order, with their limits.
    done: Vec<(&'a Pass, usize)>,
    recorder: Option<ChangeRecorder>,
    num_changes: usize,
    /// The number of changes that may still be made.
    fuel: usize,
}

impl<'a> PipelineRun<'a> {
    /// Runs a pass once, or passes in rounds until none of them changes the graph. Returns their reports, and true if [`MAX_ROUNDS`] ended the rounds.
    fn stage(&mut self, passes: &[&'a Pass]) -> (Vec<PassReport>, bool) {
        let mut reports: Vec<PassReport> =
            passes.iter().map(|p| PassReport { name: p.name, num_changes: 0, error: None, nodes: NodeChanges::default() }).collect();
        // The number of changes that had been made when each pass had run.
        let mut seen = vec![None; passes.len()];
        for _ in 0..MAX_ROUNDS {
            for ((pass, report), seen) in passes.iter().zip(&mut reports).zip(&mut seen) {
                if *seen != Some(self.num_changes) && report.error.is_none() {
                    self.pass(pass, report);
                    *seen = Some(self.num_changes);
                }
            }
            let is_done = |(seen, report): (&Option<usize>, &PassReport)| *seen == Some(self.num_changes) || report.error.is_some();
            if passes.iter().all(|pass| !pass.repeats) || seen.iter().zip(&reports).all(is_done) {
                return (reports, false);
            }
        }
        (reports, true)
    }

    fn pass(&mut self, pass: &'a Pass, report: &mut PassReport) {
        let limit = self.fuel;
        if limit == 0 {
            return;
        }
        match run_checked(pass, self.graph, PassContext { target: self.target, shapes: self.shapes, limit }) {
            Ok(0) => self.done.push((pass, limit)),
            Ok(num_changes) => {
                self.done.push((pass, limit));
                self.fuel = limit.saturating_sub(num_changes);
                self.num_changes += num_changes;
                report.num_changes += num_changes;
                if let Some(recorder) = &mut self.recorder {
                    report.nodes.extend(recorder.changes(self.graph));
                }
            }
            Err(error) => {
                *self.graph = replay(&self.original, &self.done, self.target);
                self.shapes.clear();
                report.error = Some(error);
            }
        }
    }
}

/// Runs the passes of [`LOWERING`] in rounds. If one fails, or the graph is invalid afterwards, all changes are discarded.
///
/// This terminates because each change removes a node and adds only nodes that are nested one function deeper, and the depth is bounded.
pub fn lower(graph: &mut Graph, options: &Options<'_>) -> Report {
    lower_with(Functions::new(options.function), graph, options)
}

/// Like [`lower`], for the branches and loops alone that TensorFlow lowers before it places a graph: those that [`is_marked`](crate::is_marked) returns
/// true for. Calls of functions stay.
pub fn lower_marked(graph: &mut Graph, options: &Options<'_>) -> Report {
    lower_with(Functions::new(options.function).only_marked(), graph, options)
}

fn lower_with(mut functions: Functions, graph: &mut Graph, options: &Options<'_>) -> Report {
    let mut report = Report { num_nodes_before: graph.num_nodes(), num_nodes_after: graph.num_nodes(), ..Report::default() };
    if !graph.op_nodes().any(|n| called(graph, n).is_some()) {
        return report;
    }
    let passes: Vec<&LoweringPass> = LOWERING.iter().filter(|p| options.is_enabled(p.name)).collect();
    let mut reports: Vec<PassReport> =
        passes.iter().map(|p| PassReport { name: p.name, num_changes: 0, error: None, nodes: NodeChanges::default() }).collect();
    let mut recorder = ChangeRecorder::new(graph, options.records_nodes);
    let original = graph.clone();
    loop {
        let mut num_changes = 0;
        for (pass, report) in passes.iter().zip(&mut reports) {
            match (pass.run)(graph, &mut functions) {
                Ok(n) => {
                    (num_changes, report.num_changes) = (num_changes + n, report.num_changes + n);
                    if let Some(recorder) = recorder.as_mut().filter(|_| n > 0) {
                        report.nodes.extend(recorder.changes(graph));
                    }
                }
                Err(error) => report.error = Some(error),
            }
        }
        if num_changes == 0 || reports.iter().any(|r| r.error.is_some()) {
            break;
        }
    }
    let is_changed = reports.iter().any(|r| r.num_changes > 0);
    if is_changed && cfg!(debug_assertions) && reports.iter().all(|r| r.error.is_none()) {
        let checked = graph.validate().and_then(|()| ControlFlow::new(graph).map(|_| ()));
        if let (Err(error), Some(last)) = (checked, reports.last_mut()) {
            last.error = Some(error);
        }
    }
    if reports.iter().any(|r| r.error.is_some()) {
        *graph = original;
        reports.iter_mut().for_each(|r| (r.num_changes, r.nodes) = Default::default());
    }
    report.left = functions.left();
    report.passes = reports;
    report.num_nodes_after = graph.num_nodes();
    report
}

/// Runs a pass. Debug builds validate the graph afterwards.
fn run_checked(pass: &Pass, graph: &mut Graph, context: PassContext<'_>) -> Result<usize> {
    let PassContext { target, shapes, limit } = context;
    let num_changes = (pass.run)(graph, PassContext { target, shapes, limit })?;
    shapes.renew();
    if cfg!(debug_assertions) && num_changes > 0 {
        graph.validate()?;
    }
    Ok(num_changes)
}

/// Returns the graph after the passes that succeeded, by running them again. This happens rarely; a copy of the graph before each pass would cost
/// time in every run.
fn replay(original: &Graph, done: &[(&Pass, usize)], target: &dyn Target) -> Graph {
    let mut graph = original.clone();
    for &(pass, limit) in done {
        if (pass.run)(&mut graph, PassContext { target, shapes: &mut Shapes::default(), limit }).is_err() {
            return original.clone();
        }
    }
    graph
}
