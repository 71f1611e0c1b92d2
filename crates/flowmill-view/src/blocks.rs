//! Blocks of data within the page: compressed and in base64, so that no content of a graph is markup.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use std::io::Write;

/// Pages of large graphs are made much faster at this level than at the usual one, and are hardly larger.
const LEVEL: u32 = 4;

/// Blocks by their names.
#[derive(Default)]
pub(crate) struct Blocks {
    markup: String,
}

impl Blocks {
    /// Adds a value as JSON.
    pub(crate) fn add_json(&mut self, name: &str, value: &impl Serialize) {
        let mut encoder = Encoder::new();
        // Values have no maps with other keys than text, and writing to memory does not fail.
        let _ = serde_json::to_writer(&mut encoder.0, value);
        self.add(name, encoder);
    }

    /// Adds numbers, 4 bytes each, the lowest first.
    pub(crate) fn add_numbers(&mut self, name: &str, numbers: impl Iterator<Item = u32>) {
        let mut encoder = Encoder::new();
        for number in numbers {
            let _ = encoder.0.write_all(&number.to_le_bytes());
        }
        self.add(name, encoder);
    }

    fn add(&mut self, name: &str, encoder: Encoder) {
        let bytes = encoder.0.into_inner().ok().and_then(|encoder| encoder.finish().ok()).unwrap_or_default();
        self.markup.push_str("<script type=\"application/octet-stream\" id=\"");
        self.markup.push_str(name);
        self.markup.push_str("\">");
        STANDARD.encode_string(bytes, &mut self.markup);
        self.markup.push_str("</script>\n");
    }

    /// Returns the blocks as elements of a page.
    pub(crate) fn into_markup(self) -> String {
        self.markup
    }
}

struct Encoder(std::io::BufWriter<GzEncoder<Vec<u8>>>);

impl Encoder {
    fn new() -> Encoder {
        Encoder(std::io::BufWriter::with_capacity(64 << 10, GzEncoder::new(Vec::new(), Compression::new(LEVEL))))
    }
}
