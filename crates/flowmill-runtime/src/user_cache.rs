//! The user's directory of caches, and files in it that several processes write.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the directory in which a part of Flowmill keeps files between processes: `name` in the directory that `FLOWMILL_CACHE` names, or in
/// `flowmill` of the user's directory of caches. Returns `None` if there is no such directory. It may not exist yet.
pub fn directory(name: &str) -> Option<PathBuf> {
    let named = |variable| std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let user = || named("XDG_CACHE_HOME").or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let cache = named("FLOWMILL_CACHE").or_else(|| Some(user()?.join("flowmill")))?;
    Some(cache.join(name))
}

/// Replaces a file, whose directory is made if there is none. A process that reads the file at the same time finds either the old bytes or all of the
/// new ones; of several writers, the last one wins.
///
/// # Errors
/// Returns the error of the file system. The file is then as it was.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let directory = file.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(directory)?;
    let unfinished = file.with_extension(format!("{}-{}", std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed)));
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        let _ = fs::remove_file(unfinished);
    }
    written
}
