//! The file `checkpoint` of a directory: which checkpoints it has, and which is the newest.

use std::path::{Path, PathBuf};
use std::{fs, io};

use flowmill_proto::CheckpointState;
use flowmill_tensor::{Error, Result};

use crate::bundle::with_suffix;
use crate::mmap::io_error;

/// The name of the file, unless a saver was given another.
pub const CHECKPOINT_FILE: &str = "checkpoint";

/// Reads the state of a directory; `None` where it has none. Paths in it are made relative to `dir` as TensorFlow does:
/// those that are not absolute are joined to it.
///
/// # Errors
/// `InvalidArgument` where the file is not a `CheckpointState` in text form, and those of the file system.
pub fn read_checkpoint_state(dir: &Path, file_name: &str) -> Result<Option<CheckpointState>> {
    let path = dir.join(file_name);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(&path, error)),
    };
    let mut state = parse_checkpoint_state(&text).map_err(|error| error.context(path.display()))?;
    let join = |path: &mut String| *path = dir.join(&*path).to_string_lossy().into_owned();
    if !state.model_checkpoint_path.is_empty() {
        join(&mut state.model_checkpoint_path);
    }
    state.all_model_checkpoint_paths.iter_mut().for_each(join);
    Ok(Some(state))
}

/// Writes the state of a directory, as it stands: paths that lie in the directory are best relative to it.
///
/// # Errors
/// Those of the file system.
pub fn write_checkpoint_state(dir: &Path, file_name: &str, state: &CheckpointState) -> Result<()> {
    let path = dir.join(file_name);
    let temporary = with_suffix(&path, &format!(".tmp{}", std::process::id()));
    fs::write(&temporary, format_checkpoint_state(state))
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|error| io_error(&path, error))
}

/// The prefix of the newest checkpoint of a directory; `None` where it has no state or the state's newest
/// checkpoint has no files.
///
/// # Errors
/// As [`read_checkpoint_state`].
pub fn latest_checkpoint(dir: &Path) -> Result<Option<PathBuf>> {
    let state = read_checkpoint_state(dir, CHECKPOINT_FILE)?;
    let path = state.map(|state| PathBuf::from(state.model_checkpoint_path));
    Ok(path.filter(|path| !path.as_os_str().is_empty() && checkpoint_exists(path)))
}

/// Whether there is a checkpoint with this prefix, of either format.
pub fn checkpoint_exists(prefix: &Path) -> bool {
    with_suffix(prefix, ".index").is_file() || prefix.is_file()
}

/// Reads a `CheckpointState` in protobuf's text form.
///
/// # Errors
/// `InvalidArgument` with the line of the first mistake.
pub fn parse_checkpoint_state(text: &[u8]) -> Result<CheckpointState> {
    let mut parser = Parser { text, at: 0 };
    let mut state = CheckpointState::default();
    parser.fields(&mut state).ok_or_else(|| {
        let line = 1 + text[..parser.at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
        Error::invalid_argument(format!("not a CheckpointState in text form: line {line}"))
    })?;
    Ok(state)
}

/// A `CheckpointState` in protobuf's text form.
pub fn format_checkpoint_state(state: &CheckpointState) -> String {
    let mut text = String::new();
    let mut line = |field: &str, value: String| text.push_str(&format!("{field}: {value}\n"));
    if !state.model_checkpoint_path.is_empty() {
        line("model_checkpoint_path", quote(&state.model_checkpoint_path));
    }
    for path in &state.all_model_checkpoint_paths {
        line("all_model_checkpoint_paths", quote(path));
    }
    for timestamp in &state.all_model_checkpoint_timestamps {
        line("all_model_checkpoint_timestamps", format!("{timestamp:?}"));
    }
    if state.last_preserved_timestamp != 0.0 {
        line("last_preserved_timestamp", format!("{:?}", state.last_preserved_timestamp));
    }
    text
}

fn quote(string: &str) -> String {
    let mut quoted = String::from('"');
    for letter in string.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_ascii_control() => quoted.push_str(&format!("\\{:03o}", letter as u32)),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Reads as much of protobuf's text form as strings and numbers need. A method that does not find what it
/// reads returns `None`, and `at` is where.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn fields(&mut self, state: &mut CheckpointState) -> Option<()> {
        while self.peek().is_some() {
            match self.word()?.as_str() {
                "model_checkpoint_path" => state.model_checkpoint_path = self.value(Self::string)?.pop()?,
                "all_model_checkpoint_paths" => state.all_model_checkpoint_paths.extend(self.value(Self::string)?),
                "all_model_checkpoint_timestamps" => state.all_model_checkpoint_timestamps.extend(self.value(Self::number)?),
                "last_preserved_timestamp" => state.last_preserved_timestamp = self.value(Self::number)?.pop()?,
                _ => return None,
            }
        }
        Some(())
    }

    /// The next byte that is not space or comment.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match *self.text.get(self.at)? {
                b'#' => {
                    let line = self.text[self.at..].iter().position(|byte| *byte == b'\n');
                    self.at = line.map_or(self.text.len(), |line| self.at + line);
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                byte => return Some(byte),
            }
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// `: value` or `: [value, …]`, with an optional separator after it.
    fn value<T>(&mut self, scalar: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        if !self.take(b':') {
            return None;
        }
        let mut values = Vec::new();
        if self.take(b'[') {
            while !self.take(b']') {
                if !values.is_empty() && !self.take(b',') {
                    return None;
                }
                values.push(scalar(self)?);
            }
        } else {
            values.push(scalar(self)?);
        }
        let _ = self.take(b',') || self.take(b';');
        Some(values)
    }

    fn word(&mut self) -> Option<String> {
        self.peek()?;
        let rest = &self.text[self.at..];
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-');
        let len = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
        self.at += len;
        (len > 0).then(|| String::from_utf8_lossy(&rest[..len]).into_owned())
    }

    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        let word = self.word()?;
        let number = word.trim_end_matches('f').parse().or_else(|_| word.parse()).ok();
        if number.is_none() {
            self.at = start;
        }
        number
    }

    /// One or more quoted strings, which are joined.
    fn string(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        let mut quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\''))?;
        loop {
            self.at += 1;
            self.quoted(quote, &mut bytes)?;
            match self.peek() {
                Some(next @ (b'"' | b'\'')) => quote = next,
                _ => return String::from_utf8(bytes).ok(),
            }
        }
    }

    /// What follows an opening quote, with the closing one.
    fn quoted(&mut self, quote: u8, bytes: &mut Vec<u8>) -> Option<()> {
        loop {
            let byte = *self.text.get(self.at).filter(|byte| **byte != b'\n')?;
            self.at += 1;
            match byte {
                b'\\' => self.escaped(bytes)?,
                byte if byte == quote => return Some(()),
                byte => bytes.push(byte),
            }
        }
    }

    /// What follows a backslash.
    fn escaped(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        let value = match byte {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'"' | b'\'' | b'\\' | b'?' => byte,
            b'x' | b'X' => self.digits(16, 2)?,
            b'0'..=b'7' => {
                self.at -= 1;
                self.digits(8, 3)?
            }
            _ => return None,
        };
        bytes.push(value);
        Some(())
    }

    /// One to `most` digits.
    fn digits(&mut self, radix: u32, most: usize) -> Option<u8> {
        let rest = &self.text[self.at..];
        let len = rest.iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count();
        self.at += len;
        u8::from_str_radix(str::from_utf8(&rest[..len]).ok()?, radix).ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use flowmill_tensor::Code;

    use super::*;

    #[test]
    fn text_round_trips() {
        let state = CheckpointState {
            model_checkpoint_path: "a \"b\"\\c\u{1}é\n".into(),
            all_model_checkpoint_paths: vec!["x".into(), String::new()],
            all_model_checkpoint_timestamps: vec![1.5e9, f64::INFINITY, -0.25],
            last_preserved_timestamp: 3.0,
            ..Default::default()
        };
        assert_eq!(parse_checkpoint_state(format_checkpoint_state(&state).as_bytes()).unwrap(), state);
    }

    #[test]
    fn the_whole_grammar_of_values_is_read() {
        let text = b"# newest\nmodel_checkpoint_path : 'it\\'s' \"\\x41\\102\\n\";\nall_model_checkpoint_paths: ['a', \"b\"],\n\
            all_model_checkpoint_timestamps: [] last_preserved_timestamp:1f";
        let state = parse_checkpoint_state(text).unwrap();
        assert_eq!(state.model_checkpoint_path, "it'sAB\n");
        assert_eq!(state.all_model_checkpoint_paths, ["a", "b"]);
        assert_eq!(state.last_preserved_timestamp, 1.0);
    }

    #[test]
    fn mistakes_name_their_line() {
        for bad in [
            "\nmodel_checkpoint_path \"a\"",
            "\nmodel_checkpoint_path: \"a",
            "\nmodel_checkpoint_path: '\\400'",
            "\nlast_preserved_timestamp: x",
            "\nunknown: 1",
        ] {
            let error = parse_checkpoint_state(bad.as_bytes()).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains("line 2"), "{bad}: {error}");
        }
    }
}
