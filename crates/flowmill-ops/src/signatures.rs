//! The ops of TensorFlow that no family declares.
//!
//! `signatures.txt` has a line for each, in the order of their names: name, signature, attributes and flags, separated by tabs, the middle two in the
//! grammar of declarations. A test writes it from TensorFlow's catalogue. Nothing is read before the first graph names one of these ops.

use flowmill_graph::{Catalogue, Deprecation, Effects, OpDef};
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock, OnceLock};

const TEXT: &str = include_str!("signatures.txt");

/// All lines, with the definitions made so far.
static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| TEXT.lines().map(|text| Line { text, definition: OnceLock::new() }).collect());

struct Line {
    text: &'static str,
    definition: OnceLock<Option<Arc<OpDef>>>,
}

impl Line {
    fn get(&self) -> Option<&Arc<OpDef>> {
        self.definition.get_or_init(|| definition(self.text).map(Arc::new)).as_ref()
    }
}

/// The catalogue.
#[derive(Debug)]
pub(crate) struct Signatures;

impl Catalogue for Signatures {
    fn get(&self, name: &str) -> Option<&Arc<OpDef>> {
        if !contains(name) {
            return None;
        }
        let place = LINES.binary_search_by(|line| name_of(line.text).cmp(name)).ok()?;
        LINES[place].get()
    }
}

/// Every definition, by name.
pub(crate) fn all() -> impl Iterator<Item = &'static OpDef> {
    LINES.iter().filter_map(|line| line.get().map(|def| &**def))
}

fn name_of(line: &str) -> &str {
    line.split('\t').next().unwrap_or_default()
}

/// Returns true if a line has this name. Searches the text itself, so that the names of functions, which are looked up often, cost no table.
fn contains(name: &str) -> bool {
    let (mut start, mut end) = (0, TEXT.len());
    while start < end {
        let middle = start + (end - start) / 2;
        let line_start = TEXT.as_bytes()[start..middle].iter().rposition(|byte| *byte == b'\n').map_or(start, |at| start + at + 1);
        let line_end = TEXT.as_bytes()[middle..end].iter().position(|byte| *byte == b'\n').map_or(end, |at| middle + at + 1);
        match name_of(&TEXT[line_start..line_end]).cmp(name) {
            Ordering::Equal => return true,
            Ordering::Less => start = line_end,
            Ordering::Greater => end = line_start,
        }
    }
    false
}

fn definition(line: &str) -> Option<OpDef> {
    let mut parts = line.split('\t');
    let (name, signature, attrs) = (parts.next()?, parts.next()?, parts.next()?);
    let mut def = crate::parse::definition(signature, attrs).ok()?;
    def.name = name.to_owned();
    for flag in parts.next()?.split_whitespace() {
        match flag.split_once('=') {
            Some(("deprecated", version)) => {
                def.deprecation = Some(Deprecation { version: version.parse().ok()?, explanation: "Newer ops do its work".to_owned() });
            }
            _ => match flag {
                "stateful" => def.traits.effects = Effects::State,
                "commutative" => def.is_commutative = true,
                "aggregate" => def.is_aggregate = true,
                "allows_uninitialized_input" => def.allows_uninitialized_input = true,
                _ => return None,
            },
        }
    }
    Some(def)
}
