//! The fuzz targets. A target may return errors; it may not panic, hang, or take memory without bound.

use crate::{grpc, programs, requests, strings};
use flowmill::proto::{AttrValue, DataType, GraphDef, Message, NodeDef, TensorProto, attr_value};
use flowmill::runtime::tuning::{TuningFile, TuningHeader};
use flowmill::{Bytes, ImportOptions, RunOptions, Session, Tensor, files, import_graph_def, new_graph, session};
use flowmill_graph::text::{ConstantTable, parse_graph};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// One entry point.
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Files of the repository to start from.
    pub seeds: &'static [&'static str],
}

pub const TARGETS: [Target; 18] = [
    Target { name: "graph_import", run: graph_import, seeds: &["tests/data/models/lstm_small.pb", "tests/data/models/bert_small.pb"] },
    Target { name: "saved_model", run: saved_model, seeds: &["examples/digits/1/saved_model.pb"] },
    Target {
        name: "tensor_decode",
        run: tensor_decode,
        seeds: &["fuzz/seeds/float.tensor", "fuzz/seeds/half.tensor", "fuzz/seeds/splat.tensor", "fuzz/seeds/string.tensor"],
    },
    Target { name: "checkpoint", run: checkpoint, seeds: &["examples/digits/1/variables/variables.index"] },
    Target {
        name: "image_decode",
        run: image_decode,
        seeds: &[
            "fuzz/seeds/baseline.jpg",
            "fuzz/seeds/progressive.jpg",
            "fuzz/seeds/gray.jpg",
            "fuzz/seeds/rgb.png",
            "fuzz/seeds/palette.png",
            "fuzz/seeds/animated.gif",
            "fuzz/seeds/rgb.bmp",
            "fuzz/seeds/still.webp",
            "fuzz/seeds/animated.webp",
        ],
    },
    Target {
        name: "read_strings",
        run: strings::read_strings,
        seeds: &[
            "fuzz/seeds/example.pb",
            "fuzz/seeds/sequence.pb",
            "fuzz/seeds/lines.gz",
            "fuzz/seeds/lines.z",
            "fuzz/seeds/table.csv",
            "fuzz/seeds/pattern.txt",
            "fuzz/seeds/sound.wav",
            "fuzz/seeds/float.tensor",
            "fuzz/seeds/string.tensor",
        ],
    },
    Target { name: "text_graph", run: text_graph, seeds: &["fuzz/seeds/graph.txt"] },
    Target {
        name: "rest_predict",
        run: requests::rest_predict,
        seeds: &["fuzz/seeds/rows.json", "fuzz/seeds/columns.json", "fuzz/seeds/strings.json", "fuzz/seeds/examples.json"],
    },
    Target {
        name: "rest_infer",
        run: requests::rest_infer,
        seeds: &["fuzz/seeds/infer.json", "tests/data/serving/json.body", "tests/data/serving/binary.body"],
    },
    Target {
        name: "grpc_predict",
        run: grpc::predict,
        seeds: &["fuzz/seeds/grpc/predict.pb", "fuzz/seeds/grpc/predict_splat.pb", "fuzz/seeds/grpc/predict_strings.pb"],
    },
    Target {
        name: "grpc_examples",
        run: grpc::examples,
        seeds: &["fuzz/seeds/grpc/classify.pb", "fuzz/seeds/grpc/regress.pb", "fuzz/seeds/grpc/multi_inference.pb"],
    },
    Target { name: "grpc_metadata", run: grpc::metadata, seeds: &["fuzz/seeds/grpc/metadata.pb", "fuzz/seeds/grpc/status.pb"] },
    Target { name: "grpc_reload", run: grpc::reload, seeds: &["fuzz/seeds/grpc/reload.pb"] },
    Target {
        name: "grpc_infer",
        run: grpc::infer,
        seeds: &["fuzz/seeds/grpc/infer_raw.pb", "fuzz/seeds/grpc/infer_contents.pb", "fuzz/seeds/grpc/infer_strings.pb"],
    },
    Target { name: "grpc_stream", run: grpc::stream, seeds: &["fuzz/seeds/grpc/stream.bin"] },
    Target {
        name: "grpc_repository",
        run: grpc::repository,
        seeds: &["fuzz/seeds/grpc/load.pb", "fuzz/seeds/grpc/unload.pb", "fuzz/seeds/grpc/index.pb", "fuzz/seeds/grpc/model.pb"],
    },
    Target { name: "run_graph", run: programs::run_graph, seeds: &[] },
    Target { name: "tuning_file", run: tuning_file, seeds: &["fuzz/seeds/tuning.txt"] },
];

/// Decodes and imports a graph; what was imported is written and imported again, and its fetchable part is run.
fn graph_import(data: &[u8]) {
    let Ok(def) = files::parse_graph_def(Bytes::copy_from_slice(data)) else { return };
    let Ok(mut graph) = new_graph() else { panic!("the catalogue is consistent") };
    if import_graph_def(&mut graph, def, &ImportOptions::default()).is_err() {
        return;
    }
    let written = graph.to_graph_def();
    let mut again = new_graph().expect("the catalogue is consistent");
    import_graph_def(&mut again, written.clone(), &ImportOptions::default()).expect("what was written is legal");
    assert_eq!(again.to_graph_def().encode_to_vec(), written.encode_to_vec(), "writing and reading again changes nothing");
    let last = graph.op_nodes().filter(|n| n.num_outputs() > 0).map(|n| n.name().to_owned()).next_back();
    if let (Some(fetch), Ok(session)) = (last, session(graph, Default::default())) {
        let options = RunOptions { timeout: Some(Duration::from_secs(2)), ..RunOptions::default() };
        let _ = session.run_with(&[], &[&fetch], &[], &options);
    }
}

/// Parses a graph's text form; what it gives is printed and parsed to the same text.
fn text_graph(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let registry = flowmill::registry().expect("the catalogue is consistent");
    let Ok(graph) = parse_graph(text, &registry, &ConstantTable::new()) else { return };
    let constants = ConstantTable::of_graph(&graph).expect("what was parsed has values");
    let written = graph.to_string();
    let again = parse_graph(&written, &registry, &constants).expect("what was printed is legal");
    assert_eq!(again.to_string(), written, "printing and parsing again changes nothing");
}

/// Parses a file of remembered choices; what it gives is written and parsed to the same choices.
fn tuning_file(data: &[u8]) {
    let header = TuningHeader { processor: "a processor".to_owned(), kernels: "1".to_owned() };
    let file = TuningFile::parse(&header, data);
    let again = TuningFile::parse(&header, file.text(&header).as_bytes());
    assert_eq!(
        (again.choices, again.is_foreign, again.ignored_lines),
        (file.choices, false, 0),
        "writing and parsing again changes nothing"
    );
}

/// Opens a SavedModel's message and finds what a session would need.
fn saved_model(data: &[u8]) {
    let Ok(model) = files::SavedModel::from_bytes(Bytes::copy_from_slice(data)) else { return };
    if let Ok(loaded) = model.load(&["serve"]) {
        let _ = loaded.signatures().len();
        if let Some(def) = loaded.meta_graph.graph_def {
            graph_import(&def.encode_to_vec());
        }
    }
}

/// Decodes a tensor; what it gives is encoded and decoded to the same value.
fn tensor_decode(data: &[u8]) {
    let Ok(proto) = TensorProto::decode(Bytes::copy_from_slice(data)) else { return };
    if let Ok(tensor) = Tensor::from_proto(&proto) {
        let _ = format!("{tensor:?}");
        if tensor.num_elements() < 1 << 16
            && let Ok(again) = tensor.to_proto()
        {
            assert_eq!(Tensor::from_proto(&again).ok(), Some(tensor), "encoding and decoding again gives the same value");
        }
    }
}

/// Opens a checkpoint whose index is the input, beside a shard of zeros, and reads every tensor.
fn checkpoint(data: &[u8]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let prefix = directory.path().join("c");
    std::fs::write(prefix.with_extension("index"), data).expect("the index can be written");
    std::fs::write(prefix.with_extension("data-00000-of-00001"), [0u8; 4096]).expect("the shard can be written");
    let Ok(reader) = files::CheckpointReader::open(&prefix) else { return };
    for name in reader.names() {
        let _ = reader.dtype_and_shape(name);
        let _ = reader.read(name);
    }
}

/// Decodes an image file by every op that takes one, and as far as it goes if it ends too early.
fn image_decode(data: &[u8]) {
    static SESSION: OnceLock<Arc<Session>> = OnceLock::new();
    const FETCHES: [&str; 4] = ["any:0", "jpeg:0", "crop:0", "shape:0"];
    let session = SESSION.get_or_init(|| {
        let node = |name: &str, op: &str, input: &[&str], attrs: &[(&str, AttrValue)]| NodeDef {
            name: name.into(),
            op: op.into(),
            input: input.iter().map(|&i| i.to_owned()).collect(),
            attr: attrs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
            ..NodeDef::default()
        };
        let window = Tensor::vector(&[1i32, 2, 3, 4]).and_then(|t| t.to_proto()).expect("a vector has a wire form");
        let window = AttrValue { value: Some(attr_value::Value::Tensor(Box::new(window))), ..AttrValue::default() };
        let def = GraphDef {
            node: vec![
                node("file", "Placeholder", &[], &[("dtype", DataType::DtString.into())]),
                node("window", "Const", &[], &[("dtype", DataType::DtInt32.into()), ("value", window)]),
                node("any", "DecodeImage", &["file"], &[("dtype", DataType::DtFloat.into())]),
                node("jpeg", "DecodeJpeg", &["file"], &[("ratio", 2i64.into()), ("try_recover_truncated", true.into())]),
                node("crop", "DecodeAndCropJpeg", &["file", "window"], &[("acceptable_fraction", 0f32.into())]),
                node("shape", "ExtractJpegShape", &["file"], &[]),
            ],
            ..GraphDef::default()
        };
        let mut graph = new_graph().expect("the catalogue is consistent");
        import_graph_def(&mut graph, def, &ImportOptions::default()).expect("the graph is legal");
        flowmill::session(graph, Default::default()).expect("a session")
    });
    let file = Tensor::string(data.to_vec());
    // Headers may ask for images that take seconds; their sizes are checked before anything else.
    if let Ok(shape) = session.run(&[("file:0", file.clone())], &["shape:0"], &[])
        && shape[0].to_i64_vec().is_ok_and(|sizes| sizes.iter().product::<i64>() > 1 << 22)
    {
        return;
    }
    for fetch in FETCHES {
        let _ = session.run(&[("file:0", file.clone())], &[fetch], &[]);
    }
}
