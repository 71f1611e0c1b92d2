//! Files that are often taken for graphs, recognised by their contents.

/// Returns the sentence that says what bytes are, if they are of a known kind that no function of this crate reads as a message.
pub(crate) fn describe(bytes: &[u8]) -> Option<&'static str> {
    let text = bytes.trim_ascii_start();
    let begins = |prefix: &str| text.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()));
    if begins("version https://git-lfs.github.com/spec/") {
        return Some("it is a Git LFS pointer: the file itself was not downloaded (`git lfs pull` does that)");
    }
    if ["<!doctype html", "<html", "<head"].iter().any(|tag| begins(tag)) {
        return Some("it is an HTML page: the download gave a page in place of the file");
    }
    if begins("<?xml") {
        return Some("it is an XML document");
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return Some(zip_kind(bytes));
    }
    if bytes.get(4..8) == Some(b"TFL3") {
        return Some("it is a TensorFlow Lite model, which cannot be turned back into a graph; load the model that it was converted from");
    }
    if is_onnx(bytes) {
        return Some("it is an ONNX model");
    }
    if bytes.get(8).is_some_and(|byte| *byte == b'{') && bytes.get(3..8).is_some_and(|len| len.iter().all(|byte| *byte == 0)) {
        return Some("it is a safetensors file, which has weights and no graph");
    }
    const MAGIC: [(&[u8], &str); 9] = [
        (b"\x89HDF\r\n\x1a\n", "it is an HDF5 file, such as Keras's .h5 models; save the model as a SavedModel"),
        (b"\x80\x02", "it is a Python pickle, such as PyTorch's .pt files"),
        (b"\x80\x04", "it is a Python pickle"),
        (b"\x1f\x8b", "it is a gzip archive; unpack it first"),
        (b"BZh", "it is a bzip2 archive; unpack it first"),
        (b"\xfd7zXZ\0", "it is an xz archive; unpack it first"),
        (b"\x93NUMPY", "it is a NumPy array"),
        (b"\x7fELF", "it is a program or a shared library"),
        (b"{", "it is JSON"),
    ];
    if bytes.get(257..262) == Some(b"ustar") {
        return Some("it is a tar archive; unpack it first");
    }
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

fn zip_kind(bytes: &[u8]) -> &'static str {
    // Names of entries are in the archive's directory, at its end; those of the first ones also at its beginning.
    const LOOKED_AT: usize = 1 << 16;
    let (head, tail) = (&bytes[..bytes.len().min(LOOKED_AT)], &bytes[bytes.len().saturating_sub(LOOKED_AT)..]);
    let has = |name: &[u8]| [head, tail].iter().any(|part| part.windows(name.len()).any(|window| window == name));
    if has(b"/constants.pkl") || has(b"/code/") {
        "it is a TorchScript model"
    } else if has(b"/data.pkl") {
        "it is a PyTorch file of weights"
    } else if has(b"model.weights.h5") {
        "it is a Keras 3 model (.keras); export it as a SavedModel with `model.export(path)`"
    } else {
        "it is a zip archive; unpack it first"
    }
}

/// An ONNX model begins with its version, and then the name of what made it or the graph.
fn is_onnx(bytes: &[u8]) -> bool {
    let [0x08, 1..=63, key, rest @ ..] = bytes else { return false };
    match key {
        0x12 => rest.split_first().is_some_and(|(&len, rest)| {
            rest.get(..len.into()).is_some_and(|name| len > 1 && name.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' '))
        }),
        0x3a | 0x42 => true,
        _ => false,
    }
}
