//! Pictures of graphs for people: a page for the browser, and a tree of scopes as text.
//!
//! [`page`](fn@page) returns a self-contained HTML page of one or more graphs, such as a model before and after optimization. All work that depends on the
//! size of the graph is done here: names become a tree of scopes, similar siblings a [series](MIN_SERIES), edges are summed by scope, constants and
//! other [hubs](MIN_NEIGHBOURS) are put beside, and each scope is [laid out](layout) with its children closed. The page unpacks a scope when it is opened,
//! moves its neighbours aside, and draws what is visible.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod arrange;
mod blocks;
mod details;
mod facets;
mod facts;
mod flat;
mod hubs;
pub mod layout;
mod meta_edges;
mod notes;
mod page;
mod scope_tree;
mod series;
mod step;
mod text;
mod totals;
mod view_data;

pub use details::{MAX_ATTRIBUTE_LETTERS, MAX_TENSORS};
pub use facts::{Change, Facts, NodeCost};
pub use hubs::MIN_NEIGHBOURS;
pub use page::page;
pub use scope_tree::MAX_DEPTH;
pub use series::MIN_SERIES;
pub use step::step_page;
pub use text::{TreeOptions, TreeRow, tree, tree_html, tree_text};
pub use totals::Totals;

use flowmill_graph::Graph;

/// One graph of a page.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The name in the page's list.
    pub name: &'a str,
    /// A sentence about the graph.
    pub about: &'a str,
    /// The graph. The functions of its library are drawn as well.
    pub graph: &'a Graph,
    /// Facts about its nodes.
    pub facts: &'a Facts,
    /// The passes that made the graph, with their numbers of changes.
    pub passes: &'a [(String, usize)],
}
