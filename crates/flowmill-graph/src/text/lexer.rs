//! The words of one line.

use flowmill_tensor::{Error, Result, bail, error};
use std::fmt;
use std::str::FromStr;

/// A word: everything that is not a string is either a run of letters, digits and `._-/+>\\` or one character.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    Word(String),
    String(Vec<u8>),
    Char(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "'{word}'"),
            Token::String(_) => f.write_str("a string"),
            Token::Char(c) => write!(f, "'{c}'"),
            Token::End => f.write_str("the end of the line"),
        }
    }
}

pub(super) struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '>')
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, line: usize) -> Lexer<'a> {
        Lexer { rest: text, line }
    }

    /// Returns the number of the line, from 1.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    pub(super) fn unexpected(&self, token: &Token) -> Error {
        error!(InvalidArgument, "line {}: unexpected {token}", self.line)
    }

    /// Returns the next word; `#` begins a comment where a word may begin and something other than a hash follows.
    pub(super) fn next(&mut self) -> Result<Token> {
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        if first == '"' {
            return self.string();
        }
        if is_word(first) {
            let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Ok(Token::Word(word.to_owned()));
        }
        self.rest = &self.rest[first.len_utf8()..];
        if first == '#' {
            self.rest = "";
            return Ok(Token::End);
        }
        Ok(Token::Char(first))
    }

    fn string(&mut self) -> Result<Token> {
        let mut bytes = Vec::new();
        let mut chars = self.rest[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 2..];
                    return Ok(Token::String(bytes));
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => bytes.push(b'\n'),
                    Some('x') => {
                        let digits: String = chars.by_ref().take(2).map(|(_, c)| c).collect();
                        match u8::from_str_radix(&digits, 16) {
                            Ok(byte) => bytes.push(byte),
                            Err(_) => bail!(InvalidArgument, "line {}: \\x{digits} is not a byte", self.line),
                        }
                    }
                    Some(c @ ('"' | '\\')) => bytes.push(c as u8),
                    _ => bail!(InvalidArgument, "line {}: unknown escape in a string", self.line),
                },
                c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        bail!(InvalidArgument, "line {}: a string has no end", self.line)
    }

    /// Returns true if `c` comes next.
    pub(super) fn peek(&self, c: char) -> bool {
        self.rest.trim_start().starts_with(c)
    }

    /// Takes `c` if it comes next.
    pub(super) fn take(&mut self, c: char) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn expect(&mut self, c: char) -> Result<()> {
        if self.take(c) {
            return Ok(());
        }
        let token = self.next()?;
        bail!(InvalidArgument, "line {}: expected '{c}', found {token}", self.line)
    }

    pub(super) fn word(&mut self) -> Result<String> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            other => bail!(InvalidArgument, "line {}: expected a name, found {other}", self.line),
        }
    }

    /// Returns a number, or whatever else has a text of one word.
    pub(super) fn number<T: FromStr>(&mut self) -> Result<T> {
        let word = self.word()?;
        match word.parse() {
            Ok(value) => Ok(value),
            Err(_) => bail!(InvalidArgument, "line {}: '{word}' is not a value of type {}", self.line, std::any::type_name::<T>()),
        }
    }

    /// Returns the hash of a constant, if it comes right next.
    pub(super) fn take_hash(&mut self) -> Option<u64> {
        let digits = self.rest.strip_prefix('#')?;
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let hash = u64::from_str_radix(&digits[..end], 16).ok()?;
        self.rest = &digits[end..];
        Some(hash)
    }

    /// Everything up to the next blank.
    pub(super) fn until_blank(&mut self) -> &'a str {
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }
}
