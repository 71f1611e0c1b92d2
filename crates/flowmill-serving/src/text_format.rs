//! Reads messages in protocol buffers' text format, with errors that name file, line and field.

use crate::proto::DESCRIPTORS;
use flowmill::tensor::{bail, error};
use flowmill::{Error, Result};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

static POOL: LazyLock<Option<DescriptorPool>> = LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).ok());

/// The largest file in text format that is read, in bytes.
pub(crate) const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Reads a file that holds a message of the type `name`, such as `tensorflow.serving.ModelServerConfig`.
///
/// # Errors
/// The system's error as `NotFound`, `PermissionDenied` or `Unknown`; `InvalidArgument` with the file and the line for text that is no such message;
/// `ResourceExhausted` for a file of more than [`MAX_TEXT_BYTES`].
pub(crate) fn read<T: Message + Default>(path: &Path, name: &str) -> Result<T> {
    let failed = |e: std::io::Error| crate::repository::path_error(path, &e);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(MAX_TEXT_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        bail!(ResourceExhausted, "{}: the file has more than {MAX_TEXT_BYTES} bytes", path.display());
    }
    parse(&text, name, &path.display().to_string())
}

/// Parses a message of the type `name`. `file` is the name of the text in errors.
///
/// # Errors
/// `InvalidArgument` with the name and the line for text that is no such message.
pub(crate) fn parse<T: Message + Default>(text: &str, name: &str, file: &str) -> Result<T> {
    let pool = POOL.as_ref().ok_or_else(|| Error::internal("the descriptors of the messages cannot be read"))?;
    let descriptor = pool.get_message_by_name(name).ok_or_else(|| error!(Internal, "there is no message {name}"))?;
    let message = DynamicMessage::parse_text_format(descriptor, text).map_err(|error| {
        let line = start_of(&format!("{error:?}")).and_then(|start| text.get(..start));
        let line = line.map_or_else(|| text.lines().count().max(1), |before| before.matches('\n').count() + 1);
        error!(InvalidArgument, "{file}:{line}: {error}")
    })?;
    message.transcode_to().map_err(|error| error!(InvalidArgument, "{file}: {error}"))
}

/// Returns where an error of the parser begins. The parser tells it in its debug form alone, as `span: START..END`.
fn start_of(error: &str) -> Option<usize> {
    let (_, span) = error.rsplit_once("span: ")?;
    span.split_once("..")?.0.parse().ok()
}
