//! The text of element-wise kernels and of matrix products, compiled by NVRTC for the GPUs that there are. No GPU is needed. Kernels of other families
//! are compiled by the host's compiler only, which the stub calls.

use crate::cases::{elementwise, matrices};
use crate::recorder::Recorder;
use flowmill::gpu::cuda::{self, CudaOptions};
use std::process::Command;

/// The architectures from Turing to Blackwell.
const ARCHITECTURES: [u32; 5] = [75, 80, 90, 100, 120];
/// Texts that are compiled at once.
const BATCH: usize = 64;
/// All texts are compiled for the first architecture, and of those that do not ask for the architecture, one of this many for the others.
const SAMPLE: usize = 12;

/// The process of the other tests has the stub of NVRTC; this one is another process.
#[test]
fn nvrtc_compiles_elementwise_kernels_and_products() {
    let directories = CudaOptions::from_env().library_paths;
    let files = directories.iter().flat_map(|path| std::fs::read_dir(path).into_iter().flatten().flatten());
    if !files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("libnvrtc.so")) {
        eprintln!("not tested: no NVRTC in the directories of FLOWMILL_CUDA_PATH");
        return;
    }
    let test = std::env::current_exe().unwrap();
    let child = Command::new(test).args(["--exact", "compilation::in_a_process_of_its_own", "--ignored", "--nocapture"]).output().unwrap();
    let said = [child.stdout, child.stderr].concat();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Returns what all texts begin with, up to the end of a line.
fn common_start(texts: &[String]) -> &str {
    let Some((first, last)) = texts.first().zip(texts.last()) else { return "" };
    // The texts are sorted: what the first and the last have in common, all have.
    let same = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
    &first[..first[..same].rfind("\n\n").map_or(0, |end| end + 2)]
}

/// Returns one text with the kernels of many, each in a namespace.
fn joined(start: &str, texts: &[&str]) -> String {
    let mut all = start.replace("extern \"C\"", "");
    for (i, text) in texts.iter().enumerate() {
        let own = &text[start.len()..];
        all += &format!("namespace kernel_{i} {{\n{}\n}}\n", own.replace("extern \"C\"", ""));
        let macros = own.lines().filter_map(|line| line.trim_start().strip_prefix("#define "));
        macros.for_each(|line| all += &format!("#undef {}\n", line.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()));
    }
    all
}

#[test]
#[ignore = "run by nvrtc_compiles_elementwise_kernels_and_products"]
fn in_a_process_of_its_own() {
    let options = CudaOptions { cache: None, ..CudaOptions::from_env() };
    let recorder = Recorder::new();
    let device = recorder.device();
    elementwise(&device).iter().chain(&matrices(&device)).for_each(|suite| suite.load(device.clone()));
    let texts = recorder.texts();
    assert!(texts.len() > 500, "{} texts", texts.len());
    let start = common_start(&texts);
    assert!(start.contains("struct half"), "the texts share their prelude");
    for (i, architecture) in ARCHITECTURES.into_iter().enumerate() {
        let depends = |text: &str| text[start.len()..].contains("__CUDA_ARCH__") || text[start.len()..].contains("asm");
        let chosen = texts.iter().enumerate().filter(|(n, text)| i == 0 || n % SAMPLE == i || depends(text) || text.contains("__shared__"));
        let chosen: Vec<&str> = chosen.map(|(_, text)| text.as_str()).collect();
        for batch in chosen.chunks(BATCH) {
            cuda::compile(&options, &joined(start, batch), architecture).unwrap();
        }
    }
    let error = cuda::compile(&options, "extern \"C\" __global__ void broken() { nothing(); }", 75).unwrap_err();
    assert!(error.message().contains("nothing"), "the compiler's log is in the message: {error}");
}
