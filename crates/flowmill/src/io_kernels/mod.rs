//! Kernels that read and write files. They live in this crate because they need both the kernels' interface and the checkpoint formats.

mod checkpoints;
mod dataset_cache;
mod files;
mod messages;
mod remap_matrix;

use flowmill_runtime::{KernelContext, KernelRegistry};
use flowmill_tensor::{Bytes, Result, bail};

/// Registers the family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    checkpoints::register(registry);
    dataset_cache::register(registry);
    files::register(registry);
    messages::register(registry);
    remap_matrix::register(registry);
}

/// Returns the text in input `i`, which has one element.
fn text(ctx: &KernelContext<'_>, i: usize, what: &str) -> Result<String> {
    let tensor = ctx.input(i)?;
    match tensor.as_strings()? {
        [one] => to_text(one),
        _ => bail!(InvalidArgument, "Input {i} ({what}) must be a string scalar; got a tensor of shape {}", tensor.shape()),
    }
}

/// Returns the texts in input `i`.
fn texts(ctx: &KernelContext<'_>, i: usize) -> Result<Vec<String>> {
    ctx.input(i)?.as_strings()?.iter().map(to_text).collect()
}

fn to_text(bytes: &Bytes) -> Result<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => bail!(InvalidArgument, "file and tensor names must be UTF-8, got {:?}", String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::register;
    use flowmill_graph::{Attrs, OpDef};
    use flowmill_proto::attr_value::{ListValue, Value};
    use flowmill_runtime::ResourceManager;
    use flowmill_runtime::tuning::Tuner;
    use flowmill_runtime::{DeviceStep, FunctionLibraryRuntime, HostDevice, InferencePrecision, KernelContext, KernelInit, KernelRegistry};
    use flowmill_tensor::{Bytes, Code, DType, Result, Shape, Tensor, bail};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    /// A directory of this test, removed at its end.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Directory {
            let path = std::env::temp_dir().join(format!("flowmill-io-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Directory(path)
        }

        fn path(&self, name: &str) -> Tensor {
            Tensor::string(self.0.join(name).to_str().unwrap().to_owned())
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn run(op: &str, attrs: &Attrs, inputs: Vec<Tensor>) -> Result<Vec<Option<Tensor>>> {
        let mut registry = KernelRegistry::new();
        register(&mut registry);
        let op_def = OpDef { name: op.to_owned(), ..OpDef::default() };
        let resources = Arc::new(ResourceManager::new());
        let functions = Arc::new(FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined.")));
        let kernel = registry.make(&KernelInit {
            name: "n",
            op_def: &op_def,
            attrs,
            input_types: &[],
            output_types: &[],
            input_shapes: &[],
            constants: &[],
            device: &HostDevice::cpu(0, Arc::default()),
            resources: &resources,
            functions: &functions,
            precision: InferencePrecision::F32,
            tuner: Tuner::off(),
        })?;
        let step = Arc::new(DeviceStep::on_host(resources, functions));
        let mut inputs: Vec<_> = inputs.into_iter().map(Some).collect();
        let mut outputs = vec![None; 4];
        kernel.compute(&mut KernelContext::new(&mut inputs, &mut outputs, &step))?;
        Ok(outputs)
    }

    fn strings(values: &[&str]) -> Tensor {
        Tensor::from_strings([values.len()], values.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect()).unwrap()
    }

    fn save(prefix: Tensor, names: &[&str], specs: &[&str], tensors: Vec<Tensor>) -> Result<()> {
        run("SaveV2", &Attrs::default(), [vec![prefix, strings(names), strings(specs)], tensors].concat()).map(drop)
    }

    fn restore(prefix: Tensor, names: &[&str], specs: &[&str], dtypes: &[DType]) -> Result<Vec<Tensor>> {
        let mut attrs = Attrs::default();
        let list = ListValue { r#type: dtypes.iter().map(|t| t.number()).collect(), ..ListValue::default() };
        attrs.set("dtypes", Value::List(Box::new(list)));
        Ok(run("RestoreV2", &attrs, vec![prefix, strings(names), strings(specs)])?.into_iter().flatten().collect())
    }

    fn matrix() -> Tensor {
        Tensor::from_slice([2, 2], &[1f32, 2.0, 3.0, 4.0]).unwrap()
    }

    #[test]
    fn tensors_are_saved_and_restored() {
        let dir = Directory::new("save");
        save(dir.path("x"), &["a", "s"], &["", ""], vec![matrix(), strings(&["q", "r"])]).unwrap();
        let out = restore(dir.path("x"), &["s", "a", "a"], &["", "", "2 2 0,1:-"], &[DType::String, DType::F32, DType::F32]).unwrap();
        assert_eq!(out[0].as_strings().unwrap(), ["q", "r"]);
        assert_eq!(out[1].as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!((out[2].shape(), out[2].as_slice::<f32>().unwrap()), (&Shape::from([1, 2]), &[1.0, 2.0][..]));
        let message = |name, spec, dtype| restore(dir.path("x"), &[name], &[spec], &[dtype]).unwrap_err().message().to_owned();
        assert_eq!(message("zz", "", DType::F32), "Key zz not found in checkpoint");
        assert_eq!(message("a", "", DType::I32), "tensor_name = a; expected dtype int32 does not equal original dtype float");
        assert_eq!(
            message("a", "2 3 0,1:-", DType::F32),
            "tensor_name = a; shape in shape_and_slice spec [2,3] does not match the shape stored in checkpoint: [2,2]"
        );
        let e = restore(dir.path("none"), &["a"], &[""], &[DType::F32]).unwrap_err();
        assert_eq!(e.code(), Code::NotFound);
        assert!(e.message().starts_with("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for"), "{e}");
        assert_eq!(restore(dir.path("x"), &["a"], &["bad"], &[DType::F32]).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn parts_of_a_tensor_are_merged() {
        let dir = Directory::new("merge");
        save(dir.path("parts/y"), &["a"], &["4 2 0,2:-"], vec![matrix()]).unwrap();
        save(dir.path("parts/z"), &["a"], &["4 2 2,2:-"], vec![matrix()]).unwrap();
        let wrong = save(dir.path("w"), &["a"], &["4 2 0,3:-"], vec![matrix()]).unwrap_err();
        assert!(
            wrong
                .message()
                .starts_with("Slice in shape_and_slice specification does not match the shape of the tensor to  save: 4 2 0,3:-")
        );
        let parts = ["parts/y", "parts/z"].map(|p| dir.path(p).as_strings().unwrap()[0].clone());
        let inputs = vec![Tensor::from_strings([2], parts.to_vec()).unwrap(), dir.path("m")];
        run("MergeV2Checkpoints", &Attrs::default(), inputs).unwrap();
        let out = restore(dir.path("m"), &["a"], &["4 2 1,2:-"], &[DType::F32]).unwrap();
        assert_eq!(out[0].as_slice::<f32>().unwrap(), [3.0, 4.0, 1.0, 2.0]);
        assert!(!dir.0.join("parts").exists());
    }

    #[test]
    fn files_are_written_read_and_found() {
        let dir = Directory::new("files");
        run("WriteFile", &Attrs::default(), vec![dir.path("sub/t.txt"), Tensor::string("abc")]).unwrap();
        let read = |path| run("ReadFile", &Attrs::default(), vec![path]);
        assert_eq!(read(dir.path("sub/t.txt")).unwrap()[0].as_ref().unwrap().as_strings().unwrap(), ["abc"]);
        let e = read(dir.path("none")).unwrap_err();
        assert_eq!(e.code(), Code::NotFound);
        assert!(e.message().ends_with("none; No such file or directory"), "{e}");
        let found = run("MatchingFiles", &Attrs::default(), vec![dir.path("s?b/*.txt")]).unwrap();
        let found = found[0].as_ref().unwrap().as_strings().unwrap().to_vec();
        assert_eq!(found.iter().map(|f| Path::new(std::str::from_utf8(f).unwrap())).collect::<Vec<_>>(), [dir.0.join("sub/t.txt")]);
    }

    #[test]
    fn shards_have_names() {
        let inputs = vec![Tensor::string("a/b"), Tensor::scalar(3i32), Tensor::scalar(12i32)];
        let out = run("ShardedFilename", &Attrs::default(), inputs).unwrap();
        assert_eq!(out[0].as_ref().unwrap().as_strings().unwrap(), ["a/b-00003-of-00012"]);
        let out = run("ShardedFilespec", &Attrs::default(), vec![Tensor::string("a/b"), Tensor::scalar(12i32)]).unwrap();
        assert_eq!(out[0].as_ref().unwrap().as_strings().unwrap(), ["a/b-?????-of-00012"]);
    }
}
