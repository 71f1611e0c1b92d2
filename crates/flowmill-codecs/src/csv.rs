//! Records of CSV files, by the rules of RFC 4180.

use flowmill_tensor::{Result, bail};

/// The format of a CSV file, and the columns to read.
pub struct Rules {
    /// The character between fields.
    pub delimiter: u8,
    /// If true, fields may be in double quotes.
    pub quotes: bool,
    /// The indices of the columns to return, in ascending order; all columns if it is empty.
    pub columns: Vec<usize>,
}

impl Rules {
    /// Returns the fields of a record that are in the selected columns.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the record is malformed.
    pub fn fields(&self, record: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (mut fields, mut at, mut number) = (Vec::new(), 0, 0);
        let wanted = |fields: &[Vec<u8>], number: usize| self.columns.is_empty() || self.columns.get(fields.len()) == Some(&number);
        while at < record.len() {
            if matches!(record[at], b'\n' | b'\r') {
                at += 1;
                continue;
            }
            let field = if self.quotes && record[at] == b'"' { self.quoted(record, &mut at)? } else { self.plain(record, &mut at)? };
            if wanted(&fields, number) {
                fields.push(field);
                if fields.len() == self.columns.len() {
                    return Ok(fields);
                }
            }
            number += 1;
        }
        // A delimiter at the end of a record is followed by an empty field.
        if record.last() == Some(&self.delimiter) && wanted(&fields, number) {
            fields.push(Vec::new());
        }
        Ok(fields)
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
