use super::{compare, extract, findings};

/// Returns the reasons of a file's findings with their lines: `3: reason`.
fn found(path: &str, text: &str) -> Vec<String> {
    findings(path, text).iter().map(|finding| finding.strip_prefix(&format!("{path}:")).unwrap().to_owned()).collect()
}

#[track_caller]
fn finds(path: &str, text: &str, expected: &[&str]) {
    let found = found(path, text);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (finding, part) in found.iter().zip(expected) {
        assert!(finding.contains(part), "{finding} does not contain {part}");
    }
}

#[test]
fn fragments_at_the_beginning_of_doc_comments() {
    finds("a.rs", "//! Which ops there are.\n\n/// Whether `x` is finite.\nfn f() {}\n", &["1: ", "3: "]);
    finds("a.rs", "struct S {\n    /// The same, with options.\n    a: u8,\n}\n", &["2: a first line that begins with \"The same\""]);
    finds("a.rs", "/// Returns true if `x` is finite.\n/// What is left has no sign.\nfn f() {}\n", &[]);
    finds("a.rs", "// Whether this is a doc comment: it is not.\n//// Nor is this.\n", &[]);
}

#[test]
fn openings_are_whole_words() {
    finds("a.rs", "/// Assigns `x`.\n/// Lettuce.\nfn f() {}\n\n/// Whatever.\nfn g() {}\n", &[]);
    finds("a.rs", "/// As, say, `f`.\n", &["\"As\""]);
}

#[test]
fn fragments_at_the_beginning_of_docstrings() {
    let text = "\"\"\"What it is.\"\"\"\n\ndef f(\n    x,\n):\n    r\"\"\"Gives `x`.\n\n    As it is.\n    \"\"\"\n    return '''What is not a docstring'''\n";
    finds("a.py", text, &["1: ", "6: "]);
    finds("a.py", "x = 1\n\"\"\"What is a string by itself.\"\"\"\n", &[]);
    finds("a.py", "def f():  # noqa: X1 - a reason.\n    \"\"\"How it is.\"\"\"\n", &["2: "]);
    finds("a.py", "def f():\n    # A comment.\n    '''Which one.'''\n", &["3: "]);
}

#[test]
fn errors_that_only_refer() {
    let doc = |errors: &str| format!("/// Runs `f`.\n///\n/// # Errors\n/// {errors}\nfn f() {{}}\n");
    finds("a.rs", &doc("Those of [`g`]."), &["4: `# Errors` begins with \"Those\""]);
    finds("a.rs", &doc("As [`g`]."), &["\"As\""]);
    finds("a.rs", &doc("Those of [`g`], and\n/// `NotFound` for other names."), &[]);
    finds("a.rs", &doc("`NotFound` if there is no `x`."), &[]);
    finds("a.rs", &doc("Returns the error of `f`."), &[]);
}

#[test]
fn things_that_stand_in_places() {
    finds("a.md", "A function stands in its file.\n", &["1: \"stands\""]);
    finds("a.rs", "/// Runs all that\n/// may stand\n/// beside it.\n", &["2: \"stand\""]);
    finds("a.md", "A `stand_in`, and a standing order.\n```\nIt stands in code.\n```\n", &[]);
}

#[test]
fn rates_are_per_something() {
    finds("a.md", "It takes 12 ns a node, 3 bytes an edge; once a step.\n", &["per node", "per edge", "per step"]);
    finds("a.md", "Some ns a node. It takes 3 ms. A node is run once, a step twice.\n", &[]);
}

#[test]
fn exceptions_allow_exactly_what_there_is() {
    let found = vec![("a/b.rs".to_owned(), vec!["a/b.rs:1: x".to_owned(), "a/b.rs:2: y".to_owned()])];
    assert_eq!(compare(&found, &[]), ["a/b.rs:1: x", "a/b.rs:2: y"]);
    assert_eq!(compare(&found, &[("a/b.rs", 2)]), Vec::<String>::new());
    assert_eq!(compare(&found, &[("a", 2)]), Vec::<String>::new());
    let more = compare(&found, &[("a", 1)]);
    assert_eq!((more.len(), more[0].as_str()), (3, "a/b.rs:1: x"));
    assert!(compare(&found, &[("a", 3)])[0].contains("lower its count"));
    assert!(compare(&[], &[("a/c.rs", 1)])[0].contains("lower its count"));
    assert_eq!(compare(&found, &[("a/b", 2)]), Vec::<String>::new(), "a module may be a file");
    assert_eq!(compare(&found, &[("a/", 2)]).len(), 3);
    let other = vec![("a/bc.rs".to_owned(), vec!["a/bc.rs:1: x".to_owned()])];
    assert_eq!(compare(&other, &[("a/b", 1)]).len(), 2, "a name is not the beginning of another");
}

#[test]
fn a_docstring_of_several_lines_is_one_document() {
    let docs = extract::python("class C:\n    \"\"\"A class.\n\n    More.\"\"\"\n");
    assert_eq!(docs, [extract::Doc { line: 2, lines: vec!["A class.".into(), String::new(), "More.".into()] }]);
}
