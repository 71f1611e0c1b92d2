//! The choices of a process, and the file from which and to which they go.

use super::file::{MAX_CHOICES, TuningFile, TuningHeader};
use super::{ChoiceSource, TuningCandidate, TuningChoice};
use crate::user_cache;
use flowmill_tensor::sync::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

/// A table of choices, each of which is made once.
pub struct TuningTable {
    /// The file, which is found when a key is first looked up.
    file: LazyLock<FileOfTable, Box<dyn FnOnce() -> FileOfTable + Send>>,
    state: Mutex<State>,
    /// Held while the file is written, so that no choice of this process is lost.
    writing: Mutex<()>,
}

struct FileOfTable {
    header: TuningHeader,
    path: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct State {
    /// The choices of the file; `None` before it is read.
    remembered: Option<BTreeMap<String, String>>,
    /// The answers that have been given.
    decided: FxHashMap<String, (&'static str, ChoiceSource)>,
    /// The measured choices that are not in the file.
    unsaved: BTreeMap<String, String>,
    stats: TuningStats,
}

/// Counts of what a table has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TuningStats {
    /// The keys that were answered from the file.
    pub remembered: u64,
    /// The keys that were answered by measurement.
    pub measured: u64,
    /// The keys that were answered by estimate.
    pub estimated: u64,
    /// The files that were ignored: of other kernels or processors, unreadable or too large.
    pub ignored_files: u64,
    /// The lines of files, and the remembered names, that were ignored.
    pub ignored_lines: u64,
    /// The attempts to write the file that failed.
    pub failed_writes: u64,
    /// The keys that found the table full. Their answers are the estimates.
    pub overflows: u64,
}

/// The version of the keys and ways of all kernels. It is increased with any change that makes other ways the fastest.
const KERNELS_VERSION: u32 = 1;

impl TuningTable {
    /// Makes a table. Without a path, it remembers nothing between processes.
    pub fn new(header: TuningHeader, path: Option<PathBuf>) -> TuningTable {
        TuningTable::with_file(move || FileOfTable { header, path })
    }

    fn with_file(find: impl FnOnce() -> FileOfTable + Send + 'static) -> TuningTable {
        TuningTable { file: LazyLock::new(Box::new(find)), state: Mutex::default(), writing: Mutex::default() }
    }

    /// Returns the table of the process, whose file is in the directory `tuning` of [`user_cache::directory`].
    pub fn shared() -> &'static Arc<TuningTable> {
        static SHARED: OnceLock<Arc<TuningTable>> = OnceLock::new();
        SHARED.get_or_init(|| {
            Arc::new(TuningTable::with_file(|| {
                let kernels = format!("{} {KERNELS_VERSION}", env!("CARGO_PKG_VERSION"));
                let header = TuningHeader { processor: super::processor(), kernels };
                let path = user_cache::directory("tuning").map(|directory| header.path(&directory));
                FileOfTable { header, path }
            }))
        })
    }

    /// Returns the file in which choices are remembered.
    pub fn path(&self) -> Option<&Path> {
        self.file.path.as_deref()
    }

    /// Returns the counts of what the table has done.
    pub fn stats(&self) -> TuningStats {
        self.locked().map(|state| state.stats).unwrap_or_default()
    }

    /// Returns the answer for a key that has been given, or that the file remembers.
    pub(super) fn decided(&self, key: &str, candidates: &[TuningCandidate]) -> Option<TuningChoice> {
        let is_loaded = self.locked()?.remembered.is_some();
        // The file is read without the lock. If two threads read it, the first counts.
        let read = || self.path().map(|path| TuningFile::read(&self.file.header, path)).unwrap_or_default();
        let file = (!is_loaded).then(read);
        let mut guard = self.locked()?;
        let state = &mut *guard;
        if let Some(file) = file.filter(|_| state.remembered.is_none()) {
            state.stats.ignored_files += u64::from(file.is_foreign);
            state.stats.ignored_lines += file.ignored_lines;
            state.remembered = Some(file.choices);
        }
        if let Some(&(name, source)) = state.decided.get(key) {
            return Some(choice_of(name, source, candidates));
        }
        let remembered = state.remembered.as_ref()?.get(key)?;
        let Some(candidate) = number_of(remembered, candidates) else {
            // It is measured again.
            state.stats.ignored_lines += 1;
            return None;
        };
        // Beyond the limit, the file answers each time, as it did the first time.
        if state.decided.len() < MAX_CHOICES {
            state.decided.insert(key.to_owned(), (candidates[candidate].name, ChoiceSource::Measured));
            state.stats.remembered += 1;
        }
        Some(TuningChoice { candidate, source: ChoiceSource::Measured })
    }

    /// Records an answer, and returns the one that counts: that of the thread that came first.
    pub(super) fn decide(&self, key: &str, choice: TuningChoice, candidates: &[TuningCandidate]) -> TuningChoice {
        let Some(mut state) = self.locked() else { return TuningChoice::ESTIMATE };
        if let Some(&(name, source)) = state.decided.get(key) {
            return choice_of(name, source, candidates);
        }
        // A full table answers by estimates, which are the same each time.
        if state.decided.len() >= MAX_CHOICES {
            state.stats.overflows += 1;
            return TuningChoice::ESTIMATE;
        }
        let name = candidates[choice.candidate].name;
        state.decided.insert(key.to_owned(), (name, choice.source));
        match choice.source {
            ChoiceSource::Estimated => state.stats.estimated += 1,
            ChoiceSource::Measured => {
                state.stats.measured += 1;
                state.unsaved.insert(key.to_owned(), name.to_owned());
            }
        }
        choice
    }

    /// Writes new choices to the file, beside those that other processes have written. If it cannot be written, the failure is counted, and the choices
    /// are kept in memory only.
    pub fn save(&self) {
        if self.locked().is_none_or(|state| state.unsaved.is_empty()) {
            return;
        }
        let Some(path) = self.path() else { return };
        let Some(_writing) = self.writing.try_lock() else { return };
        let Some(unsaved) = self.locked().map(|mut state| std::mem::take(&mut state.unsaved)) else { return };
        let mut file = TuningFile::read(&self.file.header, path);
        for (key, name) in unsaved {
            if file.choices.len() < MAX_CHOICES || file.choices.contains_key(&key) {
                file.choices.insert(key, name);
            }
        }
        if user_cache::replace(path, file.text(&self.file.header).as_bytes()).is_err()
            && let Some(mut state) = self.locked()
        {
            state.stats.failed_writes += 1;
        }
    }

    /// Removes the file. Answers that have been given stay.
    ///
    /// # Errors
    /// Returns the error of the file system, if there is a file and it cannot be removed.
    pub fn clear(&self) -> std::io::Result<()> {
        match self.path().map(std::fs::remove_file) {
            Some(Err(e)) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// Locks the state. A process that was forked while another thread had the lock waits for it in vain, and goes on with estimates.
    fn locked(&self) -> Option<MutexGuard<'_, State>> {
        const YIELDS: usize = 1000;
        const SLEEPS: usize = 1000;
        (0..YIELDS + SLEEPS).find_map(|i| {
            self.state.try_lock().or_else(|| {
                if i < YIELDS {
                    std::thread::yield_now()
                } else {
                    std::thread::sleep(Duration::from_millis(1))
                }
                None
            })
        })
    }
}

impl fmt::Debug for TuningTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TuningTable").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// Returns the number of the candidate with a name.
fn number_of(name: &str, candidates: &[TuningCandidate]) -> Option<usize> {
    candidates.iter().position(|candidate| candidate.name == name)
}

/// Returns the choice of a name. A caller without such a candidate gets its first one.
fn choice_of(name: &str, source: ChoiceSource, candidates: &[TuningCandidate]) -> TuningChoice {
    number_of(name, candidates).map_or(TuningChoice::ESTIMATE, |candidate| TuningChoice { candidate, source })
}
