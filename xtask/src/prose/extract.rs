//! Finds the documentation in source files.

/// One doc comment, docstring or paragraph of a page.
#[derive(Debug, PartialEq)]
pub struct Doc {
    /// The number of its first line in the file, counted from 1.
    pub line: usize,
    /// Its lines without comment signs, quotes and surrounding blanks.
    pub lines: Vec<String>,
}

/// Returns the doc comments of Rust code: runs of lines that begin with `///` or with `//!`.
pub fn rust(text: &str) -> Vec<Doc> {
    let mut docs: Vec<Doc> = Vec::new();
    let mut previous = None;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        let sign = ["///", "//!"].into_iter().find(|sign| line.starts_with(sign) && !line.starts_with("////"));
        if let Some(sign) = sign {
            let content = line[sign.len()..].trim().to_owned();
            match docs.last_mut() {
                Some(doc) if previous == Some(sign) => doc.lines.push(content),
                _ => docs.push(Doc { line: i + 1, lines: vec![content] }),
            }
        }
        previous = sign;
    }
    docs.iter_mut().for_each(drop_code);
    docs
}

/// Returns the docstrings of Python code: strings in three quotes with which a module, class or function begins.
pub fn python(text: &str) -> Vec<Doc> {
    let mut docs = Vec::new();
    let mut may_begin = true;
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let quotes = ["\"\"\"", "'''"].into_iter().find(|q| line.trim_start_matches('r').starts_with(q));
        let Some(quotes) = quotes else {
            may_begin = line.split("  #").next().is_some_and(|code| code.trim_end().ends_with(':'));
            continue;
        };
        let mut content = vec![line.trim_start_matches('r')[quotes.len()..].to_owned()];
        while content.last().is_some_and(|last| !last.contains(quotes))
            && let Some((_, next)) = lines.next()
        {
            content.push(next.trim().to_owned());
        }
        if let Some(last) = content.last_mut() {
            last.truncate(last.find(quotes).unwrap_or(last.len()));
        }
        if may_begin {
            docs.push(Doc { line: i + 1, lines: content });
        }
        may_begin = false;
    }
    docs
}

/// Returns a page's text, code blocks left out, as one document.
pub fn markdown(text: &str) -> Vec<Doc> {
    let mut doc = Doc { line: 1, lines: text.lines().map(|line| line.trim().to_owned()).collect() };
    drop_code(&mut doc);
    vec![doc]
}

/// Empties the lines of code blocks.
fn drop_code(doc: &mut Doc) {
    let mut is_code = false;
    for line in &mut doc.lines {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            line.clear();
        }
    }
}
