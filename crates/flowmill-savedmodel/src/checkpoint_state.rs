//! The file `checkpoint` of a directory: which checkpoints it has, and which is the newest.

use crate::slice_table::{ANY_PART, table_files};
use std::path::{Path, PathBuf};
use std::{fs, io};

use flowmill_proto::{CheckpointState, Message};
use flowmill_tensor::{Error, Result};

use crate::bundle::with_suffix;
use crate::file::io_error;
use crate::{foreign, text_format};

/// The name of the file, unless a saver was given another.
pub const CHECKPOINT_FILE: &str = "checkpoint";

/// Reads the state of a directory; `None` if it has none. Paths in it are made relative to `dir` as TensorFlow does:
/// those that are not absolute are joined to it.
///
/// # Errors
/// `InvalidArgument` if the file is not a `CheckpointState` in text form, and errors of the file system.
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

/// Writes the state of a directory, unchanged: paths that lie in the directory are best relative to it.
///
/// # Errors
/// `NotFound`, `PermissionDenied` or another error of the file system, with the path.
pub fn write_checkpoint_state(dir: &Path, file_name: &str, state: &CheckpointState) -> Result<()> {
    let path = dir.join(file_name);
    let temporary = with_suffix(&path, &format!(".tmp{}", std::process::id()));
    fs::write(&temporary, format_checkpoint_state(state))
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|error| io_error(&path, error))
}

/// Returns the prefix of the newest checkpoint of a directory; `None` if it has no state or the state's newest
/// checkpoint has no files.
///
/// # Errors
/// `InvalidArgument` if the state file is not a `CheckpointState` in text form, and errors of the file system.
pub fn latest_checkpoint(dir: &Path) -> Result<Option<PathBuf>> {
    let state = read_checkpoint_state(dir, CHECKPOINT_FILE)?;
    let path = state.map(|state| PathBuf::from(state.model_checkpoint_path));
    Ok(path.filter(|path| !path.as_os_str().is_empty() && checkpoint_exists(path)))
}

/// Returns true if there is a checkpoint with this prefix, of either format.
pub fn checkpoint_exists(prefix: &Path) -> bool {
    let is_pattern = || prefix.to_str().is_some_and(|name| name.contains(ANY_PART));
    with_suffix(prefix, ".index").is_file() || prefix.is_file() || is_pattern() && table_files(prefix).is_ok()
}

/// Reads a `CheckpointState` in protobuf's text form.
///
/// # Errors
/// `InvalidArgument` with the line and column of the first mistake.
pub fn parse_checkpoint_state(text: &[u8]) -> Result<CheckpointState> {
    let not_parsed = |reason: &str| Error::invalid_argument(format!("not a CheckpointState in text form: {reason}"));
    if let Some(kind) = foreign::describe(text) {
        return Err(not_parsed(kind));
    }
    let wire = text_format::to_wire("CheckpointState", text).map_err(|error| not_parsed(error.message()))?;
    CheckpointState::decode(wire.as_slice()).map_err(|error| not_parsed(&error.to_string()))
}

/// Returns a `CheckpointState` in protobuf's text form.
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
