//! Advice that follows from a profile.

use crate::profile::nodes::Profiler;
use crate::profile::options::{ProfileOptions, View};
use crate::profile::tree::Row;
use flowmill_proto::tfprof::AdviceProto;
use flowmill_proto::tfprof::advice_proto::Checker;
use std::fmt::Write;

/// The checkers, by TensorFlow's names.
const CHECKERS: [&str; 2] = ["AcceleratorUtilizationChecker", "ExpensiveOperationChecker"];
/// The rows of a report.
const ROWS: usize = 3;

impl Profiler {
    /// Returns the reports of checkers by their names, or of all of them if there are no names. Unknown checkers report nothing.
    pub fn advise(&self, names: &[String]) -> AdviceProto {
        let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
        let checker = |name: &str| {
            let reports = match name {
                "AcceleratorUtilizationChecker" => self.idle_accelerators(),
                _ => self.expensive_operations(),
            };
            (name.to_owned(), Checker { reports, ..Checker::default() })
        };
        let known = CHECKERS.into_iter().filter(|name| is_wanted(name)).map(checker);
        let unknown = names.iter().filter(|name| !CHECKERS.contains(&name.as_str())).map(|name| (name.clone(), Checker::default()));
        AdviceProto { checkers: known.chain(unknown).collect(), ..AdviceProto::default() }
    }

    /// Reports accelerators whose kernels run less than half of the time of a step.
    fn idle_accelerators(&self) -> Vec<String> {
        let total = |select: fn(&crate::profile::stats::Stats) -> u64| -> u64 {
            self.nodes.values().map(|node| select(&self.stats(node, -1))).fold(0, u64::saturating_add)
        };
        let (accelerators, cpus) = (total(|stats| stats.accelerator_nanos), total(|stats| stats.cpu_nanos));
        if accelerators == 0 || accelerators >= cpus {
            return Vec::new();
        }
        vec![format!("kernels on accelerators run {} us per step, nodes on CPUs {} us", accelerators / 1000, cpus / 1000)]
    }

    /// Reports the ops, scopes and lines that take longest.
    fn expensive_operations(&self) -> Vec<String> {
        let mut reports = Vec::new();
        for (view, title) in [(View::Op, "op"), (View::Scope, "scope"), (View::Code, "line")] {
            let profile = self.show(view, &ProfileOptions::time_and_memory());
            let root = &profile.tree.root;
            if root.total.nanos == 0 {
                continue;
            }
            let mut report = format!("top {ROWS} by {title}:");
            for Row { name, total, .. } in leaves(root, view).into_iter().take(ROWS) {
                let part = 100.0 * total.nanos as f64 / root.total.nanos as f64;
                let _ = write!(
                    report,
                    "\n{name}, cpu: {}us, accelerator: {}us, total: {}us ({part:.2}%)",
                    total.cpu_nanos / 1000,
                    total.accelerator_nanos / 1000,
                    total.nanos / 1000
                );
            }
            reports.push(report);
        }
        reports
    }
}

/// Returns the rows that are compared: the lines of code that made nodes themselves, otherwise the first level.
fn leaves(root: &Row, view: View) -> Vec<&Row> {
    fn collect<'a>(row: &'a Row, found: &mut Vec<&'a Row>) {
        if !row.members.is_empty() {
            found.push(row);
        }
        row.children.iter().for_each(|child| collect(child, found));
    }
    if view != View::Code {
        return root.children.iter().collect();
    }
    let mut found = Vec::new();
    collect(root, &mut found);
    found.sort_by_key(|row| std::cmp::Reverse(row.own.nanos));
    found
}
