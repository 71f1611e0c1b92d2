//! Records of CSV files, by the rules of RFC 4180.

use flowmill_tensor::{Error, Result, bail, error};
use std::io::{self, BufRead};

/// The columns of a record that are returned. Indices are in ascending order.
pub enum Columns {
    /// All columns.
    All,
    /// The columns with these indices.
    Only(Vec<usize>),
    /// The columns without those with these indices.
    Except(Vec<usize>),
}

impl Columns {
    fn contains(&self, index: usize) -> bool {
        match self {
            Columns::All => true,
            Columns::Only(indices) => indices.binary_search(&index).is_ok(),
            Columns::Except(indices) => indices.binary_search(&index).is_err(),
        }
    }
}

/// The format of a CSV file, and the columns to read.
pub struct Rules {
    /// The character between fields.
    pub delimiter: u8,
    /// If true, fields may be in double quotes.
    pub quotes: bool,
    /// The columns to return.
    pub columns: Columns,
}

impl Rules {
    /// Returns the fields of a record that are in the selected columns.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the record is malformed.
    pub fn fields(&self, record: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (mut fields, mut at, mut number) = (Vec::new(), 0, 0);
        while at < record.len() {
            if matches!(record[at], b'\n' | b'\r') {
                at += 1;
                continue;
            }
            let field = if self.quotes && record[at] == b'"' { self.quoted(record, &mut at)? } else { self.plain(record, &mut at)? };
            if self.columns.contains(number) {
                fields.push(field);
                if matches!(&self.columns, Columns::Only(indices) if indices.len() == fields.len()) {
                    return Ok(fields);
                }
            }
            number += 1;
        }
        // A delimiter at the end of a record is followed by an empty field.
        if record.last() == Some(&self.delimiter) && self.columns.contains(number) {
            fields.push(Vec::new());
        }
        Ok(fields)
    }

    /// Reads the next record of a file, or `None` at its end. A record ends at `\n`, `\r`, `\r\n` or the end of the file, and may have line ends in quotes.
    /// A malformed record is read to its end.
    ///
    /// # Errors
    /// Returns the error of reading the file.
    pub fn read_record(&self, file: &mut dyn BufRead) -> io::Result<Option<Record>> {
        let mut record = Record { fields: Vec::new(), error: None };
        let mut cursor = Cursor { number: 0, field: Vec::new(), place: Place::Start };
        let mut is_empty = true;
        loop {
            let bytes = file.fill_buf()?;
            let Some(&last) = bytes.last() else { break };
            is_empty = false;
            let end = bytes.iter().position(|&byte| self.push(byte, &mut cursor, &mut record));
            let (len, last) = end.map_or((bytes.len(), last), |end| (end + 1, bytes[end]));
            file.consume(len);
            if end.is_some() {
                if last == b'\r' && file.fill_buf()?.first() == Some(&b'\n') {
                    file.consume(1);
                }
                return Ok(Some(record));
            }
        }
        if is_empty {
            return Ok(None);
        }
        if matches!(cursor.place, Place::Quoted) {
            record.fail("Reached end of file without closing quoted field in record");
        } else {
            self.end_field(&mut cursor, &mut record);
        }
        Ok(Some(record))
    }

    /// Adds a byte to a record and returns true if the record ends there.
    fn push(&self, byte: u8, cursor: &mut Cursor, record: &mut Record) -> bool {
        match cursor.place {
            Place::Quoted if byte == b'"' => cursor.place = Place::AfterQuote,
            Place::Quoted => cursor.field.push(byte),
            _ if byte == self.delimiter => self.end_field(cursor, record),
            _ if matches!(byte, b'\n' | b'\r') => {
                self.end_field(cursor, record);
                return true;
            }
            Place::Start if self.quotes && byte == b'"' => cursor.place = Place::Quoted,
            Place::Start | Place::Plain => {
                if self.quotes && byte == b'"' {
                    record.fail("Unquoted fields cannot have quotes inside");
                }
                cursor.field.push(byte);
                cursor.place = Place::Plain;
            }
            Place::AfterQuote => {
                if byte != b'"' {
                    record.fail("Quote inside a string has to be escaped by another quote");
                }
                cursor.field.push(byte);
                cursor.place = Place::Quoted;
            }
        }
        false
    }

    fn end_field(&self, cursor: &mut Cursor, record: &mut Record) {
        let field = std::mem::take(&mut cursor.field);
        if record.error.is_none() && self.columns.contains(cursor.number) {
            record.fields.push(field);
        }
        cursor.number += 1;
        cursor.place = Place::Start;
    }

    fn plain(&self, record: &[u8], at: &mut usize) -> Result<Vec<u8>> {
        let rest = &record[*at..];
        let field = &rest[..rest.iter().position(|&b| b == self.delimiter).unwrap_or(rest.len())];
        if field.iter().any(|&b| (self.quotes && b == b'"') || b == b'\n' || b == b'\r') {
            bail!(InvalidArgument, "Unquoted fields cannot have quotes/CRLFs inside");
        }
        *at += field.len() + 1;
        Ok(field.to_vec())
    }

    /// Reads a field that begins with a quote; two quotes inside of it mean one quote.
    fn quoted(&self, record: &[u8], at: &mut usize) -> Result<Vec<u8>> {
        let mut field = Vec::new();
        *at += 1;
        loop {
            match (record.get(*at), record.get(*at + 1)) {
                (Some(b'"'), None) => break,
                (Some(b'"'), Some(&next)) if next == self.delimiter => break,
                (Some(b'"'), Some(b'"')) => {
                    field.push(b'"');
                    *at += 2;
                }
                (Some(b'"'), Some(_)) => bail!(InvalidArgument, "Quote inside a string has to be escaped by another quote"),
                (Some(&byte), Some(_)) => {
                    field.push(byte);
                    *at += 1;
                }
                (_, None) => bail!(InvalidArgument, "Quoted field has to end with quote followed by delim or end"),
                (None, Some(_)) => bail!(Internal, "a byte follows the end"),
            }
        }
        *at += 2;
        Ok(field)
    }
}

/// A record of a file.
pub struct Record {
    /// The fields of the selected columns, up to the first malformed field.
    pub fields: Vec<Vec<u8>>,
    /// The error of the first malformed field of any column.
    pub error: Option<Error>,
}

impl Record {
    fn fail(&mut self, message: &str) {
        self.error.get_or_insert_with(|| error!(InvalidArgument, "{message}"));
    }
}

/// The position of a reader in a record.
struct Cursor {
    /// The index of the column.
    number: usize,
    /// The bytes of the field that have been read.
    field: Vec<u8>,
    place: Place,
}

/// The position of a reader in a field.
enum Place {
    Start,
    Plain,
    Quoted,
    /// After a quote in a quoted field, which ends the field, or means one quote if another one follows.
    AfterQuote,
}
