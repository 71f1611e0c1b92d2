//! `CacheDataset`, whose files are checkpoints.

use flowmill_host::dataset::{TensorFiles, TensorReader, TensorWriter, register_cache};
use flowmill_runtime::KernelRegistry;
use flowmill_savedmodel::{BundleReader, BundleWriter, merge_bundles};
use flowmill_tensor::{Result, Tensor};

pub(super) fn register(registry: &mut KernelRegistry) {
    register_cache::<Bundles>(registry);
}

/// Checkpoints of TensorFlow's second format.
struct Bundles;

impl TensorFiles for Bundles {
    type Writer = Writer;
    type Reader = Reader;

    fn index_file(prefix: &str) -> String {
        format!("{prefix}.index")
    }

    fn create(prefix: &str) -> Result<Writer> {
        BundleWriter::create(prefix).map(Writer)
    }

    fn open(prefix: &str) -> Result<Reader> {
        BundleReader::open(prefix).map(Reader)
    }

    fn rename(from: &str, to: &str) -> Result<()> {
        merge_bundles(&[from], to)
    }
}

struct Writer(BundleWriter);

impl TensorWriter for Writer {
    fn add(&mut self, name: &str, tensor: &Tensor) -> Result<()> {
        self.0.add(name, tensor)
    }

    fn finish(self) -> Result<()> {
        self.0.finish()
    }
}

struct Reader(BundleReader);

impl TensorReader for Reader {
    fn read(&self, name: &str) -> Result<Option<Tensor>> {
        if self.0.contains(name) { self.0.read(name).map(Some) } else { Ok(None) }
    }
}
