//! A profile as text.

use crate::profile::options::{ProfileOptions, View};
use crate::profile::show::ShownTree;
use crate::profile::stats::Stats;
use crate::profile::tree::Row;
use flowmill_tensor::PartialShape;
use std::fmt::Write;

/// A column: the name of the option, its title, and its value as text.
type Column = (&'static str, &'static str, fn(&Stats) -> String);

const COLUMNS: [Column; 9] = [
    ("params", "# parameters", |stats| format!("{} params", number(stats.parameters))),
    ("float_ops", "# float_ops", |stats| format!("{} flops", number(stats.float_ops))),
    ("bytes", "requested bytes", |stats| memory(stats.requested_bytes)),
    ("peak_bytes", "peak bytes", |stats| memory(stats.peak_bytes)),
    ("residual_bytes", "residual bytes", |stats| memory(stats.residual_bytes)),
    ("output_bytes", "output bytes", |stats| memory(stats.output_bytes)),
    ("micros", "total execution time", |stats| time(stats.nanos)),
    ("accelerator_micros", "accelerator execution time", |stats| time(stats.accelerator_nanos)),
    ("cpu_micros", "cpu execution time", |stats| time(stats.cpu_nanos)),
];

/// Returns the rows as lines: a tree, or a table with the share of each op.
pub(crate) fn text(tree: &ShownTree, view: View, options: &ProfileOptions) -> String {
    let columns: Vec<&Column> = COLUMNS.iter().filter(|(name, ..)| is_selected(name, options)).collect();
    let mut titles: Vec<&str> = columns.iter().map(|(_, title, _)| *title).collect();
    let others = [
        ("device", "assigned devices"),
        ("op_types", "op types"),
        ("occurrence", "op count (run|defined)"),
        ("input_shapes", "input shapes"),
    ];
    titles.extend(others.into_iter().filter(|(name, _)| options.shows(name)).map(|(_, title)| title));
    let mut text = format!("node name | {}\n", titles.join(" | "));
    if view == View::Op {
        tree.root.children.iter().for_each(|row| write_op(&mut text, row, &tree.root, &columns, options));
    } else {
        write_row(&mut text, &tree.root, 0, &columns, options);
    }
    text
}

/// The option `micros` shows the times of accelerators and CPUs too.
fn is_selected(column: &str, options: &ProfileOptions) -> bool {
    options.shows(column) || (matches!(column, "accelerator_micros" | "cpu_micros") && options.shows("micros"))
}

fn write_row(text: &mut String, row: &Row, indent: usize, columns: &[&Column], options: &ProfileOptions) {
    let mut facts: Vec<String> = Vec::new();
    for (name, _, value) in columns {
        if let ("params", [shape]) = (*name, &row.output_shapes[..])
            && row.own.parameters > 0
        {
            facts.push(shape_text(shape));
        }
        let own = if row.is_accounted { value(&row.own) } else { "--".to_owned() };
        let own = own.strip_suffix(" params").or_else(|| own.strip_suffix(" flops")).unwrap_or(&own);
        facts.push(format!("{own}/{}", value(&row.total)));
    }
    facts.extend(other_facts(row, options));
    let _ = writeln!(text, "{:indent$}{} ({})", "", row.name, facts.join(", "));
    row.children.iter().for_each(|child| write_row(text, child, indent + 2, columns, options));
}

fn write_op(text: &mut String, row: &Row, root: &Row, columns: &[&Column], options: &ProfileOptions) {
    let mut facts = Vec::new();
    for (name, _, value) in columns {
        let part = match number_of(name, &root.total) {
            0 => 0.0,
            total => 100.0 * number_of(name, &row.total) as f64 / total as f64,
        };
        facts.push(format!("{:>24}", format!("{} ({part:.2}%)", value(&row.total))));
    }
    facts.extend(other_facts(row, options));
    let _ = writeln!(text, "{:<25}{}", row.name, facts.join(", "));
}

fn number_of(column: &str, stats: &Stats) -> u64 {
    match column {
        "params" => stats.parameters,
        "float_ops" => stats.float_ops,
        "bytes" => stats.requested_bytes,
        "peak_bytes" => stats.peak_bytes,
        "residual_bytes" => stats.residual_bytes,
        "output_bytes" => stats.output_bytes,
        "accelerator_micros" => stats.accelerator_nanos,
        "cpu_micros" => stats.cpu_nanos,
        _ => stats.nanos,
    }
}

fn other_facts(row: &Row, options: &ProfileOptions) -> Vec<String> {
    let join = |names: &std::collections::BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join("|");
    let mut facts = Vec::new();
    if options.shows("device") && !row.devices.is_empty() {
        facts.push(join(&row.devices));
    }
    if options.shows("op_types") {
        facts.push(join(&row.types));
    }
    if options.shows("occurrence") {
        facts.push(format!("{}|{}", number(row.total.runs), number(row.total.definitions)));
    }
    if options.shows("input_shapes") {
        let shapes = row.input_shapes.iter().enumerate().map(|(i, shape)| format!("{i}:{}", shape_text(shape)));
        facts.push(shapes.collect::<Vec<_>>().join("|"));
    }
    facts
}

fn shape_text(shape: &PartialShape) -> String {
    shape.dims().map_or("unknown".to_owned(), |dims| dims.iter().map(i64::to_string).collect::<Vec<_>>().join("x"))
}

fn scaled(value: u64, units: &[(f64, &str)], plain: &str) -> String {
    match units.iter().find(|(unit, _)| value as f64 >= *unit) {
        Some((unit, name)) => format!("{:.2}{name}", value as f64 / unit),
        None => format!("{value}{plain}"),
    }
}

fn number(value: u64) -> String {
    scaled(value, &[(1e9, "b"), (1e6, "m"), (1e3, "k")], "")
}

fn memory(bytes: u64) -> String {
    scaled(bytes, &[(1e6, "MB"), (1e3, "KB")], "B")
}

fn time(nanos: u64) -> String {
    if nanos < 1_000_000 { format!("{}us", nanos / 1000) } else { scaled(nanos, &[(1e9, "sec"), (1e6, "ms")], "ns") }
}
