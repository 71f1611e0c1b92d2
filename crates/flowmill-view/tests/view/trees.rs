//! Trees of scopes as text.

use crate::{REGISTRY, graph, layers};
use flowmill_graph::Graph;
use flowmill_view::{Facts, TreeOptions, tree, tree_html, tree_text};

fn text(graph: &Graph, options: TreeOptions) -> String {
    tree_text(&tree(graph, &Facts::default(), &options))
}

/// Returns the names of all rows, indented by their depths.
fn outline(graph: &Graph) -> Vec<String> {
    let options = TreeOptions { max_depth: 10, lists_nodes: true, ..TreeOptions::default() };
    tree(graph, &Facts::default(), &options).iter().map(|row| format!("{}{}", " ".repeat(row.depth), row.name)).collect()
}

#[test]
fn nodes_are_in_the_scopes_of_their_names() {
    let graph = graph("a/x = Placeholder() {dtype=f32}\na/b/y = Neg(a/x)\na/b/z = Neg(a/b/y)\nu = Neg(a/b/z)\n");
    assert_eq!(outline(&graph), ["", " a", "  b", "   y", "   z", "  x", " u"]);
}

#[test]
fn a_node_with_the_name_of_a_scope_is_in_it() {
    let graph = graph("a = Placeholder() {dtype=f32}\na/b = Neg(a)\nb/b = Neg(a)\nb/c = Neg(a)\n");
    assert_eq!(outline(&graph), ["", " a", "  (a)", "  b", " b", "  b", "  c"]);
}

#[test]
fn scopes_without_other_children_are_joined() {
    let graph = graph("a/b/c/x = Placeholder() {dtype=f32}\na/b/c/y = Neg(a/b/c/x)\n");
    assert_eq!(outline(&graph), ["", " a/b/c", "  x", "  y"]);
}

#[test]
fn similar_siblings_are_a_series() {
    let rows = tree(&layers(6), &Facts::default(), &TreeOptions { max_depth: 3, ..TreeOptions::default() });
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        ["", "net", "layer_0", "layer_1", "layer_2", "layer_3", "layer_4", "layer_5"],
        "a scope that is one series is not grouped"
    );
    let mut with_head = layers(6).to_string();
    with_head.push_str("net/head = Neg(net/layer_5/out)\n");
    let rows = tree(&graph(&with_head), &Facts::default(), &TreeOptions { max_depth: 2, ..TreeOptions::default() });
    assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["", "net", "layer[0…5]"]);
    assert_eq!(rows[2].totals.num_nodes, 36);
}

#[test]
fn nodes_of_a_chain_are_no_series() {
    let mut text = String::from("x = Placeholder() {dtype=f32}\nNeg = Neg(x)\n");
    for i in 1..8 {
        text.push_str(&format!("Neg_{i} = Neg(Neg{})\n", if i == 1 { String::new() } else { format!("_{}", i - 1) }));
    }
    assert_eq!(tree(&graph(&text), &Facts::default(), &TreeOptions::default()).len(), 1);
}

#[test]
fn sums_are_those_of_the_nodes() {
    let rows = tree(&layers(2), &Facts::default(), &TreeOptions { max_depth: 3, ..TreeOptions::default() });
    let [root, net, first, second] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((root.totals.num_nodes, net.totals.num_nodes, first.totals.num_nodes), (13, 12, 6));
    assert_eq!(first.totals.resident_bytes, (16 + 4) * 4);
    assert!(first.totals.operations >= 2.0 * 4.0 * 4.0);
    assert_eq!(net.totals.operations, first.totals.operations + second.totals.operations);
    assert_eq!(first.ops[0], ("AddV2".to_owned(), 2));
}

#[test]
fn measured_times_have_a_column() {
    let mut facts = Facts::default();
    facts.add_execution("net/layer_0/product", "/device:CPU:0", 2_500_000, 64);
    facts.add_execution("net/layer_0/product", "/device:CPU:0", 500_000, 64);
    let text = tree_text(&tree(&layers(1), &facts, &TreeOptions::default()));
    assert!(text.lines().next().unwrap().contains(" time "), "{text}");
    assert!(text.lines().nth(1).unwrap().contains("3.0 ms"), "{text}");
}

#[test]
fn children_beyond_the_limit_are_counted() {
    let options = TreeOptions { max_depth: 2, max_children: 2, lists_nodes: false };
    let text = text(&layers(4), options);
    assert!(text.contains("… 2 more children"), "{text}");
}

#[test]
fn an_empty_graph_has_one_row() {
    let empty = Graph::new(REGISTRY.clone());
    let rows = tree(&empty, &Facts::default(), &TreeOptions::default());
    assert_eq!(rows.len(), 1);
    assert_eq!(tree_text(&rows).lines().count(), 2);
}

#[test]
fn html_is_balanced_and_escaped() {
    let html = tree_html("<img src=x> & co", &tree(&layers(3), &Facts::default(), &TreeOptions::default()));
    assert!(!html.contains("<img") && html.contains("&lt;img src=x&gt; &amp; co"));
    assert_eq!(html.matches("<details").count(), html.matches("</details>").count());
    assert_eq!(html.matches("<div").count(), html.matches("</div>").count());
}

#[test]
fn very_deep_names_end() {
    let name = vec!["s"; 3000].join("/");
    let graph = graph(&format!("{name}/x = Placeholder() {{dtype=f32}}\n{name}/y = Neg({name}/x)\n"));
    assert!(text(&graph, TreeOptions { max_depth: 100, lists_nodes: true, max_children: 10 }).lines().count() < 200);
}
