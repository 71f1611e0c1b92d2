//! Hints to bring memory into the caches before it is used. Any address is harmless.

/// The bytes that come into a cache together.
pub(crate) const LINE: usize = 64;

macro_rules! hints {
    ($($(#[$meta:meta])* $name:ident = $x86:ident, $arm:literal;)*) => {$(
        $(#[$meta])*
        #[inline(always)]
        pub(crate) fn $name<T>(at: *const T) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a prefetch changes nothing that the program sees. Processors that do not know a hint ignore it.
            unsafe {
                use std::arch::x86_64::{$x86, _mm_prefetch};
                _mm_prefetch::<$x86>(at.cast());
            }
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            unsafe {
                std::arch::asm!(concat!("prfm ", $arm, ", [{0}]"), in(reg) at, options(nostack, preserves_flags, readonly));
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            let _ = at;
        }
    )*};
}

hints! {
    /// Brings the line of `at` into the L1 cache.
    for_read = _MM_HINT_T0, "pldl1keep";
    /// Brings the line of `at` into the L2 cache.
    for_later = _MM_HINT_T1, "pldl2keep";
    /// Brings the line of `at` into the L1 cache, to be written.
    for_write = _MM_HINT_ET0, "pstl1keep";
}
