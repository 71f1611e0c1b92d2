//! The page: markup, style sheet and script, with the data of the graphs.

use crate::View;
use crate::blocks::Blocks;
use crate::view_data::{self, ViewSummary};
use flowmill_cost::{COLOURS, OTHER_COLOUR};
use serde::Serialize;
use std::fmt::Write;

const MARKUP: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/page.css");

/// The modules of the script, each after those that it imports.
const MODULES: [&str; 15] = [
    include_str!("../page/format.js"),
    include_str!("../page/data.js"),
    include_str!("../page/geometry.js"),
    include_str!("../page/shapes.js"),
    include_str!("../page/filter.js"),
    include_str!("../page/colours.js"),
    include_str!("../page/draw_edges.js"),
    include_str!("../page/draw.js"),
    include_str!("../page/tree.js"),
    include_str!("../page/pane.js"),
    include_str!("../page/pointer.js"),
    include_str!("../page/search.js"),
    include_str!("../page/panel.js"),
    include_str!("../page/state.js"),
    include_str!("../page/main.js"),
];

#[derive(Serialize)]
struct Contents<'a> {
    title: &'a str,
    views: Vec<ViewSummary>,
}

/// Returns a self-contained HTML page that shows the views. The page loads nothing from elsewhere.
pub fn page(title: &str, views: &[View<'_>]) -> String {
    let mut blocks = Blocks::default();
    let summaries = views.iter().enumerate().map(|(i, view)| view_data::write(view, &format!("v{i}"), &mut blocks)).collect();
    blocks.add_json("contents", &Contents { title, views: summaries });
    let parts = [("{{title}}", escape(title)), ("{{style}}", style()), ("{{data}}", blocks.into_markup()), ("{{script}}", script())];
    let mut page = String::new();
    let mut rest = MARKUP;
    for (name, text) in parts {
        let Some((before, after)) = rest.split_once(name) else { continue };
        page.push_str(before);
        page.push_str(&text);
        rest = after;
    }
    page + rest
}

/// Returns the style sheet with the palette as properties.
fn style() -> String {
    let named = COLOURS.iter().enumerate().map(|(i, colour)| format!("--c{i}: {colour}; ")).collect::<String>();
    format!(":root {{ {named}--c-other: {OTHER_COLOUR}; }}\n{STYLE}")
}

/// Joins the modules to one script. Imports name modules that are part of it, so they are left out.
fn script() -> String {
    let mut script = String::new();
    for line in MODULES.iter().flat_map(|module| module.lines()) {
        if !line.starts_with("import ") {
            let _ = writeln!(script, "{}", line.strip_prefix("export ").unwrap_or(line));
        }
    }
    script
}

/// Returns text as the content of an element.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
