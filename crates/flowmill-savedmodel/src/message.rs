//! Messages in files, in wire format or as text.

use std::path::Path;

use bytes::Bytes;
use flowmill_proto::{DecodeError, GraphDef, Message, MetaGraphDef, SavedModel};
use flowmill_tensor::{Error, Result, bail};

use crate::file::{FileAccess, read_file};
use crate::{foreign, text_format};

/// The number of bytes at a file's start that tell text from wire format.
pub(crate) const HEAD_LEN: usize = 4096;

/// A message that files hold.
pub(crate) trait FileMessage: Message + Default {
    /// Its name in package `tensorflow`.
    const NAME: &'static str;
}

impl FileMessage for GraphDef {
    const NAME: &'static str = "GraphDef";
}

impl FileMessage for MetaGraphDef {
    const NAME: &'static str = "MetaGraphDef";
}

impl FileMessage for SavedModel {
    const NAME: &'static str = "SavedModel";
}

/// Reads the message in a file, with its wire format.
///
/// # Errors
/// Those of [`read_file`], and `DataLoss` if the file is empty or holds something else, which is named if it is of a known kind.
pub(crate) fn load<M: FileMessage>(path: &Path, access: FileAccess) -> Result<(M, Bytes)> {
    let bytes = read_file(path, access)?;
    if bytes.is_empty() {
        bail!(DataLoss, "Can't parse {}: the file is empty", path.display());
    }
    parse(bytes, &path.display().to_string())
}

/// Reads a message; errors name it by `source`. A message in wire format points into the bytes. No bytes are a message without fields.
///
/// # Errors
/// `DataLoss` if the bytes hold something else, which is named if it is of a known kind.
pub(crate) fn parse<M: FileMessage>(bytes: Bytes, source: &str) -> Result<(M, Bytes)> {
    let is_text = text_format::is_text(&bytes[..bytes.len().min(HEAD_LEN)]);
    if let Some(kind) = foreign::describe(&bytes).filter(|_| is_text) {
        return Err(not_parsed::<M>(source, kind));
    }
    if is_text && !bytes.is_empty() {
        let wire: Bytes = match text_format::to_wire(M::NAME, &bytes) {
            Ok(wire) => wire.into(),
            Err(error) => bail!(DataLoss, "Can't parse {source} as text proto of a {}: {}", M::NAME, error.message()),
        };
        let message = M::decode(wire.clone()).map_err(|error| not_parsed::<M>(source, &error.to_string()))?;
        return Ok((message, wire));
    }
    match M::decode(bytes.clone()) {
        Ok(message) => Ok((message, bytes)),
        Err(error) => Err(not_parsed::<M>(source, &reason::<M>(&bytes, &error))),
    }
}

fn not_parsed<M: FileMessage>(source: &str, reason: &str) -> Error {
    Error::data_loss(format!("Can't parse {source} as binary proto of a {}: {reason}", M::NAME))
}

/// Says why bytes are not a message.
fn reason<M: FileMessage>(bytes: &Bytes, error: &DecodeError) -> String {
    if let Some(kind) = foreign::describe(bytes) {
        return kind.to_owned();
    }
    let other = [
        (SavedModel::NAME, SavedModel::decode(bytes.clone()).is_ok_and(|model| !model.meta_graphs.is_empty())),
        (MetaGraphDef::NAME, MetaGraphDef::decode(bytes.clone()).is_ok_and(|meta| meta.graph_def.is_some())),
        (GraphDef::NAME, GraphDef::decode(bytes.clone()).is_ok_and(|graph| !graph.node.is_empty())),
    ];
    if let Some((name, _)) = other.iter().find(|(name, fits)| *fits && *name != M::NAME) {
        return format!("it is a {name}");
    }
    if error.to_string().contains("buffer underflow") {
        return format!("it ends in the middle of a field, as a file does that was not copied or downloaded whole ({error})");
    }
    error.to_string()
}
