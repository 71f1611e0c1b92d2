//! System calls that the standard library does not have: scheduling of threads, and the memory of code and constants.
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

/// Returns the resident pages of this module's code and constants to the system, which keeps them as long as it has memory; what is used again is mapped again, in
/// groups of pages. For after a model was loaded: half of the code that is resident then does nothing but load models, and a third of the constants are relocations
/// that were read once, at the start.
pub(crate) fn release_code_and_constants() {
    #[cfg(target_os = "linux")]
    linux::release_code_and_constants();
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

    pub(super) fn release_code_and_constants() {
        for (start, length) in unwritten_segments(release_code_and_constants as *const () as usize) {
            // SAFETY: the pages are a private mapping of a file which nothing may write, and the dynamic linker has not written either: they hold what the file
            // holds, and are read from it again.
            let released = unsafe { madvise(start as *mut c_void, length, Advice::LinuxDontNeed) };
            if let Err(error) = released {
                tracing::debug!(%error, "pages of code cannot be released");
            }
        }
    }

    /// Returns the addresses and lengths of the segments of the program or library that holds the code at `address`, without those that are written. A
    /// segment whose relocations the dynamic linker has written counts as written, although its pages cannot be written afterwards.
    fn unwritten_segments(address: usize) -> Vec<(usize, usize)> {
        struct Search {
            address: usize,
            found: Vec<(usize, usize)>,
        }

        /// Adds the segments of one module to the `Search` at `data` if it holds the address.
        unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: libc::size_t, data: *mut c_void) -> libc::c_int {
            // SAFETY: the dynamic linker passes a valid module with `dlpi_phnum` headers, and the `Search` given to `dl_iterate_phdr`.
            let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
            // SAFETY: as above.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
            let base = info.dlpi_addr as usize;
            let segments = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let range = |header: &Header| {
                let start = base.wrapping_add(header.p_vaddr as usize);
                start..start.wrapping_add(header.p_memsz as usize)
            };
            if !segments().any(|header| range(header).contains(&search.address)) {
                return 0;
            }
            let page = rustix::param::page_size();
            search.found = segments()
                .filter(|header| header.p_flags & libc::PF_W == 0)
                .map(|header| {
                    let start = range(header).start / page * page;
                    (start, range(header).end.next_multiple_of(page) - start)
                })
                .collect();
            1
        }

        let mut search = Search { address, found: Vec::new() };
        // SAFETY: `visit` fits the declared type, and `search` lives until the call returns.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
        search.found
    }

    #[cfg(target_pointer_width = "64")]
    type Header = libc::Elf64_Phdr;
    #[cfg(target_pointer_width = "32")]
    type Header = libc::Elf32_Phdr;

    #[cfg(test)]
    mod tests {
        #![allow(clippy::unwrap_used)]

        use super::*;
        use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

        /// Counts in memory that a test writes.
        static COUNT: AtomicUsize = AtomicUsize::new(7);
        /// A constant with a relocation: the dynamic linker writes its address, and makes the page read-only.
        static WORDS: [&str; 2] = ["first", "second"];

        #[test]
        fn segments_hold_code_and_constants_and_nothing_written() {
            let segments = unwritten_segments(release_code_and_constants as *const () as usize);
            let holds = |address: usize| segments.iter().any(|&(start, length)| (start..start + length).contains(&address));
            assert!(holds(release_code_and_constants as *const () as usize));
            assert!(holds(WORDS[0].as_ptr() as usize));
            assert!(!holds((&raw const COUNT) as usize));
            assert!(!holds((&raw const WORDS) as usize));
            assert!(!holds(libc::getpid as *const () as usize), "another module");
            assert!(unwritten_segments(0).is_empty());
            assert_eq!(COUNT.fetch_add(1, Relaxed), 7);
        }

        /// Returns the resident kilobytes of the code and the constants of this program.
        fn resident_code() -> usize {
            let segments = unwritten_segments(resident_code as *const () as usize);
            let mut is_code = false;
            let mut kilobytes = 0;
            for line in std::fs::read_to_string("/proc/self/smaps").unwrap().lines() {
                let start = line.split_once('-').and_then(|(start, _)| usize::from_str_radix(start, 16).ok());
                if let Some(start) = start {
                    is_code = segments.iter().any(|segment| segment.0 == start);
                } else if let Some(size) = line.strip_prefix("Rss:").filter(|_| is_code) {
                    kilobytes += size.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
                }
            }
            kilobytes
        }

        #[test]
        fn code_runs_on_after_it_was_released() {
            // Sorting and formatting touch code.
            let mut words: Vec<String> = (0..1000).map(|i| format!("{:x}", i * 7919 % 1000)).collect();
            words.sort();
            let before = resident_code();
            release_code_and_constants();
            let after = resident_code();
            assert!(after < before, "{after} of {before} KiB");
            words.sort_by_key(|word| std::cmp::Reverse(word.clone()));
            assert_eq!(words.first().map(String::as_str), Some("ff"));
        }
    }
}
