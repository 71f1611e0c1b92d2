//! The tree of name scopes of a graph.

use crate::flat::{FUNCTIONS, FlatGraph};
use flowmill_graph::FxHashMap;

/// Names are split at no more slashes: the rest belongs to the last part.
pub const MAX_DEPTH: usize = 64;

/// The number of a scope in its tree. The root is 0.
pub(crate) type ScopeId = u32;

/// The root of every tree.
pub(crate) const ROOT: ScopeId = 0;

/// The kind of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    /// Names that begin with the same parts.
    Names,
    /// The body of a function of the library.
    Function,
    /// Similar siblings: see [`crate::series`].
    Series,
}

/// A child of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Child {
    /// A node, by its number.
    Node(u32),
    /// A scope.
    Scope(ScopeId),
}

/// One scope.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The part of its nodes' names. Parts of scopes without other children are joined by slashes.
    pub(crate) name: String,
    /// The kind.
    pub(crate) kind: ScopeKind,
    /// The scope around it. The root is its own parent.
    pub(crate) parent: ScopeId,
    /// The nodes, then the scopes, each in the order of the graph.
    pub(crate) children: Vec<Child>,
}

/// The scopes of a graph. Parents have smaller numbers than their children, except series.
#[derive(Clone, Debug)]
pub(crate) struct ScopeTree {
    pub(crate) scopes: Vec<Scope>,
    /// The scope of each node, and its place among the children.
    pub(crate) places: Vec<(ScopeId, u32)>,
    /// True for each node that has the name of its scope.
    is_own: Vec<bool>,
    /// The number of scopes around each scope.
    pub(crate) depths: Vec<u32>,
    /// The place of each scope among its parent's children.
    pub(crate) places_of_scopes: Vec<u32>,
}

impl ScopeTree {
    /// Splits the names of all nodes at slashes. A node that has the name of a scope is in that scope. `functions` are roots below a scope of their own.
    pub(crate) fn new(flat: &FlatGraph<'_>) -> ScopeTree {
        let mut builder = Builder { scopes: vec![scope("", ScopeKind::Names, ROOT)], known: FxHashMap::default() };
        let mut parents = Vec::with_capacity(flat.nodes.len());
        let roots: Vec<ScopeId> = flat
            .parts
            .iter()
            .map(|part| match &part.function {
                Some(name) => {
                    let functions = builder.child(ROOT, FUNCTIONS, ScopeKind::Names);
                    builder.child(functions, name, ScopeKind::Function)
                }
                None => ROOT,
            })
            .collect();
        for number in 0..flat.nodes.len() as u32 {
            let name = flat.node(number).1.name();
            let mut parent = roots[flat.nodes[number as usize].part as usize];
            for part in scopes_of(name) {
                parent = builder.child(parent, part, ScopeKind::Names);
            }
            parents.push(parent);
        }
        let mut is_own = vec![false; parents.len()];
        for (number, parent) in parents.iter_mut().enumerate() {
            let last = last_part(flat.node(number as u32).1.name());
            if let Some(&own) = builder.known.get(&(*parent, last.to_owned())) {
                (*parent, is_own[number]) = (own, true);
            }
        }
        let mut scopes = builder.scopes;
        for (number, &parent) in parents.iter().enumerate() {
            scopes[parent as usize].children.push(Child::Node(number as u32));
        }
        for id in 1..scopes.len() as u32 {
            let parent = scopes[id as usize].parent;
            scopes[parent as usize].children.push(Child::Scope(id));
        }
        join_chains(&mut scopes);
        let mut tree =
            ScopeTree { scopes, places: vec![(ROOT, 0); flat.nodes.len()], is_own, depths: Vec::new(), places_of_scopes: Vec::new() };
        tree.number();
        tree
    }

    /// Numbers the children after a change of the scopes.
    pub(crate) fn number(&mut self) {
        let n = self.scopes.len();
        (self.depths, self.places_of_scopes) = (vec![0; n], vec![0; n]);
        for id in self.preorder() {
            let depth = self.depths[id as usize] + 1;
            for (place, child) in self.scopes[id as usize].children.iter().enumerate() {
                match *child {
                    Child::Node(node) => self.places[node as usize] = (id, place as u32),
                    Child::Scope(child) => {
                        (self.depths[child as usize], self.places_of_scopes[child as usize]) = (depth, place as u32);
                    }
                }
            }
        }
    }

    /// Returns the scopes that are reached from the root, each before its children.
    pub(crate) fn preorder(&self) -> Vec<ScopeId> {
        let (mut order, mut stack) = (Vec::with_capacity(self.scopes.len()), vec![ROOT]);
        while let Some(id) = stack.pop() {
            order.push(id);
            stack.extend(self.scopes[id as usize].children.iter().rev().filter_map(|child| match child {
                Child::Scope(child) => Some(*child),
                Child::Node(_) => None,
            }));
        }
        order
    }

    /// Returns the innermost scope around both.
    pub(crate) fn common(&self, mut a: ScopeId, mut b: ScopeId) -> ScopeId {
        while a != b {
            if self.depths[a as usize] >= self.depths[b as usize] {
                a = self.scopes[a as usize].parent;
            } else {
                b = self.scopes[b as usize].parent;
            }
        }
        a
    }

    /// Returns the name that a node has in its scope: the last part, in parentheses if it is the scope's name.
    pub(crate) fn label(&self, flat: &FlatGraph<'_>, node: u32) -> String {
        let last = last_part(flat.node(node).1.name());
        if self.is_own[node as usize] { format!("({last})") } else { last.to_owned() }
    }
}

fn scope(name: &str, kind: ScopeKind, parent: ScopeId) -> Scope {
    Scope { name: name.to_owned(), kind, parent, children: Vec::new() }
}

fn scopes_of(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    let parts: Vec<&str> = name.splitn(MAX_DEPTH + 1, '/').collect();
    let n = parts.len() - 1;
    parts.into_iter().take(n)
}

fn last_part(name: &str) -> &str {
    name.splitn(MAX_DEPTH + 1, '/').last().unwrap_or(name)
}

struct Builder {
    scopes: Vec<Scope>,
    known: FxHashMap<(ScopeId, String), ScopeId>,
}

impl Builder {
    fn child(&mut self, parent: ScopeId, name: &str, kind: ScopeKind) -> ScopeId {
        if let Some(&id) = self.known.get(&(parent, name.to_owned())) {
            return id;
        }
        let id = self.scopes.len() as ScopeId;
        self.scopes.push(scope(name, kind, parent));
        self.known.insert((parent, name.to_owned()), id);
        id
    }
}

/// Joins each scope whose only child is a scope of names with that child.
fn join_chains(scopes: &mut [Scope]) {
    // Children have greater numbers, so each chain is joined from its lower end.
    for id in (1..scopes.len()).rev() {
        let [Child::Scope(only)] = scopes[id].children[..] else { continue };
        if scopes[id].kind != ScopeKind::Names || scopes[only as usize].kind != ScopeKind::Names || scopes[id].name == FUNCTIONS {
            continue;
        }
        let children = std::mem::take(&mut scopes[only as usize].children);
        for child in &children {
            if let Child::Scope(child) = child {
                scopes[*child as usize].parent = id as ScopeId;
            }
        }
        scopes[id].name = format!("{}/{}", scopes[id].name, scopes[only as usize].name);
        scopes[id].children = children;
    }
}
