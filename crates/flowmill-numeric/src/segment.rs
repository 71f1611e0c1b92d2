//! Reductions of the rows of a segment to one row.

use crate::elementwise::Word;

/// Computes `acc[c] = merge(acc[c], row[c])` for each row of `rows`, first to last. A row has as many elements as `acc`.
pub fn merge_rows<A: Copy, T: Word, F: Fn(A, T) -> A>(acc: &mut [A], rows: &[T], merge: F) {
    if T::WIDE { merge_rows_wide(acc, rows, merge) } else { merge_each(acc, rows, merge) }
}

#[inline(always)]
fn merge_each<A: Copy, T: Copy, F: Fn(A, T) -> A>(acc: &mut [A], rows: &[T], merge: F) {
    for row in rows.chunks_exact(acc.len().max(1)) {
        for (acc, &x) in acc.iter_mut().zip(row) {
            *acc = merge(*acc, x);
        }
    }
}

crate::dispatch! {
    fn merge_rows_wide<A, T, F>(acc: &mut [A], rows: &[T], merge: F) where [A: Copy, T: Copy, F: Fn(A, T) -> A] {
        merge_each(acc, rows, merge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_merge_first_to_last() {
        for (width, rows) in [(0, 3), (1, 5), (3, 0), (7, 4), (16, 3), (67, 9)] {
            let x: Vec<f32> = (0..width * rows).map(|i| 1.0 / (i as f32 + 1.0)).collect();
            let mut got = vec![0.5f32; width];
            merge_rows(&mut got, &x, |acc, x: f32| acc - x);
            for (c, got) in got.iter().enumerate() {
                let want = (0..rows).fold(0.5, |acc, r| acc - x[r * width + c]);
                assert_eq!(got.to_bits(), f32::to_bits(want), "column {c} of {rows} x {width}");
            }
        }
    }
}
