//! Compilation of kernels' text by the host's C++ compiler, with a cache on disk.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::hash::Hash;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const HEADER: &str = include_str!("kernel.h");
const FIBERS: &str = include_str!("fibers.cpp");
/// Rounding is that of single operations, and integers wrap, as on a GPU.
const FLAGS: [&str; 11] = [
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-shared",
    "-w",
    "-fno-builtin",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-ffp-contract=off",
];
/// Precompiled kernels are compiled in pieces of this many.
const BATCH: usize = 48;

/// Returns the directory of compiled kernels.
fn cache() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/stub_cuda"))
}

fn hash(parts: &[&str]) -> String {
    let mut hasher = SipHasher13::new();
    parts.hash(&mut hasher);
    format!("{:032x}", hasher.finish128().as_u128())
}

/// Returns the name under which a text's kernels are exported. It depends on everything that the code depends on.
fn key(source: &str) -> String {
    format!("k{}", hash(&[source, HEADER, FIBERS]))
}

fn compiler() -> Command {
    let mut compiler = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    compiler.env("LC_ALL", "C");
    compiler
}

/// Runs the compiler with C++ as its input. The output appears when it is complete.
fn run_compiler(arguments: &[&str], libraries: &[&str], input: &str, output: &Path) -> Result<(), String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let unfinished = output.with_extension(format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
    let directory = output.parent().ok_or("a file without a directory")?;
    fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let mut command = compiler();
    command.args(FLAGS).args(arguments).args(["-x", "c++", "-", "-x", "none"]).args(libraries).arg("-o").arg(&unfinished);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|e| format!("no C++ compiler: {e}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A compiler that ends early says why in its messages.
        let _ = stdin.write_all(input.as_bytes());
    }
    let ended = child.wait_with_output().map_err(|e| e.to_string())?;
    if !ended.status.success() {
        return Err(String::from_utf8_lossy(&ended.stderr).into_owned());
    }
    fs::rename(&unfinished, output).map_err(|e| e.to_string())
}

/// Makes `libcuda.so`, `libnvrtc.so`, `libcublasLt.so` and `libcudnn.so.9`, which need `stub` and have nothing of their own, and returns their directory.
///
/// The dynamic linker knows a loaded library by the name that is in it, and the stub can have one such name only.
pub(crate) fn driver_libraries(stub: &Path) -> Result<PathBuf, String> {
    let path = stub.to_str().filter(|_| stub.exists()).ok_or_else(|| format!("{} does not exist", stub.display()))?;
    let directory = cache().join(hash(&[path]));
    for name in ["libcuda.so", "libnvrtc.so", "libcublasLt.so", "libcudnn.so.9"] {
        let library = directory.join(name);
        if !library.exists() {
            run_compiler(&["-Wl,--no-as-needed", &format!("-Wl,-soname,{name}")], &[path], "", &library)?;
        }
    }
    Ok(directory)
}

/// Returns the library of fibers, which kernels need.
fn fibers() -> Result<PathBuf, String> {
    let library = cache().join(format!("fibers-{}.so", hash(&[FIBERS])));
    if !library.exists() {
        run_compiler(&["-U_FORTIFY_SOURCE", "-fexceptions"], &[], FIBERS, &library)?;
    }
    Ok(library)
}

/// Returns the names of the functions that a text declares with `__global__`.
fn kernels(source: &str) -> BTreeSet<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let declarations = source.split("__global__").skip(1);
    let names = declarations.filter_map(|rest| {
        let mut rest = rest.trim_start();
        if let Some(bounds) = rest.strip_prefix("__launch_bounds__") {
            rest = bounds.split_once(')')?.1.trim_start();
        }
        let rest = rest.strip_prefix("void")?.trim_start();
        let rest = match rest.strip_prefix("__launch_bounds__") {
            Some(bounds) => bounds.split_once(')')?.1.trim_start(),
            None => rest,
        };
        let end = rest.find(|c| !is_word(c))?;
        rest[end..].trim_start().starts_with('(').then_some(&rest[..end])
    });
    names.collect()
}

/// Returns C++ that defines a text's kernels in a namespace and exports them.
fn translate(source: &str) -> String {
    let key = key(source);
    let mut text = format!("namespace {key} {{\n#line 1 \"kernel.cu\"\n{}\n}}\n", source.replace("extern \"C\"", ""));
    for name in kernels(source) {
        let _ = writeln!(text, "STUB_EXPORT({key}::{name}, {key}_{name})");
    }
    let macros: BTreeSet<&str> = source.lines().filter_map(|line| line.trim_start().strip_prefix("#define ")).collect();
    for definition in macros {
        let name = definition.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let _ = writeln!(text, "#undef {name}");
    }
    text
}

fn link_arguments(fibers: &Path) -> Result<&str, String> {
    fibers.to_str().ok_or_else(|| "a path that is no text".to_owned())
}

/// The file that says which library has a text's kernels.
fn index(key: &str) -> PathBuf {
    cache().join(format!("{key}.txt"))
}

/// Compiles a text. Returns the image that the driver's stub loads: the path of a library, a colon, and the prefix of its kernels' names.
pub(crate) fn compile(source: &str) -> Result<String, String> {
    let key = key(source);
    if let Ok(image) = fs::read_to_string(index(&key)) {
        return Ok(image);
    }
    let library = cache().join(format!("{key}.so"));
    let fibers = fibers()?;
    run_compiler(&[], &[link_arguments(&fibers)?], &format!("{HEADER}{}", translate(source)), &library)?;
    store_index(&key, &library)
}

fn store_index(key: &str, library: &Path) -> Result<String, String> {
    let image = format!("{}:{key}", library.display());
    let (file, unfinished) = (index(key), cache().join(format!("{key}.{}", std::process::id())));
    fs::write(&unfinished, &image).and_then(|()| fs::rename(&unfinished, file)).map_err(|e| e.to_string())?;
    Ok(image)
}

/// Compiles many texts at once, on all processors, which takes a fraction of the time that it takes to compile them one by one.
///
/// # Errors
/// Returns the compiler's messages.
pub fn precompile<'a>(sources: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    let missing: Vec<&str> =
        sources.into_iter().collect::<BTreeSet<_>>().into_iter().filter(|source| !index(&key(source)).exists()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let fibers = fibers()?;
    let fibers = link_arguments(&fibers)?;
    let batches: Vec<&[&str]> = missing.chunks(BATCH).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let keys: Vec<String> = batch.iter().map(|source| key(source)).collect();
            let library = cache().join(format!("b{}.so", hash(&keys.iter().map(String::as_str).collect::<Vec<_>>())));
            let text: String = batch.iter().map(|source| translate(source)).collect();
            run_compiler(&[], &[fibers], &format!("{HEADER}{text}"), &library)?;
            keys.iter().try_for_each(|key| store_index(key, &library).map(drop))?;
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread of the compiler panicked".to_owned())))
    })
}
