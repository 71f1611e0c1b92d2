//! Selects and sorts the rows of a view.

use crate::profile::options::{Patterns, ProfileOptions, View};
use crate::profile::stats::Stats;
use crate::profile::tree::Row;

/// The rows that are shown.
pub(crate) struct ShownTree {
    pub(crate) root: Row,
}

/// Applies the options to a tree: counts the rows of the accounted types, begins at the start names, leaves out what is filtered, and sorts.
pub(crate) fn show(mut root: Row, view: View, options: &ProfileOptions) -> ShownTree {
    let rows = account(std::mem::take(&mut root.children), view, options);
    root.total = sum(&rows);
    let rows = if options.start_names.is_all() { rows } else { starts(rows, &options.start_names) };
    let mut rows = shown(rows, 1, options);
    sort(&mut rows, options);
    if options.message.account_displayed_op_only {
        root.total = sum(&rows);
    }
    root.children = rows;
    ShownTree { root }
}

fn sum(rows: &[Row]) -> Stats {
    let mut total = Stats::default();
    rows.iter().for_each(|row| total.add(row.total));
    total
}

/// Keeps the rows of accounted types, and those above them. In the view by dataflow, rows below one that is left out take its place.
fn account(rows: Vec<Row>, view: View, options: &ProfileOptions) -> Vec<Row> {
    let mut kept = Vec::new();
    for mut row in rows {
        let children = account(std::mem::take(&mut row.children), view, options);
        if !options.account_types.is_all() && !row.members.is_empty() {
            row.members.retain(|member| member.types.iter().any(|name| options.account_types.matches(name)));
            row.own = Stats::default();
            row.members.iter().for_each(|member| row.own.add(member.own));
        }
        row.is_accounted = options.account_types.is_all() || row.types.iter().any(|name| options.account_types.matches(name));
        if !row.is_accounted {
            row.own = Stats::default();
        }
        if !row.is_accounted && view == View::Graph {
            kept.extend(children);
        } else if row.is_accounted || !children.is_empty() {
            row.total = row.own;
            row.total.add(sum(&children));
            row.children = children;
            kept.push(row);
        }
    }
    kept
}

/// Returns the first rows on each path from the root whose names match.
fn starts(rows: Vec<Row>, patterns: &Patterns) -> Vec<Row> {
    let mut found = Vec::new();
    for row in rows {
        if patterns.matches(&row.name) { found.push(row) } else { found.extend(starts(row.children, patterns)) }
    }
    found
}

/// Leaves out rows that are filtered; rows below them take their place.
fn shown(rows: Vec<Row>, level: i64, options: &ProfileOptions) -> Vec<Row> {
    let mut kept = Vec::new();
    for mut row in rows {
        let is_shown = is_shown(&row, level, options);
        let is_deep = level > options.message.max_depth || options.trim_names.matches(&row.name);
        let inner = std::mem::take(&mut row.children);
        let mut children = if is_deep { Vec::new() } else { shown(inner, level + 1, options) };
        if is_shown {
            sort(&mut children, options);
            if options.message.account_displayed_op_only {
                row.total = row.own;
                row.total.add(sum(&children));
            }
            row.children = children;
            kept.push(row);
        } else {
            kept.extend(children);
        }
    }
    kept
}

fn is_shown(row: &Row, level: i64, options: &ProfileOptions) -> bool {
    let (total, own, limits) = (&row.total, &row.own, &options.message);
    let at_least = |value: u64, limit: i64| i64::try_from(value).unwrap_or(i64::MAX) >= limit;
    let is_large = at_least(total.requested_bytes, limits.min_bytes)
        && at_least(total.peak_bytes, limits.min_peak_bytes)
        && at_least(total.residual_bytes, limits.min_residual_bytes)
        && at_least(total.output_bytes, limits.min_output_bytes)
        && at_least(total.nanos / 1000, limits.min_micros)
        && at_least(total.accelerator_nanos / 1000, limits.min_accelerator_micros)
        && at_least(total.cpu_nanos / 1000, limits.min_cpu_micros)
        && at_least(own.parameters, limits.min_params)
        && at_least(own.float_ops, limits.min_float_ops)
        && at_least(if row.members.is_empty() { own.runs } else { row.members.len() as u64 }, limits.min_occurrence);
    is_large && level <= limits.max_depth && options.show_names.matches(&row.name) && !options.hide_names.matches(&row.name)
}

fn sort(rows: &mut [Row], options: &ProfileOptions) {
    let key = |row: &Row| {
        let total = &row.total;
        match options.message.order_by.as_str() {
            "bytes" => total.requested_bytes,
            "peak_bytes" => total.peak_bytes,
            "residual_bytes" => total.residual_bytes,
            "output_bytes" => total.output_bytes,
            "micros" => total.nanos,
            "accelerator_micros" => total.accelerator_nanos,
            "cpu_micros" => total.cpu_nanos,
            "params" => total.parameters,
            "float_ops" => total.float_ops,
            "occurrence" => row.members.len() as u64,
            _ => 0,
        }
    };
    rows.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
}
