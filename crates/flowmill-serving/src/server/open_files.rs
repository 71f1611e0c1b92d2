//! The number of files that the process may have open, connections among them.

/// Files that connections leave to models, logs and the runtime.
const FILES_BESIDE_CONNECTIONS: u64 = 64;

/// Raises the number of files that this process may have open to the most that the system allows it, and returns that number. `None` if the system does not say,
/// or knows no limit.
///
/// For programs that do nothing but serve. The limit belongs to the process, and `select` does not work with more than 1,024 files.
pub fn raise_open_file_limit() -> Option<u64> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum
            && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
        {
            tracing::warn!(%error, "the limit of open files cannot be raised");
        }
        getrlimit(Resource::Nofile).current
    }
    #[cfg(not(unix))]
    None
}

/// Returns how many connections of `wanted` the process has files for.
pub(super) fn connections_within_limit(wanted: usize) -> usize {
    #[cfg(unix)]
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let files: Option<u64> = None;
    let most = files.map_or(usize::MAX, |files| usize::try_from(files.saturating_sub(FILES_BESIDE_CONNECTIONS)).unwrap_or(usize::MAX));
    if most < wanted {
        tracing::info!(connections = most, wanted, "the limit of open files allows fewer connections");
    }
    wanted.min(most).max(1)
}
