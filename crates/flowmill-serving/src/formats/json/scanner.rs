//! A scanner over JSON text: white space, literals, strings, and values that nobody reads.

use flowmill::tensor::{bail, error};
use flowmill::{Bytes, Error, Result};
use std::borrow::Cow;

/// A position in JSON text.
///
/// The grammar is RFC 8259's with the numbers `NaN`, `Inf` and `Infinity`, which TensorFlow Serving accepts.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    max_depth: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8], max_depth: usize) -> Scanner<'a> {
        Scanner { text, at: 0, max_depth }
    }

    /// Returns the number of bytes from here to the end.
    pub(crate) fn num_remaining(&self) -> usize {
        self.text.len() - self.at
    }

    /// Returns an `InvalidArgument` error that names this place.
    #[cold]
    pub(crate) fn error(&self, what: impl std::fmt::Display) -> Error {
        error!(InvalidArgument, "JSON: {what} at byte {}", self.at)
    }

    /// Returns the error of a value that is not a `wanted`, with the kind of the value that is here.
    #[cold]
    pub(crate) fn unexpected(&self, wanted: impl std::fmt::Display) -> Error {
        let found = match self.text.get(self.at) {
            None => "the end of the text",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => "a number",
            Some(&byte) => return self.error(format_args!("expected {wanted}, found '{}'", byte.escape_ascii())),
        };
        self.error(format_args!("expected {wanted}, found {found}"))
    }

    /// Skips white space and returns the byte after it.
    #[inline]
    pub(crate) fn token(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    /// Moves past the byte that [`Scanner::token`] returned.
    #[inline]
    pub(crate) fn bump(&mut self) {
        self.at += 1;
    }

    /// Moves past white space and `byte`, if it is next.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.token() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Moves past `literal` if the text goes on with it.
    pub(super) fn take_literal(&mut self, literal: &str) -> bool {
        let found = self.text[self.at..].starts_with(literal.as_bytes());
        self.at += if found { literal.len() } else { 0 };
        found
    }

    /// Moves past the `,` before another item of a list that ends with `close`; returns false, behind `close`, at the end of the list.
    #[inline]
    pub(crate) fn next_item(&mut self, close: u8) -> Result<bool> {
        match self.token() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.unexpected(format_args!("',' or '{}'", close as char))),
        }
    }

    /// Calls `member` with the key of every member of the object that is here; `member` reads the value.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<()>) -> Result<()> {
        if !self.take(b'{') {
            return Err(self.unexpected("an object"));
        }
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.token();
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.unexpected("':'"));
            }
            self.token();
            member(self, &key)?;
            if !self.next_item(b'}')? {
                return Ok(());
            }
        }
    }

    /// Calls `item` at every item of the array that is here; `item` reads the value.
    pub(crate) fn array(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if !self.take(b'[') {
            return Err(self.unexpected("an array"));
        }
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.token();
            item(self)?;
            if !self.next_item(b']')? {
                return Ok(());
            }
        }
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&mut self) -> Result<bool> {
        self.token();
        if self.take_literal("true") {
            Ok(true)
        } else if self.take_literal("false") {
            Ok(false)
        } else {
            Err(self.unexpected("a boolean"))
        }
    }

    /// Reads a string. Its text is copied only if it has escapes.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>> {
        if self.token() != Some(b'"') {
            return Err(self.unexpected("a string"));
        }
        let start = self.at + 1;
        let mut unescaped = String::new();
        let mut from = start;
        loop {
            let rest = &self.text[from..];
            let Some(length) = first_special(rest) else {
                bail!(InvalidArgument, "JSON: the string at byte {} does not end", start - 1);
            };
            let part = match std::str::from_utf8(&rest[..length]) {
                Ok(part) => part,
                Err(error) => {
                    self.at = from + error.valid_up_to();
                    return Err(self.error("bytes that are not UTF-8"));
                }
            };
            self.at = from + length;
            match rest[length] {
                b'"' => {
                    self.at += 1;
                    if from == start {
                        return Ok(Cow::Borrowed(part));
                    }
                    unescaped.push_str(part);
                    return Ok(Cow::Owned(unescaped));
                }
                b'\\' => {
                    unescaped.push_str(part);
                    unescaped.push(self.escape()?);
                    from = self.at;
                }
                _ => return Err(self.error("a control character in a string")),
            }
        }
    }

    /// Reads an escape, which begins with the `\` that is here.
    fn escape(&mut self) -> Result<char> {
        let character = match self.text.get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => return Err(self.error("an unknown escape")),
        };
        self.at += 2;
        Ok(character)
    }

    /// Reads `\uXXXX`, or two of them that are a surrogate pair.
    fn code_point(&mut self) -> Result<char> {
        let unit = |at: usize| {
            let digits = self.text.get(at..at + 6).filter(|digits| digits.starts_with(b"\\u"))?;
            digits[2..].iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
        };
        let (code, length) = match (unit(self.at), unit(self.at + 6)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => (0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12),
            (Some(code), _) => (code, 6),
            (None, _) => return Err(self.error("an escape without four hexadecimal digits")),
        };
        let Some(character) = char::from_u32(code) else { return Err(self.error("half of a surrogate pair")) };
        self.at += length;
        Ok(character)
    }

    /// Moves past a value of any kind.
    pub(crate) fn skip_value(&mut self) -> Result<()> {
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.token() {
                Some(byte @ (b'[' | b'{')) => {
                    self.enter(open.len())?;
                    self.bump();
                    let close = byte + 2;
                    if !self.take(close) {
                        open.push(close);
                        self.skip_key(close)?;
                        continue;
                    }
                }
                Some(b'"') => self.skip_string()?,
                Some(b't' | b'f') => drop(self.boolean()?),
                Some(b'n') if self.take_literal("null") => {}
                Some(b'-' | b'0'..=b'9' | b'N' | b'I') => self.skip_number()?,
                _ => return Err(self.unexpected("a value")),
            }
            loop {
                let Some(&close) = open.last() else { return Ok(()) };
                if self.next_item(close)? {
                    self.skip_key(close)?;
                    break;
                }
                open.pop();
            }
        }
    }

    /// Moves past the key of a member of an object, which ends with `close`.
    fn skip_key(&mut self, close: u8) -> Result<()> {
        if close == b'}' {
            self.token();
            self.skip_string()?;
            if !self.take(b':') {
                return Err(self.unexpected("':'"));
            }
        }
        Ok(())
    }

    fn skip_string(&mut self) -> Result<()> {
        self.string().map(drop)
    }

    /// Checks that an array or object may be within `depth` others.
    pub(super) fn enter(&self, depth: usize) -> Result<()> {
        if depth >= self.max_depth {
            return Err(self.error(format_args!("more than {} arrays and objects within each other", self.max_depth)));
        }
        Ok(())
    }

    /// Reads `{"b64": "..."}`, an object of one member, and returns the bytes; returns `None` without moving for another value.
    pub(crate) fn base64_object(&mut self) -> Result<Option<Bytes>> {
        let start = *self;
        let Some(text) = self.base64_text()? else { return Ok(None) };
        match decode_base64(text.as_bytes()) {
            Some(bytes) => Ok(Some(bytes.into())),
            None => Err(start.error("text that is not base64")),
        }
    }

    /// Returns true if an object is here, other than one that [`Scanner::base64_object`] reads.
    pub(crate) fn is_object(&mut self) -> bool {
        self.token() == Some(b'{') && !matches!(self.clone().base64_text(), Ok(Some(_)))
    }

    /// Reads an object as [`Scanner::base64_object`] does, and returns the text of the bytes.
    fn base64_text(&mut self) -> Result<Option<Cow<'a, str>>> {
        let mut ahead = *self;
        if !ahead.take(b'{') || ahead.token() != Some(b'"') || ahead.string()? != "b64" || !ahead.take(b':') || ahead.token() != Some(b'"')
        {
            return Ok(None);
        }
        let text = ahead.string()?;
        if !ahead.take(b'}') {
            return Ok(None);
        }
        *self = ahead;
        Ok(Some(text))
    }
}

/// Returns the index of the first byte of a string that is not for itself: a quote, a backslash or a control character.
#[inline]
pub(super) fn first_special(text: &[u8]) -> Option<usize> {
    /// Bytes that are compared at once.
    const CHUNK: usize = 32;
    let is_special = |byte: u8| (byte == b'"') | (byte == b'\\') | (byte < 0x20);
    let chunks = text.chunks(CHUNK).take_while(|chunk| !chunk.iter().fold(false, |found, &byte| found | is_special(byte)));
    let start = (chunks.count() * CHUNK).min(text.len());
    text[start..].iter().position(|&byte| is_special(byte)).map(|at| start + at)
}

/// Decodes base64 of the standard alphabet, with or without padding; white space is ignored.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    use base64::Engine;
    use base64::alphabet::STANDARD;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

    const ENGINE: GeneralPurpose =
        GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));
    ENGINE.decode(text).ok().or_else(|| {
        let dense: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
        ENGINE.decode(dense).ok()
    })
}
