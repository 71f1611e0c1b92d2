//! Flushing of denormal numbers to zero while kernels run.
//!
//! TensorFlow's threads treat denormal operands as zeros and flush denormal results: `1e-40 * 1` is 0 in `float32`, and `1e-40 > 0` is false.
//! Kernels that only move bits keep denormals. Every thread that runs kernels here is in the same mode: a pool's threads always, the caller's
//! thread from the start of a run to its end. Callbacks into the caller's code are made in the processor's usual mode.
//!
//! A change of mode costs a few nanoseconds, once per run. On processors other than x86-64 and AArch64, denormals are kept.

use std::marker::PhantomData;

/// Restores the thread's mode when dropped.
#[must_use]
pub struct ModeGuard {
    before: Mode,
    /// The mode is the thread's.
    _not_send: PhantomData<*const ()>,
}

impl Drop for ModeGuard {
    fn drop(&mut self) {
        set(self.before);
    }
}

/// Flushes denormals on this thread until the guard is dropped.
pub fn flush() -> ModeGuard {
    change(|mode| mode | FLUSH)
}

/// Keeps denormals on this thread until the guard is dropped. Used around callbacks into the caller's code.
pub fn keep() -> ModeGuard {
    change(|mode| mode & !FLUSH)
}

/// Flushes denormals on this thread for as long as it lives.
pub(crate) fn flush_forever() {
    set(get() | FLUSH);
}

fn change(f: impl FnOnce(Mode) -> Mode) -> ModeGuard {
    let before = get();
    set(f(before));
    ModeGuard { before, _not_send: PhantomData }
}

fn set(mode: Mode) {
    if mode & FLUSH != get() & FLUSH {
        write(mode & FLUSH | get() & !FLUSH);
    }
}

#[cfg(target_arch = "x86_64")]
mod register {
    pub(super) type Mode = u32;
    /// Flush-to-zero and denormals-are-zero.
    pub(super) const FLUSH: Mode = 1 << 15 | 1 << 6;

    pub(super) fn get() -> Mode {
        let mut mode: Mode = 0;
        // SAFETY: the instruction stores four bytes to a variable of that size.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
        mode
    }

    pub(super) fn write(mode: Mode) {
        // SAFETY: reads four bytes of a variable of that size. Only the two bits of `FLUSH` differ from what the register held: rounding and
        // exceptions stay as the compiler expects them, and which denormals its folded constants keep does not matter to any kernel.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack, preserves_flags, readonly)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod register {
    pub(super) type Mode = u64;
    /// The bit FZ of FPCR.
    pub(super) const FLUSH: Mode = 1 << 24;

    pub(super) fn get() -> Mode {
        let mode: Mode;
        // SAFETY: reads a register that user code may read.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) mode, options(nomem, nostack, preserves_flags)) };
        mode
    }

    pub(super) fn write(mode: Mode) {
        // SAFETY: as for the other architecture: only `FLUSH` differs from what the register held.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) mode, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod register {
    pub(super) type Mode = u32;
    pub(super) const FLUSH: Mode = 0;

    pub(super) fn get() -> Mode {
        0
    }

    pub(super) fn write(_: Mode) {}
}

use register::{FLUSH, Mode, get, write};

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::{flush, keep};
    use std::hint::black_box;

    fn product() -> f32 {
        black_box(1e-30f32) * black_box(1e-10f32)
    }

    #[test]
    fn guards_nest_and_restore() {
        assert_ne!(product(), 0.0);
        {
            let _flush = flush();
            assert_eq!(product().to_bits(), 0);
            {
                let _keep = keep();
                assert_ne!(product().to_bits(), 0);
            }
            assert_eq!(product().to_bits(), 0);
        }
        assert_ne!(product(), 0.0);
    }
}
