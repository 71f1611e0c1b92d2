//! The description of the CPU for which choices are measured.

use std::fs::File;
use std::io::Read;

/// The bytes of `/proc/cpuinfo` that are read: those of the first core. The file has as many parts as there are cores, and each takes time to make.
const CPUINFO_BYTES: usize = 2048;
/// The lines of `/proc/cpuinfo` that tell one CPU from another, on x86-64 and on ARM.
const CPUINFO_NAMES: [&str; 8] =
    ["vendor_id", "cpu family", "model", "model name", "stepping", "CPU implementer", "CPU part", "CPU variant"];
/// The most caches of a core.
const MAX_CACHES: usize = 8;

/// Returns a line that describes the CPU: architecture, vendor, family, model and stepping, and the sizes of its caches, as far as the system says.
pub fn processor() -> String {
    let mut parts = vec![std::env::consts::ARCH.to_owned()];
    let cpuinfo = beginning("/proc/cpuinfo", CPUINFO_BYTES);
    for name in CPUINFO_NAMES {
        let value = cpuinfo.lines().find_map(|line| line.split_once(':').filter(|(key, _)| key.trim() == name));
        if let Some((_, value)) = value {
            parts.push(value.trim().to_owned());
        }
    }
    for i in 0..MAX_CACHES {
        let size = beginning(&format!("/sys/devices/system/cpu/cpu0/cache/index{i}/size"), 32);
        if size.is_empty() {
            break;
        }
        parts.push(size.trim().to_owned());
    }
    let line: String = parts.join(", ");
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns the first bytes of a file as text; nothing if it cannot be read.
fn beginning(path: &str, bytes: usize) -> String {
    let mut buffer = vec![0; bytes];
    let Ok(mut file) = File::open(path) else { return String::new() };
    let mut len = 0;
    while len < bytes {
        match file.read(&mut buffer[len..]) {
            Ok(count @ 1..) => len += count,
            _ => break,
        }
    }
    String::from_utf8_lossy(&buffer[..len]).into_owned()
}
