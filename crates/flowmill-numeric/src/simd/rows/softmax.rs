//! Softmax and its logarithm.

use super::super::math::{exp_of_negative, log};
use super::super::vector::MathVector;
use super::super::{Isa, for_each_isa, isa};
use super::{fold_lanes, for_each_piece, greater_or_nan, rows_of};

/// Computes `exp(x - max) / sum` of each row of `cols` elements.
///
/// # Panics
/// If `cols` does not divide the length, or the lengths differ.
pub fn softmax(dst: &mut [f32], src: &[f32], cols: usize) {
    softmax_for(isa(), dst, src, cols, false);
}

/// Computes `x - max - ln(sum of exp(x - max))` of each row of `cols` elements.
///
/// # Panics
/// If `cols` does not divide the length, or the lengths differ.
pub fn log_softmax(dst: &mut [f32], src: &[f32], cols: usize) {
    softmax_for(isa(), dst, src, cols, true);
}

/// Like [`softmax`], in place.
///
/// # Panics
/// If `cols` does not divide the length.
pub fn softmax_in_place(x: &mut [f32], cols: usize) {
    softmax_in_place_for(isa(), x, cols, false);
}

/// Like [`log_softmax`], in place.
///
/// # Panics
/// If `cols` does not divide the length.
pub fn log_softmax_in_place(x: &mut [f32], cols: usize) {
    softmax_in_place_for(isa(), x, cols, true);
}

fn softmax_in_place_for(isa: Isa, x: &mut [f32], cols: usize, logarithm: bool) {
    let rows = rows_of(x, x, cols);
    if rows > 0 {
        for_each_piece(rows, cols, x, cols, |_, rows, x| {
            let x = x.as_mut_ptr();
            // SAFETY: the CPU has `isa`; the slice holds `rows` rows of `cols` and is source and destination.
            unsafe { softmax_rows(isa, x, x.cast_const(), rows, cols, logarithm) }
        });
    }
}

fn softmax_for(isa: Isa, dst: &mut [f32], src: &[f32], cols: usize, logarithm: bool) {
    let rows = rows_of(dst, src, cols);
    if rows > 0 {
        for_each_piece(rows, cols, dst, cols, |first, rows, dst| {
            let src = &src[first * cols..][..rows * cols];
            // SAFETY: the CPU has `isa`; both slices hold `rows` rows of `cols`.
            unsafe { softmax_rows(isa, dst.as_mut_ptr(), src.as_ptr(), rows, cols, logarithm) }
        });
    }
}

for_each_isa! {
    unsafe fn softmax_rows(dst: *mut f32, src: *const f32, rows: usize, cols: usize, logarithm: bool)
        = softmax_kernel::<f32>;
}

/// # Safety
/// The CPU has V's instruction set; `dst` and `src` hold `rows` rows of `cols >= 1` and are equal or disjoint.
#[inline(always)]
unsafe fn softmax_kernel<V: MathVector>(dst: *mut f32, src: *const f32, rows: usize, cols: usize, logarithm: bool) {
    let together = if cols < V::LANES { rows / V::LANES * V::LANES } else { 0 };
    for row in (0..together).step_by(V::LANES) {
        // SAFETY: as many rows as a vector has lanes lie inside both.
        unsafe { softmax_of_short_rows::<V>(dst.add(row * cols), src.add(row * cols), cols, logarithm) };
    }
    for row in together..rows {
        // SAFETY: the row lies inside both.
        unsafe {
            let (src, dst) = (src.add(row * cols), dst.add(row * cols));
            if cols < V::LANES {
                softmax_of_part::<V>(dst, src, cols, logarithm);
            } else {
                softmax_of_row::<V>(dst, src, cols, logarithm);
            }
        }
    }
}

/// Computes as many rows of less than a vector as a vector has lanes, one in each lane. The results have the bits of [`softmax_of_part`].
///
/// One after the other, rows take several times as long in place, because a row's load waits for the masked store of the row before.
///
/// # Safety
/// The CPU has V's instruction set; `dst` and `src` hold so many rows of `cols` elements, from 1 to the lanes of a vector, and are equal or disjoint.
#[inline(always)]
unsafe fn softmax_of_short_rows<V: MathVector>(dst: *mut f32, src: *const f32, cols: usize, logarithm: bool) {
    let mut columns = [0.0f32; 16 * 16];
    // SAFETY: no vector has more than 16 lanes, so that `columns` holds all rows; the caller guarantees the rest.
    unsafe {
        for row in 0..V::LANES {
            for c in 0..cols {
                columns[c * V::LANES + row] = *src.add(row * cols + c);
            }
        }
        let column = columns.as_mut_ptr();
        let mut max = V::load(column);
        for c in 1..cols {
            max = max.max(V::load(column.add(c * V::LANES)));
        }
        let mut sum = V::zero();
        for c in 0..cols {
            let x = V::load(column.add(c * V::LANES)).sub(max);
            let e = exp_of_negative(x);
            sum = sum.add(e);
            (if logarithm { x } else { e }).store(column.add(c * V::LANES));
        }
        let finish = if logarithm { log(sum) } else { V::splat(1.0).div(sum) };
        for c in 0..cols {
            let y = V::load(column.add(c * V::LANES));
            (if logarithm { y.sub(finish) } else { y.mul(finish) }).store(column.add(c * V::LANES));
        }
        for row in 0..V::LANES {
            for c in 0..cols {
                *dst.add(row * cols + c) = columns[c * V::LANES + row];
            }
        }
    }
}

/// Computes a row of less than a vector. Its sum is computed in order.
///
/// # Safety
/// The CPU has V's instruction set; `dst` and `src` hold `cols` elements, from 1 to the lanes of a vector, and are equal or disjoint.
#[inline(always)]
unsafe fn softmax_of_part<V: MathVector>(dst: *mut f32, src: *const f32, cols: usize, logarithm: bool) {
    // SAFETY: the caller guarantees it.
    unsafe {
        let x = V::load_part_or(src, cols, f32::NEG_INFINITY);
        let max = V::splat(fold_lanes(x, greater_or_nan));
        let e = exp_of_negative(x.sub(max));
        let mut lanes = [0.0f32; 16];
        e.store(lanes.as_mut_ptr());
        let sum = V::splat(lanes[..cols].iter().fold(0.0, |sum, e| sum + e));
        let y = if logarithm { x.sub(max).sub(log(sum)) } else { e.mul(V::splat(1.0).div(sum)) };
        y.store_part(dst, cols);
    }
}

/// Computes a row of at least one vector. The last vector overlaps the one before instead of holding less: a load whose bytes overlap those of a
/// masked store, if only behind its mask, waits until the store has left the core, and the next row begins there.
///
/// # Safety
/// The CPU has V's instruction set; `dst` and `src` hold `cols` elements, at least as many as a vector, and are equal or disjoint.
#[inline(always)]
unsafe fn softmax_of_row<V: MathVector>(dst: *mut f32, src: *const f32, cols: usize, logarithm: bool) {
    // SAFETY: all vectors lie inside the row.
    unsafe {
        let whole = cols / V::LANES * V::LANES;
        let last = cols - V::LANES;
        // Read before anything is written, because the row may be computed in place.
        let tail = V::load(src.add(last));
        let mut max = tail;
        for i in (0..whole).step_by(V::LANES) {
            max = max.max(V::load(src.add(i)));
        }
        let max = V::splat(fold_lanes(max, greater_or_nan));
        let mut sum = V::zero();
        for i in (0..whole).step_by(V::LANES) {
            let e = exp_of_negative(V::load(src.add(i)).sub(max));
            sum = sum.add(e);
            if !logarithm {
                e.store(dst.add(i));
            }
        }
        let mut tail = tail.sub(max);
        if whole < cols {
            let e = exp_of_negative(tail);
            if !logarithm {
                tail = e;
            }
            // The elements before `whole` are in the sum already.
            let is_counted = V::load(LANE_NUMBERS.as_ptr()).lt(V::splat((whole - last) as f32));
            sum = sum.add(V::select(is_counted, V::zero(), e));
        }
        let sum = V::splat(sum.sum());
        let finish = if logarithm { log(sum) } else { V::splat(1.0).div(sum) };
        for i in (0..whole).step_by(V::LANES) {
            let y = if logarithm { V::load(src.add(i)).sub(max).sub(finish) } else { V::load(dst.cast_const().add(i)).mul(finish) };
            y.store(dst.add(i));
        }
        if whole < cols {
            let y = if logarithm { tail.sub(finish) } else { tail.mul(finish) };
            y.store(dst.add(last));
        }
    }
}

/// The numbers of the lanes of a vector.
const LANE_NUMBERS: [f32; 16] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, values};
    use super::*;

    #[test]
    fn softmax_of_rows_of_any_length() {
        for cols in [1, 2, 7, 10, 16, 17, 31, 33, 49, 128, 1001] {
            let src = values(5 * cols);
            let mut want = vec![];
            let mut want_log = vec![];
            for row in src.chunks(cols) {
                let max = row.iter().fold(f32::MIN, |a, b| a.max(*b));
                let e: Vec<f64> = row.iter().map(|x| f64::from(x - max).exp()).collect();
                let sum: f64 = e.iter().sum();
                want.extend(e.iter().map(|e| e / sum));
                want_log.extend(row.iter().map(|x| f64::from(x - max) - sum.ln()));
            }
            for isa in Isa::available() {
                let mut dst = vec![f32::NAN; src.len()];
                softmax_for(isa, &mut dst, &src, cols, false);
                assert_close(&dst, &want, "softmax");
                softmax_for(isa, &mut dst, &src, cols, true);
                assert_close(&dst, &want_log, "log_softmax");
                let mut in_place = src.clone();
                softmax_in_place_for(isa, &mut in_place, cols, true);
                assert_eq!(in_place, dst, "in place");
            }
        }
    }

    #[test]
    fn bits_of_a_short_row_do_not_depend_on_the_rows_beside_it() {
        for cols in 1..16 {
            let src = values(37 * cols);
            for isa in Isa::available() {
                for logarithm in [false, true] {
                    let (mut together, mut alone) = (src.clone(), vec![0.0; src.len()]);
                    softmax_in_place_for(isa, &mut together, cols, logarithm);
                    for (dst, src) in alone.chunks_mut(cols).zip(src.chunks(cols)) {
                        softmax_for(isa, dst, src, cols, logarithm);
                    }
                    assert_eq!(together, alone, "{cols} columns, {isa:?}");
                }
            }
        }
        let mut rows = [1.0f32; 16 * 3];
        (rows[4], rows[9]) = (f32::NAN, f32::INFINITY);
        softmax_in_place(&mut rows, 3);
        assert!(rows[3..6].iter().chain(&rows[9..12]).all(|x| x.is_nan()), "{rows:?}");
        assert!(rows[6..9].iter().chain(&rows[12..]).all(|&x| x == 1.0 / 3.0), "{rows:?}");
    }

    #[test]
    fn softmax_of_special_values() {
        let mut dst = [0.0; 4];
        softmax(&mut dst, &[f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY, 0.0], 4);
        assert_eq!(dst, [0.0, 0.5, 0.0, 0.5]);
        softmax(&mut dst, &[1.0, f32::NAN, 5.0, 6.0], 4);
        assert!(dst.iter().all(|x| x.is_nan()));
        softmax(&mut dst, &[1e30, 1e30, -1e30, 1e30], 4);
        assert_close(&dst, &[1.0 / 3.0, 1.0 / 3.0, 0.0, 1.0 / 3.0], "large");
        softmax(&mut [], &[], 0);
        log_softmax(&mut dst, &[-1000.0, 0.0, 0.0, 0.0], 4);
        assert_close(&dst, &[-1_001.098_6, -1.098_612_3, -1.098_612_3, -1.098_612_3], "far");
    }
}
