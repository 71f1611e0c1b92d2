//! The tokens of protobuf's text form.

/// A syntax error and the byte at which it is.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) at: usize,
    pub(super) message: String,
}

type Lexed<T> = Result<T, Mistake>;

/// Reads tokens off a text. White space and comments before a token are skipped.
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    /// Returns the first byte of the next token; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b'#' => {
                    let line = self.text[self.at..].iter().position(|byte| *byte == b'\n');
                    self.at = line.map_or(self.text.len(), |line| self.at + line);
                }
                byte if byte.is_ascii_whitespace() || byte == b'\x0b' => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    /// Returns the place of the next token.
    pub(super) fn start(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// Returns a mistake at the next token.
    pub(super) fn mistake(&mut self, message: String) -> Mistake {
        Mistake { at: self.start(), message }
    }

    /// Takes a byte that is a token, if it is the next one.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, byte: u8) -> Lexed<()> {
        if self.eat(byte) {
            return Ok(());
        }
        let found = self.found();
        Err(self.mistake(format!("'{}' expected, not {found}", char::from(byte))))
    }

    /// Returns the next token, for messages.
    fn found(&mut self) -> String {
        let Some(first) = self.peek() else { return "the end".to_owned() };
        let rest = &self.text[self.at..];
        let len = rest.iter().take_while(|byte| is_word(byte)).count().clamp(1, 40);
        if first.is_ascii() {
            format!("'{}'", String::from_utf8_lossy(&rest[..len]))
        } else {
            "a byte that is not an ASCII character".to_owned()
        }
    }

    fn take_while(&mut self, keep: impl Fn(&u8) -> bool) -> &'a str {
        self.peek();
        let rest = &self.text[self.at..];
        let len = rest.iter().take_while(|byte| keep(byte)).count();
        self.at += len;
        str::from_utf8(&rest[..len]).unwrap_or_default()
    }

    /// Returns true if a number is next.
    pub(super) fn is_at_number(&mut self) -> bool {
        self.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-')
    }

    /// The name of a field or of a value.
    pub(super) fn identifier(&mut self) -> Lexed<&'a str> {
        if self.peek().is_some_and(|byte| is_word(&byte) && !byte.is_ascii_digit()) {
            return Ok(self.take_while(is_word));
        }
        let found = self.found();
        Err(self.mistake(format!("a name expected, not {found}")))
    }

    /// Reads the name in brackets: the type of an `Any`, or an extension.
    pub(super) fn type_url(&mut self) -> Lexed<&'a str> {
        let url = self.take_while(|byte| is_word(byte) || matches!(byte, b'.' | b'/' | b'-'));
        if url.is_empty() { Err(self.mistake("the name of a type expected".to_owned())) } else { Ok(url) }
    }

    fn number_mistake<T>(&mut self, at: usize) -> Lexed<T> {
        self.at = at;
        let found = self.found();
        Err(Mistake { at, message: format!("a number expected, not {found}") })
    }

    /// Returns an integer in decimal, `0x` hexadecimal or `0` octal.
    pub(super) fn integer(&mut self) -> Lexed<i128> {
        let at = self.start();
        let negative = self.eat(b'-');
        let word = self.take_while(is_word);
        let (digits, radix) = match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None if word.len() > 1 && word.starts_with('0') => (&word[1..], 8),
            None => (word, 10),
        };
        match i128::from_str_radix(digits, radix) {
            Ok(value) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => Ok(if negative { -value } else { value }),
            _ => self.number_mistake(at),
        }
    }

    /// Returns a floating-point number, `inf` or `nan`.
    pub(super) fn float(&mut self) -> Lexed<f64> {
        let at = self.start();
        let negative = self.eat(b'-');
        let is_number = self.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.');
        let value = if is_number {
            let start = self.at;
            // A sign belongs to the number after an exponent's letter only.
            let text = self.text;
            while let Some(byte) = text.get(self.at) {
                let is_exponent = self.at > start && matches!(text[self.at - 1], b'e' | b'E') && !text[start..self.at].starts_with(b"0x");
                if !(is_word(byte) || *byte == b'.' || is_exponent && matches!(byte, b'+' | b'-')) {
                    break;
                }
                self.at += 1;
            }
            let word = str::from_utf8(&text[start..self.at]).unwrap_or_default();
            let hexadecimal = word.strip_prefix("0x").or(word.strip_prefix("0X"));
            match hexadecimal {
                Some(digits) => u64::from_str_radix(digits, 16).ok().map(|value| value as f64),
                None => word.trim_end_matches(['f', 'F']).parse().ok(),
            }
        } else {
            match self.take_while(is_word).to_ascii_lowercase().as_str() {
                "inf" | "infinity" | "inff" => Some(f64::INFINITY),
                "nan" | "nanf" => Some(f64::NAN),
                _ => None,
            }
        };
        match value {
            Some(value) => Ok(if negative { -value } else { value }),
            None => self.number_mistake(at),
        }
    }

    /// One or more quoted strings, which are joined.
    pub(super) fn string(&mut self) -> Lexed<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut is_first = true;
        while let Some(quote @ (b'"' | b'\'')) = self.peek() {
            is_first = false;
            self.at += 1;
            self.quoted(quote, &mut bytes)?;
        }
        if is_first {
            let found = self.found();
            return Err(self.mistake(format!("a string expected, not {found}")));
        }
        Ok(bytes)
    }

    /// Reads what follows an opening quote, up to and including the closing one.
    fn quoted(&mut self, quote: u8, bytes: &mut Vec<u8>) -> Lexed<()> {
        let opened = self.at - 1;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'\\' | b'\n' | b'"' | b'\'')).count();
            bytes.extend(&rest[..plain]);
            self.at += plain;
            match rest.get(plain) {
                None | Some(b'\n') => return Err(Mistake { at: opened, message: "a string without end".to_owned() }),
                Some(b'\\') => self.escaped(bytes)?,
                Some(&byte) => {
                    self.at += 1;
                    if byte == quote {
                        return Ok(());
                    }
                    bytes.push(byte);
                }
            }
        }
    }

    /// Returns a backslash and what follows it.
    fn escaped(&mut self, bytes: &mut Vec<u8>) -> Lexed<()> {
        let at = self.at;
        let bad = || Mistake { at, message: "an unknown escape in a string".to_owned() };
        let byte = *self.text.get(at + 1).ok_or_else(bad)?;
        self.at += 2;
        let value = match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'"' | b'\'' | b'\\' | b'?' => byte,
            b'x' | b'X' => self.digits(16, 1, 2).and_then(|value| u8::try_from(value).ok()).ok_or_else(bad)?,
            b'u' | b'U' => {
                let len = if byte == b'u' { 4 } else { 8 };
                let letter = self.digits(16, len, len).and_then(char::from_u32).ok_or_else(bad)?;
                bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            b'0'..=b'7' => {
                self.at -= 1;
                self.digits(8, 1, 3).and_then(|value| u8::try_from(value).ok()).ok_or_else(bad)?
            }
            _ => return Err(bad()),
        };
        bytes.push(value);
        Ok(())
    }

    /// Returns a number of `least` to `most` digits.
    fn digits(&mut self, radix: u32, least: usize, most: usize) -> Option<u32> {
        let rest = &self.text[self.at..];
        let len = rest.iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count();
        self.at += len;
        u32::from_str_radix(str::from_utf8(&rest[..len]).ok()?, radix).ok().filter(|_| len >= least)
    }
}
