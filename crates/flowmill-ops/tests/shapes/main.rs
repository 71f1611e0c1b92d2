//! Shape functions against TensorFlow: each `.txt` file here holds expressions with what TensorFlow infers for them (written by `expect.py`).
#![allow(clippy::unwrap_used, clippy::panic)]

mod expression;

use expression::Parser;
use std::collections::BTreeSet;
use std::path::Path;

/// `expression -> result`: the shapes of all outputs of the outermost op, or the error, which may say more than TensorFlow's.
fn check(case: &str) -> Result<(), String> {
    let (text, expected) = case.split_once(" -> ").ok_or_else(|| format!("{case}\n  lacks what TensorFlow says: run expect.py"))?;
    let actual = match Parser::new(text).expression() {
        Err(e) => format!("error: {}", e.message()),
        Ok(outputs) if outputs.is_empty() => "()".to_owned(),
        Ok(outputs) => outputs.iter().map(|(_, v)| v.shape.to_string().replace("<unknown>", "?")).collect::<Vec<_>>().join(" "),
    };
    let (actual, expected) = (actual.replace("\n", " "), expected.trim());
    let same = if expected.starts_with("error:") { actual.starts_with(expected) } else { actual == expected };
    if same { Ok(()) } else { Err(format!("{text}\n  TensorFlow {expected}\n  Flowmill   {actual}")) }
}

/// The case files' names and texts.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shapes");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "txt")).collect();
    files.sort();
    files.into_iter().map(|p| (p.file_name().unwrap().display().to_string(), std::fs::read_to_string(p).unwrap())).collect()
}

#[test]
fn shapes_are_tensorflows() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (file, text) in files() {
        for case in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            count += 1;
            wrong.extend(check(case).err().map(|e| format!("{file}: {e}")));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Ops that TensorFlow itself no longer lets into new graphs cannot be asked about.
#[test]
fn every_op_has_a_case() {
    let used: BTreeSet<String> = files().iter().flat_map(|(_, text)| ops_in(text)).collect();
    // What is expected is TensorFlow's, which has no ops of the project's own. Tests of their kernels hold their shapes to those of the results.
    let without: Vec<_> = flowmill_ops::declarations()
        .filter(|&(family, op)| family != flowmill_ops::OWN && !op.name().starts_with(flowmill_ops::NAMESPACE))
        .filter_map(|(_, op)| op.definition().ok())
        .filter(|def| def.deprecation.is_none() && !used.contains(&def.name))
        .map(|def| def.name)
        .collect();
    // Constants are written as such. The statistics are ops of `tf.contrib`, which TensorFlow no longer registers.
    assert_eq!(without, ["Const", "BytesInUse", "BytesLimit", "MaxBytesInUse"]);
}

/// The words before a parenthesis or a brace.
fn ops_in(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(['(', '{']).map(|(at, _)| text[..at].rsplit(|c| !is_name(c)).next().unwrap_or("").to_owned()).collect()
}
