//! The file of a table: text, one choice per line.
//!
//! ```text
//! flowmill-tuning 1
//! processor x86_64, AuthenticAMD, 25, 1, AMD EPYC, 1, 32K, 32K, 512K, 32768K
//! kernels 0.1.0 1
//! conv avx2 f32 3x3 s1x1 d1x1 pp 64>64 g1 56x56 = winograd4
//! ```
//!
//! A file whose first three lines are others is of another version, processor or set of kernels, and is ignored as a whole. A line that is no choice is
//! ignored by itself.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The first line.
const MAGIC: &str = "flowmill-tuning 1";
/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// The most choices of a file. Further ones are not written.
pub(super) const MAX_CHOICES: usize = 4096;
/// The most bytes of a key or a name.
const MAX_LEN: usize = 200;

/// The machine and the code for which choices are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningHeader {
    /// The description of the CPU, one line.
    pub processor: String,
    /// The version of the kernels and the instruction set that they use, one line.
    pub kernels: String,
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningFile {
    /// The names of the chosen ways by key.
    pub choices: BTreeMap<String, String>,
    /// True if the file is none of this header.
    pub is_foreign: bool,
    /// The number of lines that are no choices, or more than a file may have.
    pub ignored_lines: u64,
}

impl TuningFile {
    /// Parses the bytes of a file. Bytes of any kind are valid input.
    pub fn parse(header: &TuningHeader, bytes: &[u8]) -> TuningFile {
        let foreign = TuningFile { is_foreign: true, ..TuningFile::default() };
        let Ok(text) = std::str::from_utf8(bytes) else { return foreign };
        let mut lines = text.lines();
        let is_own = lines.next() == Some(MAGIC)
            && lines.next().and_then(|line| line.strip_prefix("processor ")) == Some(&header.processor)
            && lines.next().and_then(|line| line.strip_prefix("kernels ")) == Some(&header.kernels);
        if !is_own {
            return foreign;
        }
        let mut file = TuningFile::default();
        for line in lines {
            match line.split_once(" = ").filter(|(key, name)| is_key(key) && is_name(name)) {
                Some((key, name)) if file.choices.len() < MAX_CHOICES => {
                    file.choices.insert(key.to_owned(), name.to_owned());
                }
                _ => file.ignored_lines += 1,
            }
        }
        file
    }

    /// Reads a file. One that cannot be read has no choices, and one that is too large is foreign.
    pub fn read(header: &TuningHeader, path: &Path) -> TuningFile {
        let mut bytes = Vec::new();
        match File::open(path).map(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
            Ok(Ok(_)) if bytes.len() as u64 <= MAX_BYTES => TuningFile::parse(header, &bytes),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => TuningFile::default(),
            _ => TuningFile { is_foreign: true, ..TuningFile::default() },
        }
    }

    /// Returns the text of a file with these choices, sorted by key. Keys and names that a file cannot have are left out.
    pub fn text(&self, header: &TuningHeader) -> String {
        let mut text = format!("{MAGIC}\nprocessor {}\nkernels {}\n", header.processor, header.kernels);
        for (key, name) in self.choices.iter().filter(|(key, name)| is_key(key) && is_name(name)).take(MAX_CHOICES) {
            let _ = writeln!(text, "{key} = {name}");
        }
        text
    }
}

impl TuningHeader {
    /// Returns the file of this header in `directory`. Processors that share a directory have files of their own.
    pub fn path(&self, directory: &Path) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (&self.processor, &self.kernels).hash(&mut hasher);
        directory.join(format!("{:016x}.txt", hasher.finish()))
    }
}

fn is_key(key: &str) -> bool {
    (1..=MAX_LEN).contains(&key.len()) && !key.contains(" = ") && key.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
}

fn is_name(name: &str) -> bool {
    (1..=MAX_LEN).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
}
