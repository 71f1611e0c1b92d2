//! Regular expressions in RE2's syntax: `RegexFullMatch`, `RegexReplace`, and their static forms.

use super::{map_strings, map_to_numbers};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Bytes, Result, Tensor, bail, error};
use regex::bytes::{Captures, Regex};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RegexFullMatch", make_regex_full_match);
    registry.add("RegexReplace", make_regex_replace);
    registry.add("StaticRegexFullMatch", make_static_regex_full_match);
    registry.add("StaticRegexReplace", make_static_regex_replace);
}

/// The ASCII characters that RE2's classes `\d`, `\s` and `\w` mean, in the syntax inside of brackets.
const CLASSES: [(char, &str); 3] = [('d', "0-9"), ('s', r"\t\n\x0c\r "), ('w', "0-9A-Za-z_")];

/// Translates a pattern of RE2 to the syntax of the `regex` crate. The two differ in the characters of the Perl classes, in the characters that
/// brackets may contain unescaped, and in quoting.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    let mut in_brackets = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(escaped) = chars.next() else {
                    out.push('\\');
                    break;
                };
                if escaped == 'Q' && !in_brackets {
                    push_quoted(&mut chars, &mut out);
                } else {
                    push_escape(escaped, in_brackets, &mut out);
                }
            }
            '[' if !in_brackets => {
                in_brackets = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // A closing bracket right at the start is one of the characters.
                if chars.next_if_eq(&']').is_some() {
                    out.push_str(r"\]");
                }
            }
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            ']' if in_brackets => {
                in_brackets = false;
                out.push(']');
            }
            '[' | '&' | '~' if in_brackets => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Appends the text up to `\E` as a literal.
fn push_quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    let mut quoted = String::new();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&'E').is_some() {
            break;
        }
        quoted.push(c);
    }
    out.push_str(&regex::escape(&quoted));
}

fn push_escape(escaped: char, in_brackets: bool, out: &mut String) {
    let class = CLASSES.iter().find(|(name, _)| *name == escaped.to_ascii_lowercase()).map(|(_, members)| members);
    match (escaped, class) {
        (_, Some(members)) if escaped.is_ascii_uppercase() => out.push_str(&format!("[^{members}]")),
        (_, Some(members)) if in_brackets => out.push_str(members),
        (_, Some(members)) => out.push_str(&format!("[{members}]")),
        ('b' | 'B', _) if !in_brackets => out.push_str(&format!(r"(?-u:\{escaped})")),
        ('C', _) if !in_brackets => out.push_str("(?s-u:.)"),
        _ => out.extend(['\\', escaped]),
    }
}

fn compile(pattern: &[u8], whole: bool) -> Result<Regex> {
    let text = String::from_utf8_lossy(pattern);
    let translated = translate(&text);
    // The pattern is compiled by itself first, so that an error shows it as given and its parentheses cannot close the group that is put around it.
    let describe = |e: regex::Error| error!(InvalidArgument, "Invalid pattern: {text}, error: {e}");
    let regex = Regex::new(&translated).map_err(describe)?;
    if whole { Regex::new(&format!(r"\A(?:{translated})\z")).map_err(describe) } else { Ok(regex) }
}

/// The expression that was compiled last, for ops whose pattern is an input.
#[derive(Default)]
struct Cache(Mutex<Option<(Bytes, Arc<Regex>)>>);

impl Cache {
    fn get(&self, pattern: &Tensor, whole: bool) -> Result<Arc<Regex>> {
        let [text] = pattern.as_strings()? else { bail!(InvalidArgument, "Pattern must be scalar, but received {}", pattern.shape()) };
        if pattern.rank() != 0 {
            bail!(InvalidArgument, "Pattern must be scalar, but received {}", pattern.shape());
        }
        let mut cached = self.0.lock();
        if let Some((known, regex)) = &*cached
            && known == text
        {
            return Ok(regex.clone());
        }
        let regex = Arc::new(compile(text, whole)?);
        *cached = Some((text.clone(), regex.clone()));
        Ok(regex)
    }
}

fn make_regex_full_match(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let cache = Cache::default();
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let regex = cache.get(ctx.input(1)?, true)?;
        let mut output = ctx.allocator().uninit(flowmill_tensor::DType::Bool, input.shape().clone())?;
        output.as_mut_slice::<bool>()?.iter_mut().zip(input.as_strings()?).for_each(|(to, s)| *to = regex.is_match(s));
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_static_regex_full_match(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let regex = compile(init.attrs.get::<&Bytes>("pattern")?, true)?;
    map_to_numbers(move |s| Ok(regex.is_match(s)))
}

/// A replacement text with `\0` … `\9` for groups and `\\` for a backslash.
struct Rewrite {
    /// The literal texts, each with the group that follows it.
    parts: Vec<(Vec<u8>, Option<usize>)>,
}

impl Rewrite {
    /// Parses a replacement text, up to an invalid escape.
    fn parse(text: &[u8]) -> Rewrite {
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let mut bytes = text.iter();
        while let Some(&b) = bytes.next() {
            match (b, if b == b'\\' { bytes.next() } else { None }) {
                (b'\\', Some(digit @ b'0'..=b'9')) => parts.push((std::mem::take(&mut literal), Some(usize::from(digit - b'0')))),
                (b'\\', Some(b'\\')) => literal.push(b'\\'),
                (b'\\', _) => break,
                _ => literal.push(b),
            }
        }
        parts.push((literal, None));
        Rewrite { parts }
    }

    /// Returns the string with the first match, or all of them, replaced. It is unchanged if the replacement refers to a group that the pattern lacks.
    fn apply(&self, regex: &Regex, s: &Bytes, global: bool) -> Bytes {
        let groups = self.parts.iter().filter_map(|part| part.1).max().unwrap_or(0);
        if groups >= regex.captures_len() {
            return s.clone();
        }
        let expand = |captures: &Captures<'_>| -> Vec<u8> {
            self.parts
                .iter()
                .flat_map(|(text, group)| [&text[..], group.and_then(|g| captures.get(g)).map_or(&[][..], |m| m.as_bytes())].concat())
                .collect()
        };
        let replaced = regex.replacen(s, usize::from(!global), expand);
        match replaced {
            std::borrow::Cow::Borrowed(_) => s.clone(),
            std::borrow::Cow::Owned(bytes) => bytes.into(),
        }
    }
}

fn make_regex_replace(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let global = init.attrs.get_or("replace_global", true)?;
    let cache = Cache::default();
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let regex = cache.get(ctx.input(1)?, false)?;
        let rewrite = ctx.input(2)?;
        let [text] = rewrite.as_strings()? else { bail!(InvalidArgument, "Rewrite must be scalar, but received {}", rewrite.shape()) };
        let rewrite = Rewrite::parse(text);
        let values = input.as_strings()?.iter().map(|s| rewrite.apply(&regex, s, global)).collect();
        let output = ctx.allocator().from_strings(input.shape().clone(), values)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_static_regex_replace(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let global = init.attrs.get_or("replace_global", true)?;
    let regex = compile(init.attrs.get::<&Bytes>("pattern")?, false)?;
    let rewrite = Rewrite::parse(init.attrs.get::<&Bytes>("rewrite")?);
    map_strings(move |s| Ok(rewrite.apply(&regex, s, global)))
}
