//! `CacheDataset` with a file name, which computes its elements once and stores them in files with TensorFlow's layout.
//!
//! While elements are computed, they are written to a checkpoint `name_0`, next to a file `name_0.lockfile` that prevents other writers. After the
//! last element the checkpoint is renamed to `name`, and iterations that begin later read it. Component `c` of element `i` is a tensor of the
//! checkpoint, named by the two numbers.

use super::context::IteratorContext;
use super::element::{DatasetRef, Element, Elements};
use crate::files::file_error;
use flowmill_tensor::{Result, Tensor, bail};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The most elements that a cache may have.
const MAX_ELEMENTS: usize = 10_000_000;

/// A file format that stores tensors by name and is written once.
pub trait TensorFiles: 'static {
    /// The writer of one set of files.
    type Writer: TensorWriter;
    /// The reader of one set of files.
    type Reader: TensorReader;

    /// Returns the name of the file that exists when the files with this prefix are complete.
    fn index_file(prefix: &str) -> String;

    /// Creates files with this prefix.
    ///
    /// # Errors
    /// Returns the file system's error, such as `PermissionDenied`.
    fn create(prefix: &str) -> Result<Self::Writer>;

    /// Opens files with this prefix.
    ///
    /// # Errors
    /// Returns the file system's error, such as `NotFound`; `DataLoss` if the files are damaged.
    fn open(prefix: &str) -> Result<Self::Reader>;

    /// Renames files to another prefix.
    ///
    /// # Errors
    /// Returns the file system's error, such as `NotFound`; `DataLoss` if the files are damaged.
    fn rename(from: &str, to: &str) -> Result<()>;
}

/// A writer of tensors to files.
pub trait TensorWriter: Send + 'static {
    /// Adds a tensor under a new name.
    ///
    /// # Errors
    /// Returns the file system's error, such as `ResourceExhausted`.
    fn add(&mut self, name: &str, tensor: &Tensor) -> Result<()>;

    /// Completes the files.
    ///
    /// # Errors
    /// Returns the file system's error, such as `ResourceExhausted`.
    fn finish(self) -> Result<()>;
}

/// A reader of tensors from files.
pub trait TensorReader: Send + 'static {
    /// Returns the tensor of this name, or `None`.
    ///
    /// # Errors
    /// Returns the file system's error, such as `NotFound`; `DataLoss` if the files are damaged.
    fn read(&self, name: &str) -> Result<Option<Tensor>>;
}

/// Returns the name of component `c` of element `i`, of `width` components.
fn key(i: usize, c: usize, width: usize) -> String {
    let digits = |last: usize| last.to_string().len();
    format!("{i:items$}_{c:components$}", items = digits(MAX_ELEMENTS - 1), components = digits(width.saturating_sub(1)))
}

/// Returns the elements of `input`, read from the files with prefix `name` if they exist.
///
/// # Errors
/// Returns an error of the input's iterator or of opening the files.
pub(super) fn elements<F: TensorFiles>(input: &DatasetRef, ctx: &Arc<IteratorContext>, name: &str) -> Result<Elements> {
    let width = input.signature.types.len();
    if !Path::new(&F::index_file(name)).exists() {
        let mut caching = Caching::<F> { name: name.to_owned(), width, input: input.elements(ctx)?, state: State::Begins };
        return Ok(Elements::new(move || caching.next()));
    }
    let reader = F::open(name)?;
    let mut i = 0;
    Ok(Elements::new(move || {
        let mut element = Vec::with_capacity(width);
        for c in 0..width {
            match reader.read(&key(i, c, width))? {
                Some(component) => element.push(component),
                None if c == 0 => return Ok(None),
                None => bail!(DataLoss, "component {c} of element {i} is missing in the cache"),
            }
        }
        i += 1;
        Ok(Some(element).filter(|element| !element.is_empty()))
    }))
}

/// An iteration that writes the elements that it returns. If it is dropped before the end, it leaves no files.
struct Caching<F: TensorFiles> {
    name: String,
    width: usize,
    input: Elements,
    state: State<F::Writer>,
}

enum State<W> {
    /// No element was requested yet.
    Begins,
    /// The lock file exists, and so many elements were written.
    Writes(W, usize),
    Ended,
}

impl<F: TensorFiles> Caching<F> {
    fn next(&mut self) -> Result<Option<Element>> {
        if let State::Begins = self.state {
            self.state = State::Writes(self.begin()?, 0);
        }
        let State::Writes(writer, count) = &mut self.state else { return Ok(None) };
        if *count >= MAX_ELEMENTS {
            bail!(InvalidArgument, "Upstream iterator is producing more than {MAX_ELEMENTS} items, which is more than the cache limit.");
        }
        let Some(element) = self.input.next()? else {
            self.finish()?;
            return Ok(None);
        };
        if element.len() != self.width {
            bail!(Internal, "Upstream iterator returned invalid number of tensors. Expected {} got: {}", self.width, element.len());
        }
        for (c, component) in element.iter().enumerate() {
            writer.add(&key(*count, c, self.width), component)?;
        }
        *count += 1;
        Ok(Some(element))
    }

    fn part(&self) -> String {
        format!("{}_0", self.name)
    }

    fn lock_file(&self) -> String {
        format!("{}.lockfile", self.part())
    }

    /// Creates the lock file and the writer.
    fn begin(&self) -> Result<F::Writer> {
        let (part, lock) = (self.part(), self.lock_file());
        let index = F::index_file(&part);
        if Path::new(&index).exists() {
            bail!(AlreadyExists, "Existing cache files found: \n{index}\nTo continue delete the above files.");
        }
        match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Ok(mut file) => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
                write!(file, "Created at: {now}").map_err(|e| file_error(&lock, &e))?;
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                let contents = fs::read_to_string(&lock).unwrap_or_default();
                bail!(
                    AlreadyExists,
                    "There appears to be a concurrent caching iterator running - cache lockfile already exists ('{lock}'). If no other \
                     computation uses this cache, delete the lockfile and initialize the iterator again. Lockfile contents: {}",
                    contents.chars().take(150).collect::<String>()
                )
            }
            Err(e) => return Err(file_error(&lock, &e)),
        }
        F::create(&part).inspect_err(|_| drop(fs::remove_file(&lock)))
    }

    fn finish(&mut self) -> Result<()> {
        let State::Writes(writer, _) = std::mem::replace(&mut self.state, State::Ended) else { return Ok(()) };
        let lock = self.lock_file();
        let finished = writer.finish().and_then(|()| F::rename(&self.part(), &self.name));
        let unlocked = fs::remove_file(&lock).map_err(|e| file_error(&lock, &e));
        finished.and(unlocked)
    }
}

impl<F: TensorFiles> Drop for Caching<F> {
    fn drop(&mut self) {
        if let State::Writes(..) = self.state {
            // The writer removes its own files.
            drop(fs::remove_file(self.lock_file()));
        }
    }
}
