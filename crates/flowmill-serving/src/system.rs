//! System calls that the standard library does not have: scheduling of threads, and the memory of code.
//!
//! Linux alone does all of this; elsewhere the functions do nothing.

/// Shortens the scheduler's time slice of this thread and of the threads that it starts. A thread that wakes up preempts one with a longer slice at once.
/// Otherwise a request that arrives while a model is loaded waits until the slice of the loading thread ends, which takes milliseconds.
///
/// Linux has a slice per thread since version 6.12; before that, nothing changes.
pub(crate) fn shorten_time_slice() {
    #[cfg(target_os = "linux")]
    linux::shorten_time_slice();
}

/// Lowers the priority of this thread below that of threads that serve requests, for work that nobody waits for.
pub(crate) fn run_in_background() {
    #[cfg(target_os = "linux")]
    linux::run_in_background();
}

/// Returns the resident pages of this module's code to the system, which keeps them as long as it has memory; code that runs again is mapped again, in groups of
/// pages. For after a model was loaded: half of the code that is resident then does nothing but load models.
pub(crate) fn release_code() {
    #[cfg(target_os = "linux")]
    linux::release_code();
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::mm::{Advice, madvise};
    use std::ffi::c_void;
    use std::io::{Error, Result};

    /// The time slice of threads that serve requests. The system's own is 0.7 ms and more, depending on the number of cores.
    const SLICE_NANOSECONDS: u64 = 300_000;

    /// The nice value of work in the background, above that of the process. A busy server leaves it a tenth of a core.
    const BACKGROUND_NICE: i32 = 10;
    const MAX_NICE: i32 = 19;

    /// `struct sched_attr` of Linux, in the form of its first version.
    #[repr(C)]
    #[derive(Default)]
    struct SchedulingAttributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }

    const SIZE: u32 = size_of::<SchedulingAttributes>() as u32;

    /// The thread that calls.
    const SELF: libc::c_long = 0;

    impl SchedulingAttributes {
        fn get() -> Result<SchedulingAttributes> {
            let mut attributes = SchedulingAttributes { size: SIZE, ..SchedulingAttributes::default() };
            // SAFETY: the kernel writes at most `SIZE` bytes, all of whose values the fields can have.
            let status = unsafe { libc::syscall(libc::SYS_sched_getattr, SELF, &raw mut attributes, libc::c_long::from(SIZE), 0) };
            if status == 0 { Ok(attributes) } else { Err(Error::last_os_error()) }
        }

        fn set(&self) -> Result<()> {
            // SAFETY: the kernel reads `SIZE` bytes, and changes nothing but the order in which threads run.
            let status = unsafe { libc::syscall(libc::SYS_sched_setattr, SELF, &raw const *self, 0) };
            if status == 0 { Ok(()) } else { Err(Error::last_os_error()) }
        }

        /// Returns true for the policies of usual threads, which have a time slice.
        fn is_usual(&self) -> bool {
            self.policy == libc::SCHED_OTHER as u32 || self.policy == libc::SCHED_BATCH as u32
        }
    }

    pub(super) fn shorten_time_slice() {
        let set = |attributes: SchedulingAttributes| match attributes.is_usual() {
            true => SchedulingAttributes { size: SIZE, flags: 0, runtime: SLICE_NANOSECONDS, ..attributes }.set(),
            false => Ok(()),
        };
        if let Err(error) = SchedulingAttributes::get().and_then(set) {
            tracing::debug!(%error, "the time slice of a thread cannot be shortened");
        }
    }

    pub(super) fn run_in_background() {
        let set = |attributes: SchedulingAttributes| {
            let nice = (attributes.nice + BACKGROUND_NICE).min(MAX_NICE).max(attributes.nice);
            match attributes.is_usual() {
                // A runtime of 0 is the system's own time slice.
                true => SchedulingAttributes { size: SIZE, flags: 0, nice, runtime: 0, ..attributes }.set(),
                false => Ok(()),
            }
        };
        if let Err(error) = SchedulingAttributes::get().and_then(set) {
            tracing::debug!(%error, "the priority of a thread of the model repository cannot be lowered");
        }
    }

    pub(super) fn release_code() {
        let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
        for (start, length) in code_of(&maps, release_code as *const () as usize) {
            // SAFETY: the pages are a private mapping of a file that can be read and executed, but not written: they hold what the file holds, and are read from it again.
            let released = unsafe { madvise(start as *mut c_void, length, Advice::LinuxDontNeed) };
            if let Err(error) = released {
                tracing::debug!(%error, "pages of code cannot be released");
            }
        }
    }

    /// Returns the addresses and lengths of mapped code of the file that holds the code at `address`, of the text of `/proc/self/maps`.
    fn code_of(maps: &str, address: usize) -> Vec<(usize, usize)> {
        let mappings: Vec<_> = maps.lines().filter_map(Mapping::parse).filter(|mapping| mapping.is_code).collect();
        let file = mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&address)).map(|mapping| mapping.file);
        let of_file = |mapping: &Mapping<'_>| (Some(mapping.file) == file).then(|| (mapping.start, mapping.end - mapping.start));
        mappings.iter().filter_map(of_file).collect()
    }

    struct Mapping<'a> {
        start: usize,
        end: usize,
        /// True if it is a private mapping of a file that can be read and executed, and not written.
        is_code: bool,
        /// The device and the inode.
        file: (&'a str, &'a str),
    }

    impl Mapping<'_> {
        /// Reads a line such as `7f01a000-7f02b000 r-xp 00003000 fe:00 1042 /usr/lib/libc.so.6`.
        fn parse(line: &str) -> Option<Mapping<'_>> {
            let mut words = line.split_ascii_whitespace();
            let (range, permissions, _, device, inode) = (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
            let (start, end) = range.split_once('-')?;
            let address = |text| usize::from_str_radix(text, 16).ok();
            Some(Mapping {
                start: address(start)?,
                end: address(end)?,
                is_code: permissions == "r-xp" && inode != "0",
                file: (device, inode),
            })
        }
    }

    #[cfg(test)]
    mod tests {
        #![allow(clippy::unwrap_used)]

        use super::*;

        #[test]
        fn time_slices_and_priorities_are_those_of_the_thread() {
            let before = SchedulingAttributes::get().unwrap();
            std::thread::spawn(|| {
                shorten_time_slice();
                let SchedulingAttributes { nice, runtime, .. } = SchedulingAttributes::get().unwrap();
                // Before version 6.12, Linux says 0.
                assert!([0, SLICE_NANOSECONDS].contains(&runtime), "{runtime}");
                let started = std::thread::spawn(|| SchedulingAttributes::get().unwrap().runtime).join().unwrap();
                assert_eq!(started, runtime, "a thread inherits its time slice");
                run_in_background();
                let background = SchedulingAttributes::get().unwrap();
                assert!(runtime == 0 || background.runtime > runtime, "{}", background.runtime);
                assert_eq!(background.nice, (nice + BACKGROUND_NICE).min(MAX_NICE));
                // A second time, it stays within the range.
                run_in_background();
                assert!(SchedulingAttributes::get().unwrap().nice <= MAX_NICE);
            })
            .join()
            .unwrap();
            let after = SchedulingAttributes::get().unwrap();
            assert_eq!((after.nice, after.policy), (before.nice, before.policy));
        }

        #[test]
        fn code_is_that_of_the_file_alone() {
            let maps = "1000-2000 r--p 00000000 fe:00 7 /bin/a\n2000-5000 r-xp 00001000 fe:00 7 /bin/a\n5000-6000 rw-p 00004000 fe:00 7 /bin/a\n\
                        7000-8000 r-xp 00000000 fe:00 8 /lib/b\n8000-9000 r-xp 00005000 fe:00 7 /bin/a\n9000-a000 rwxp 00000000 00:00 0\n";
            assert_eq!(code_of(maps, 0x2004), [(0x2000, 0x3000), (0x8000, 0x1000)]);
            assert_eq!(code_of(maps, 0x7fff), [(0x7000, 0x1000)]);
            assert_eq!(code_of(maps, 0x9000), []);
            assert_eq!(code_of(maps, 0xb000), []);
        }

        /// Returns the resident bytes of the code of this program.
        fn resident_code() -> usize {
            let mut is_code = false;
            let mut kilobytes = 0;
            let code = code_of(&std::fs::read_to_string("/proc/self/maps").unwrap(), resident_code as *const () as usize);
            for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
                if let Some(mapping) = Mapping::parse(line).filter(|_| line.contains('-')) {
                    is_code = code.contains(&(mapping.start, mapping.end - mapping.start));
                } else if let Some(size) = line.strip_prefix("Rss:").filter(|_| is_code) {
                    kilobytes += size.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
                }
            }
            kilobytes << 10
        }

        #[test]
        fn code_runs_on_after_it_was_released() {
            // Sorting and formatting touch code.
            let mut words: Vec<String> = (0..1000).map(|i| format!("{:x}", i * 7919 % 1000)).collect();
            words.sort();
            let before = resident_code();
            release_code();
            let after = resident_code();
            assert!(after < before, "{after} of {before} bytes");
            words.sort_by_key(|word| std::cmp::Reverse(word.clone()));
            assert_eq!(words.first().map(String::as_str), Some("ff"));
        }
    }
}
