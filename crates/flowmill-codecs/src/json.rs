//! A JSON reader whose error messages name the field of the message and the position in the text.

use std::fmt::{Arguments, Display};

/// The value that was read, or an error message for the user.
pub type Parsed<T> = std::result::Result<T, String>;

/// The most objects and lists that may be nested.
const MAX_DEPTH: usize = 100;

const END: &str = "unexpected EOF";

/// A value that is neither object nor list.
pub enum Scalar {
    /// `null`.
    Null,
    /// A number, as it is written.
    Number(String),
    /// The contents of a string.
    Text(String),
    /// A truth value, or something that is not read: an object, or a byte that no value begins with.
    Other,
}

/// A reader of one JSON text.
pub struct Parser<'a> {
    text: &'a [u8],
    /// The name of the protobuf message that the text represents.
    message: &'static str,
    at: usize,
    /// The offset of the value that error messages refer to.
    value_at: usize,
    depth: usize,
    path: String,
    /// The type of the value at `path`, for error messages.
    kind: &'static str,
}

impl<'a> Parser<'a> {
    /// Returns a reader of `text`, which represents a protobuf message of the type `message`.
    pub fn new(text: &'a [u8], message: &'static str) -> Parser<'a> {
        Parser { text, message, at: 0, value_at: 0, depth: 0, path: String::new(), kind: "" }
    }

    /// Calls `read` for the value of the field `name`, which begins with a dot or is an index in brackets, and has type `kind`. Error messages name
    /// the field.
    pub fn within<T>(&mut self, name: &str, kind: &'static str, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let (length, outer) = (self.path.len(), self.kind);
        self.path.push_str(name);
        self.kind = kind;
        let found = read(self)?;
        self.path.truncate(length);
        self.kind = outer;
        Ok(found)
    }

    fn error_at(&self, offset: usize, what: impl Display) -> String {
        let before = &self.text[..offset];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = 1 + before.iter().rev().take_while(|&&byte| byte != b'\n').count();
        let path = self.path.trim_start_matches('.');
        let (at, colon) = if path.is_empty() { ("", "") } else { (" @ ", ": ") };
        let (kind, message) = (self.kind, self.message);
        format!("invalid JSON in type.googleapis.com/{message}{at}{path}{colon}{kind}, near {line}:{column} (offset {offset}): {what}")
    }

    /// Returns a message that says `what` is wrong with the value read last.
    pub fn error(&self, what: Arguments<'_>) -> String {
        self.error_at(self.value_at, what)
    }

    /// Returns the message for a field `name` that the protobuf message lacks.
    pub fn no_such_field(&self, name: &str) -> String {
        self.error_at(self.at, format_args!("no such field: '{name}'"))
    }

    /// Returns the message for a value that was read last and should have begun with `expected`.
    pub fn unexpected(&self, expected: &str) -> String {
        self.unexpected_at(self.value_at, Some(expected))
    }

    /// Returns the message for a value that was read last and is not a number.
    pub fn no_number(&self) -> String {
        match self.text.get(self.value_at) {
            Some(b't' | b'f' | b'{') => self.error(format_args!("expected number or string")),
            _ => self.unexpected_at(self.value_at, None),
        }
    }

    fn unexpected_at(&self, offset: usize, expected: Option<&str>) -> String {
        let Some(&byte) = self.text.get(offset) else { return END.to_owned() };
        let expected = expected.map_or(String::new(), |expected| format!("; expected '{expected}'"));
        self.error_at(offset, format_args!("unexpected character: '{}'{expected}", char::from(byte)))
    }

    /// Returns the next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, expected: u8) -> bool {
        let is_there = self.peek() == Some(expected);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, expected: u8) -> Parsed<()> {
        if self.take(expected) { Ok(()) } else { Err(self.unexpected_at(self.at, Some(char::from(expected).encode_utf8(&mut [0; 4])))) }
    }

    /// Checks that nothing follows.
    pub fn end(&mut self) -> Parsed<()> {
        if self.peek().is_none() { Ok(()) } else { Err("extraneous characters after end of JSON object".to_owned()) }
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        if !self.text[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected_at(self.at, Some(word)));
        }
        self.at += word.len();
        Ok(())
    }

    /// Reads `null` if it is next, and returns true if it was.
    pub fn null(&mut self) -> Parsed<bool> {
        let is_null = self.peek() == Some(b'n');
        self.value_at = self.at;
        if is_null {
            self.word("null")?;
        }
        Ok(is_null)
    }

    fn open(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.error_at(self.at, "JSON content was too deeply nested")) } else { Ok(()) }
    }

    /// Reads an object. `field` is called with each key and reads its value.
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &str) -> Parsed<()>) -> Parsed<()> {
        self.expect(b'{')?;
        self.open()?;
        while !self.take(b'}') {
            let key = self.key()?;
            self.expect(b':')?;
            self.value_at = self.at;
            field(self, &key)?;
            self.separator(b'}')?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads a comma, or nothing before the bracket that closes the object or list.
    fn separator(&mut self, close: u8) -> Parsed<()> {
        if self.take(b',') || self.peek() == Some(close) { Ok(()) } else { Err(self.error_at(self.at, "expected ','")) }
    }

    fn key(&mut self) -> Parsed<String> {
        if let Some(quote @ (b'"' | b'\'')) = self.peek() {
            return self.string(quote);
        }
        let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let word: Vec<u8> = self.text[self.at..].iter().copied().take_while(is_inner).collect();
        let word = String::from_utf8_lossy(&word).into_owned();
        if self.at == self.text.len() {
            return Err(END.to_owned());
        }
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) || matches!(word.as_str(), "null" | "true" | "false") {
            return Err(self.error_at(self.at, "expected bare word"));
        }
        self.at += word.len();
        Ok(word)
    }

    /// Reads a value, or the values of a list and of the lists in it; `index` counts all of them.
    pub fn elements(&mut self, index: &mut usize, take: &mut dyn FnMut(&Self, Scalar) -> Parsed<()>) -> Parsed<()> {
        if !self.take(b'[') {
            let scalar = self.scalar()?;
            return take(self, scalar);
        }
        self.open()?;
        let kind = self.kind;
        while !self.take(b']') {
            let name = format!("[{index}]");
            *index += 1;
            // The element's index replaces that of the enclosing list in the path.
            let length = self.path.len();
            let outer = if self.path.ends_with(']') { self.path.rfind('[').map(|from| self.path.split_off(from)) } else { None };
            self.within(&name, kind, |parser| {
                parser.elements(index, take)?;
                parser.separator(b']')
            })?;
            self.path.push_str(outer.as_deref().unwrap_or(""));
            self.path.truncate(length);
        }
        self.depth -= 1;
        Ok(())
    }

    fn scalar(&mut self) -> Parsed<Scalar> {
        let first = self.peek();
        self.value_at = self.at;
        match first {
            Some(quote @ (b'"' | b'\'')) => self.string(quote).map(Scalar::Text),
            Some(b'-' | b'0'..=b'9') => self.number().map(Scalar::Number),
            Some(b'n') => self.word("null").map(|()| Scalar::Null),
            Some(b't') => self.word("true").map(|()| Scalar::Other),
            Some(b'f') => self.word("false").map(|()| Scalar::Other),
            _ => Ok(Scalar::Other),
        }
    }

    /// Returns the number of digits from offset `at` on.
    fn digits(&self, at: usize) -> usize {
        self.text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn number(&mut self) -> Parsed<String> {
        let start = self.at;
        let mut at = start + usize::from(self.text[start] == b'-');
        let whole = self.digits(at);
        if whole == 0 {
            return Err(self.error_at(start, "expected a number"));
        }
        if whole > 1 && self.text[at] == b'0' {
            return Err(self.error_at(start, "number cannot have extraneous leading zero"));
        }
        at += whole;
        if self.text.get(at) == Some(&b'.') {
            let fraction = self.digits(at + 1);
            if fraction == 0 {
                return Err(self.error_at(start, "number cannot have trailing period"));
            }
            at += 1 + fraction;
        }
        if let Some(b'e' | b'E') = self.text.get(at) {
            at += 1;
            at += usize::from(matches!(self.text.get(at), Some(b'+' | b'-')));
            at += self.digits(at);
        }
        self.at = at;
        if !matches!(self.peek(), None | Some(b',' | b']' | b'}')) {
            return Err(self.unexpected_at(self.at, None));
        }
        Ok(String::from_utf8_lossy(&self.text[start..at]).into_owned())
    }

    fn string(&mut self, quote: u8) -> Parsed<String> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let Some(&byte) = self.text.get(self.at) else { return Err(END.to_owned()) };
            self.at += 1;
            match byte {
                b'\\' => {
                    let escaped = self.escaped()?;
                    out.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes());
                }
                _ if byte == quote => break,
                _ => out.push(byte),
            }
        }
        String::from_utf8(out).map_err(|_| self.error_at(self.at, "invalid UTF-8 in string"))
    }

    /// Reads an escape sequence after its backslash, and returns the character that it means.
    fn escaped(&mut self) -> Parsed<char> {
        let Some(&byte) = self.text.get(self.at) else { return Err(END.to_owned()) };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\'' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.error_at(self.at, format_args!("invalid escape char: '{}'", char::from(byte)))),
        })
    }

    /// Reads the character after `\u`, which has one or two units of UTF-16.
    fn unicode(&mut self) -> Parsed<char> {
        let first = self.unit()?;
        if let Some(found) = char::from_u32(first) {
            return Ok(found);
        }
        if first >= 0xdc00 {
            return Err(self.error_at(self.at, "unpaired low surrogate"));
        }
        self.word("\\u")?;
        let second = self.unit()?;
        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
        let found = low.and_then(|low| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low));
        found.ok_or_else(|| self.error_at(self.at, "invalid low surrogate"))
    }

    fn unit(&mut self) -> Parsed<u32> {
        let digits = self.text[self.at..].iter().take(4).map_while(|&byte| char::from(byte).to_digit(16));
        let (count, unit) = digits.fold((0, 0), |(count, unit), digit| (count + 1, unit << 4 | digit));
        if count < 4 {
            return Err(self.error_at(self.at, "invalid Unicode escape"));
        }
        self.at += 4;
        Ok(unit)
    }
}
