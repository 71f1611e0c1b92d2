//! Ctrl-C while a step runs on Python's main thread.
//!
//! Python's own handler of SIGINT only notes that the signal came; `KeyboardInterrupt` is raised when the main thread next runs Python code,
//! which a long step keeps it from. So a second handler in front of Python's counts the signals, and a thread that looks every
//! [`LOOK`] cancels the step that was running when the count rose. Short steps pay for two uncontended locks.
//!
//! Only the default handler's meaning is known: where a program has set a handler of its own, it is called when the step has ended.

use flowmill_runtime::CancelToken;
use flowmill_tensor::Error;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// How often the watching thread looks.
const LOOK: Duration = Duration::from_millis(50);

/// After so many looks without a step on the main thread the watching thread sleeps until there is one.
const IDLE_LOOKS: u32 = 40;

/// SIGINTs so far.
static SIGNALS: AtomicU64 = AtomicU64::new(0);
/// The step on the main thread; the innermost, where a step calls Python code that runs another.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);
static WATCHER: OnceLock<Thread> = OnceLock::new();
static ASLEEP: AtomicBool = AtomicBool::new(false);

#[derive(Clone)]
struct Running {
    token: CancelToken,
    /// [`SIGNALS`] when Python had last looked at them.
    signals: u64,
}

/// Ends the watch of a step when dropped.
pub struct Watch(Option<Running>);

impl Drop for Watch {
    fn drop(&mut self) {
        *RUNNING.lock() = self.0.take();
    }
}

/// Has `token` cancelled by a SIGINT from now on. `None` on threads that are not the main one, where signals are not for.
///
/// # Errors
/// What a signal's handler raises, if one came before.
pub fn watch(py: Python<'_>, token: &CancelToken) -> PyResult<Option<Watch>> {
    if !is_main_thread(py)? {
        return Ok(None);
    }
    let signals = SIGNALS.load(Ordering::SeqCst);
    py.check_signals()?;
    let watcher = match WATCHER.get() {
        Some(watcher) => watcher,
        None => match start() {
            Some(watcher) => watcher,
            None => return Ok(None),
        },
    };
    let outer = RUNNING.lock().replace(Running { token: token.clone(), signals });
    // The watcher sleeps only after it said so and found nothing running under the lock.
    if ASLEEP.load(Ordering::SeqCst) {
        watcher.unpark();
    }
    Ok(Some(Watch(outer)))
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    thread_local! {
        static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }
    if let Some(known) = IS_MAIN.get() {
        return Ok(known);
    }
    let threading = py.import("threading")?;
    let is_main = threading.call_method0("main_thread")?.getattr("ident")?.eq(threading.call_method0("get_ident")?)?;
    IS_MAIN.set(Some(is_main));
    Ok(is_main)
}

/// Starts counting and watching, once in the process. `None` where there is no thread to be had.
fn start() -> Option<&'static Thread> {
    handler::install();
    let spawned = std::thread::Builder::new().name("flowmill-sigint".to_owned()).spawn(look).ok()?;
    Some(WATCHER.get_or_init(|| spawned.thread().clone()))
}

fn look() {
    let mut idle = 0;
    loop {
        let running = RUNNING.lock().clone();
        match running {
            Some(running) => {
                idle = 0;
                handler::install();
                if SIGNALS.load(Ordering::SeqCst) != running.signals && Python::attach(|py| is_default_handler(py).unwrap_or(false)) {
                    running.token.cancel(Error::cancelled("Interrupted"));
                }
            }
            None if idle < IDLE_LOOKS => idle += 1,
            None => {
                ASLEEP.store(true, Ordering::SeqCst);
                // A step that began before the store is seen here; a later one sees the store.
                if RUNNING.lock().is_none() {
                    std::thread::park();
                }
                ASLEEP.store(false, Ordering::SeqCst);
                idle = 0;
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether SIGINT means `KeyboardInterrupt`.
fn is_default_handler(py: Python<'_>) -> PyResult<bool> {
    let signal = py.import("signal")?;
    let handler = signal.call_method1("getsignal", (signal.getattr("SIGINT")?,))?;
    Ok(handler.is(&signal.getattr("default_int_handler")?))
}

#[cfg(unix)]
mod handler {
    use super::SIGNALS;
    use std::mem::MaybeUninit;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The handler that was there before, called after ours: never 0 once ours is installed.
    static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

    /// Puts the counting handler in front of the process's own, unless it is there or SIGINT has no handler. Cheap to repeat: a program may
    /// have set another one since.
    pub fn install() {
        let ours = count as extern "C" fn(libc::c_int) as usize;
        let mut action = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: a null new action only reads; the kernel fills the old one where it returns 0.
        let mut action = unsafe {
            if libc::sigaction(libc::SIGINT, std::ptr::null(), action.as_mut_ptr()) != 0 {
                return;
            }
            action.assume_init()
        };
        let has_info = action.sa_flags & libc::SA_SIGINFO != 0;
        if action.sa_sigaction == ours || action.sa_sigaction == libc::SIG_DFL || action.sa_sigaction == libc::SIG_IGN || has_info {
            return;
        }
        PREVIOUS.store(action.sa_sigaction, Ordering::SeqCst);
        action.sa_sigaction = ours;
        // SAFETY: the action differs from the one read only in its handler, which is async-signal-safe and calls the one it replaces.
        unsafe { libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut()) };
    }

    extern "C" fn count(signal: libc::c_int) {
        SIGNALS.fetch_add(1, Ordering::SeqCst);
        let previous = PREVIOUS.load(Ordering::SeqCst);
        if previous != 0 {
            // SAFETY: the address is that of the handler the process had, which takes the signal's number (it was set without SA_SIGINFO).
            let previous: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(previous) };
            previous(signal);
        }
    }
}

#[cfg(not(unix))]
mod handler {
    /// Steps are not interrupted where there are no signals.
    pub fn install() {}
}
