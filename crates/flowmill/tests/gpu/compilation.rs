//! The text of all kernels, for all types that they are registered for, compiled by NVRTC for the GPUs that there are. No GPU is needed.

use crate::cases::{elementwise, matrices};
use crate::recorder::Recorder;
use crate::{fused, images, indices, matrices, networks, optimizers, rearrange, recurrent, reduce, selections, spectra, training, volumes};
use flowmill::gpu::cuda::{self, CudaOptions};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The architectures from Turing to Blackwell.
const ARCHITECTURES: [u32; 5] = [75, 80, 90, 100, 120];
/// Texts that are compiled at once.
const BATCH: usize = 32;
/// One of this many texts is compiled for each later architecture, if it does not depend on the architecture. All texts for all architectures take a
/// quarter of an hour.
const SAMPLE: usize = 48;

/// The tests whose cases have the kernels of the other families. A process that records runs them only to load these, for all types.
const CASES: &[fn()] = &[
    fused::activations_of_several_nodes_are_one,
    fused::attention_is_one_kernel,
    fused::functions_and_reductions_are_one_kernel,
    fused::products_end_with_functions,
    images::boxes_are_cropped,
    images::channels_are_normalized_by_their_neighbours,
    images::colours_are_converted_and_adjusted,
    images::images_are_dilated,
    images::images_are_projected,
    images::images_are_resized,
    images::windows_are_extracted,
    indices::rows_are_partitioned_and_stitched,
    indices::rows_are_selected,
    indices::segments_are_reduced,
    indices::slices_are_gathered,
    indices::slices_are_scattered_in_order,
    indices::targets_are_among_the_best,
    matrices::definite_matrices_have_factors,
    matrices::einsums_are_those_of_the_host,
    matrices::sparse_matrices_are_multiplied,
    matrices::systems_are_solved,
    matrices::triangular_systems_are_solved,
    networks::batch_norms_and_their_gradients,
    networks::convolutions_and_their_gradients,
    networks::depthwise_convolutions_and_their_gradients,
    networks::floats_are_rounded_to_quantized_values,
    networks::pools_and_their_gradients,
    networks::rows_are_normalized,
    networks::softmax_and_cross_entropies,
    optimizers::many_rows_are_updated_in_order,
    optimizers::optimizers_update_variables,
    rearrange::blocks_of_space_are_moved,
    rearrange::diagonals_are_moved,
    rearrange::elements_are_repeated_and_reversed,
    rearrange::parts_are_joined_and_split,
    rearrange::progressions_have_the_same_numbers,
    rearrange::sequences_are_reversed_and_rolled,
    rearrange::slices_and_their_gradients,
    rearrange::tensors_are_padded_and_filled,
    rearrange::transposes_move_every_element,
    recurrent::cells_and_their_gradients,
    recurrent::gated_units_and_their_gradients,
    recurrent::sequences_of_cells_and_their_gradients,
    reduce::greatest_elements_are_found,
    reduce::long_reductions_are_shared_by_blocks,
    reduce::reductions_along_any_axes,
    selections::boxes_that_overlap_are_suppressed,
    selections::distinct_elements_are_numbered,
    selections::elements_are_found,
    selections::values_are_counted,
    spectra::transforms_of_complex_numbers,
    spectra::transforms_of_real_numbers,
    training::random_integers_are_those_of_the_cpu,
    training::random_numbers_are_those_of_the_cpu,
    training::rows_of_variables_are_updated,
    training::samples_of_classes_are_those_of_the_cpu,
    volumes::convolutions_of_volumes_and_their_gradients,
    volumes::pools_of_volumes_and_their_gradients,
];

/// Returns true if a text is compiled for the first architecture. The texts of element-wise functions, three for each function and type, are chosen by
/// their types and by their number.
fn is_chosen(number: usize, text: &str) -> bool {
    !text.contains("void elementwise(") || number.is_multiple_of(4) || text.contains("const float* in0") || text.contains("const half* in0")
}

/// Returns true if the result for one architecture may differ from that for others. Texts that differ in the types of elements only are represented by
/// those of `float`.
fn depends(text: &str) -> bool {
    let is_usual = !text.contains("typedef") || text.contains("typedef float T;");
    text.contains("__CUDA_ARCH__") || text.contains("asm") || (is_usual && (text.contains("__shared__") || text.contains("__shfl")))
}

/// Ops without a case: their kernels are the host's, or add tensors as those with a case do, or are compared in graphs of their own. So are stacks,
/// TensorArrays and tensor lists.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "Assign", "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "AssignVariableOp", "BroadcastArgs",
    "BroadcastGradientArgs", "BytesInUse", "BytesLimit", "ConcatOffset", "Const", "DataFormatDimMap", "DataFormatVecPermute", "DestroyResourceOp", "DisableCopyOnRead", "ExpandDims", "InvertPermutation",
    "IsVariableInitialized", "LinSpace", "MaxBytesInUse", "Placeholder", "PlaceholderV2", "Rank", "ReadVariableOp", "Reshape", "ResourceGather", "Shape",
    "ShapeN", "Size", "Squeeze", "StatelessRandomGetAlg", "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "ToBool", "VarHandleOp",
    "VarIsInitializedOp", "Variable", "VariableShape", "VariableV2", "_FusedElementwise",
];

/// The process of the other tests has the stub of NVRTC; this one is another process.
#[test]
fn nvrtc_compiles_all_kernels() {
    let test = std::env::current_exe().unwrap();
    let child = Command::new(test).args(["--exact", "compilation::in_a_process_of_its_own", "--ignored", "--nocapture"]).output().unwrap();
    let said = [child.stdout, child.stderr].concat();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// Returns true if there is NVRTC in the directories of `FLOWMILL_CUDA_PATH`.
fn has_nvrtc(options: &CudaOptions) -> bool {
    let files = options.library_paths.iter().flat_map(|path| std::fs::read_dir(path).into_iter().flatten().flatten());
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("libnvrtc.so"))
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
#[ignore = "run by nvrtc_compiles_all_kernels"]
fn in_a_process_of_its_own() {
    let options = CudaOptions { cache: None, ..CudaOptions::from_env() };
    let recorder = Recorder::of_all_types();
    let device = recorder.device();
    elementwise(&device).iter().chain(&matrices(&device)).for_each(|suite| suite.load(device.clone()));
    recorder.record(|| CASES.iter().for_each(|case| case()));
    let compared = recorder.ops();
    let suites: Vec<&str> = elementwise(&device).iter().chain(&matrices(&device)).map(|suite| suite.op).collect();
    let is_container = |op: &str| ["Stack", "TensorArray", "TensorList", "EmptyTensorList"].iter().any(|name| op.starts_with(name));
    let is_missing = |op: &&str| !compared.contains(op) && !suites.contains(op) && !is_container(op);
    let missing: Vec<&str> = device.kernels().ops().into_iter().filter(is_missing).collect();
    assert_eq!(missing, OTHERS, "ops without a case");
    let texts = recorder.texts();
    if !has_nvrtc(&options) {
        eprintln!("not compiled: no NVRTC in the directories of FLOWMILL_CUDA_PATH");
        return;
    }
    assert!(texts.len() > 1000, "{} texts", texts.len());
    let start = common_start(&texts);
    assert!(start.contains("struct half"), "the texts share their prelude");
    let mut work: Vec<(u32, Vec<&str>)> = Vec::new();
    for (i, architecture) in ARCHITECTURES.into_iter().enumerate() {
        let is_for = |(n, text): &(usize, &str)| match i {
            0 => is_chosen(*n, text),
            i => n % SAMPLE == i || depends(&text[start.len()..]),
        };
        let chosen: Vec<&str> = texts.iter().map(String::as_str).enumerate().filter(is_for).map(|(_, text)| text).collect();
        work.extend(chosen.chunks(BATCH).map(|batch| (architecture, batch.to_vec())));
    }
    let next = AtomicUsize::new(0);
    let compile = || {
        while let Some((architecture, batch)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            cuda::compile(&options, &joined(start, batch), *architecture).unwrap();
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (0..threads).for_each(|_| drop(scope.spawn(compile)));
    });
    let error = cuda::compile(&options, "extern \"C\" __global__ void broken() { nothing(); }", 75).unwrap_err();
    assert!(error.message().contains("nothing"), "the compiler's log is in the message: {error}");
}
