//! The gradient of maximum pools of `f32`: the maxima of a window and their taps stay in registers.

use super::taps::{RowOfWindows, Taps, for_taps};
use super::{FEW_TAPS, volume_len};
use crate::simd::vector::MathVector;
use crate::simd::{for_each_isa, isa};
use crate::window::Volume;

/// Adds the gradients of row `y` of plane `z` of windows to the maxima of a volume, or overwrites its elements if `replace` is set.
///
/// # Panics
/// If a slice is shorter than the volume.
pub(super) fn add_row(v: &Volume, z: usize, y: usize, input: &[f32], gradients: &[f32], to: &mut [f32], replace: bool) {
    let len = volume_len(v);
    assert!(input.len() >= len && to.len() >= len, "{} and {} elements for a volume of {len}", input.len(), to.len());
    let windows = RowOfWindows::new(v, 0, z, y);
    // SAFETY: `isa` is one that the CPU has; all taps lie inside the volume, and so inside both slices.
    unsafe { add_windows(isa(), &windows, v.channels, input.as_ptr(), gradients, to.as_mut_ptr(), replace) }
}

for_each_isa! {
    unsafe fn add_windows(windows: &RowOfWindows, channels: usize, input: *const f32, gradients: &[f32], to: *mut f32, replace: bool)
        = add_windows_kernel::<f32>;
}

/// # Safety
/// The CPU has V's instruction set; `input` and `to` are good for the volume of the windows.
#[inline(always)]
unsafe fn add_windows_kernel<V: MathVector>(
    windows: &RowOfWindows,
    channels: usize,
    input: *const f32,
    gradients: &[f32],
    to: *mut f32,
    replace: bool,
) {
    for (x, gradients) in gradients.chunks_exact(channels).enumerate() {
        let taps = windows.at(x);
        let mut c = 0;
        while c < channels {
            let n = V::LANES.min(channels - c);
            // SAFETY: the `n` channels from `c` on are those of each tap and of the gradients.
            unsafe {
                let (input, gradients, to) = (input.add(c), gradients.as_ptr().add(c), to.add(c));
                if n == V::LANES {
                    add_window::<V, true>(&taps, n, input, gradients, to, replace);
                } else {
                    add_window::<V, false>(&taps, n, input, gradients, to, replace);
                }
            }
            c += n;
        }
    }
}

/// Loads a vector if it is `WHOLE`, otherwise its first `n` elements.
///
/// # Safety
/// The CPU has V's instruction set, and the elements are readable.
#[inline(always)]
unsafe fn load<V: MathVector, const WHOLE: bool>(p: *const f32, n: usize) -> V {
    // SAFETY: the caller guarantees it.
    unsafe { if WHOLE { V::load(p) } else { V::load_part(p, n) } }
}

/// Adds the gradients of `n` channels of a window to the first of its maxima, or overwrites the elements of all its taps if `replace` is set.
///
/// # Safety
/// The CPU has V's instruction set; `n` elements are readable at each tap of `input` and at `gradients`, and writable at each tap of `to`.
#[inline(always)]
unsafe fn add_window<V: MathVector, const WHOLE: bool>(
    taps: &Taps,
    n: usize,
    input: *const f32,
    gradients: *const f32,
    to: *mut f32,
    replace: bool,
) {
    // SAFETY: the caller guarantees it.
    unsafe {
        let (mut best, mut at) = (V::splat(f32::MIN), V::from_bits(V::int_splat(-1)));
        let mut tap = 0;
        for_taps!(taps, |place| {
            let from = load::<V, WHOLE>(input.add(place), n);
            let is_higher = best.lt(from);
            best = V::select(is_higher, from, best);
            at = V::select(is_higher, V::from_bits(V::int_splat(tap)), at);
            tap += 1;
        });
        // A window whose elements are all NaN or the lowest value has no maximum, so its gradient is dropped.
        if taps.len() <= FEW_TAPS {
            let gradients = load::<V, WHOLE>(gradients, n);
            let mut tap = 0;
            for_taps!(taps, |place| {
                let part = V::select(V::int_eq(at.bits(), V::int_splat(tap)), gradients, V::zero());
                let to = to.add(place);
                let sum = if replace { part } else { load::<V, WHOLE>(to, n).add(part) };
                if WHOLE {
                    sum.store(to);
                } else {
                    sum.store_part(to, n);
                }
                tap += 1;
            });
        } else {
            let mut taps_of_maxima = [0.0f32; 16];
            at.store(taps_of_maxima.as_mut_ptr());
            for (l, tap) in taps_of_maxima.iter().map(|tap| tap.to_bits()).enumerate().take(n) {
                if tap != u32::MAX {
                    *to.add(taps.place(tap as usize) + l) += *gradients.add(l);
                }
            }
        }
    }
}
