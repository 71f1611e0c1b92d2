//! Shape functions against TensorFlow: each `.txt` file here holds expressions with what TensorFlow infers for them (written by `expect.py`).
#![allow(clippy::unwrap_used, clippy::panic)]

mod expression;

use expression::Parser;
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

#[test]
fn shapes_are_tensorflows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shapes");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "txt")).collect();
    files.sort();
    assert!(files.len() >= 5);
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in files {
        for case in std::fs::read_to_string(&file).unwrap().lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            count += 1;
            wrong.extend(check(case).err().map(|e| format!("{}: {e}", file.file_name().unwrap().display())));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
