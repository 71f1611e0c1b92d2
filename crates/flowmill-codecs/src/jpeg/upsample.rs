//! Upsampling of components that have fewer samples than the image has pixels.

use super::Plane;
use super::frame::{Component, Frame};

/// The method by which a component's rows are brought to the image's width and height.
pub(super) enum Method {
    /// Repeats each sample for `h` × `v` pixels.
    Repeat { h: usize, v: usize },
    /// Doubles the width with a triangle filter.
    FancyWidth,
    /// Doubles the height with a triangle filter.
    FancyHeight,
    /// Doubles both with a triangle filter.
    FancyBoth,
}

impl Method {
    /// Returns the method that libjpeg chooses, or `None` if the sampling factors do not divide.
    pub(super) fn new(frame: &Frame, c: &Component, fancy: bool) -> Option<Method> {
        let (h_in, v_in) = (c.h * c.scale / frame.min_scale, c.v * c.scale / frame.min_scale);
        let (h_out, v_out) = (frame.max_h, frame.max_v);
        let fancy = fancy && frame.min_scale > 1;
        if h_in == 0 || v_in == 0 || h_out % h_in != 0 || v_out % v_in != 0 {
            return None;
        }
        Some(match (h_out / h_in, v_out / v_in) {
            (2, 1) if fancy && c.width > 2 => Method::FancyWidth,
            (1, 2) if fancy => Method::FancyHeight,
            (2, 2) if fancy && c.width > 2 => Method::FancyBoth,
            (h, v) => Method::Repeat { h, v },
        })
    }

    /// Writes row `y` of the image, of `width` samples, to `out`.
    pub(super) fn row(&self, plane: &Plane, y: usize, width: usize, out: &mut Vec<u8>) {
        out.clear();
        match *self {
            Method::Repeat { h, v } => {
                let row = plane.row(y / v);
                out.extend((0..width).map(|x| row[(x / h).min(row.len() - 1)]));
            }
            Method::FancyWidth => {
                let row = plane.row(y);
                out.extend((0..width).map(|x| wide(|i| i32::from(row[i]), row.len(), x, 2, [1, 2])));
            }
            Method::FancyHeight => {
                let (near, far, below) = rows(plane, y);
                let bias = if below { 2 } else { 1 };
                out.extend(near.iter().zip(far).take(width).map(|(&a, &b)| ((i32::from(a) * 3 + i32::from(b) + bias) >> 2) as u8));
            }
            Method::FancyBoth => {
                let (near, far, _) = rows(plane, y);
                let sum = |i: usize| i32::from(near[i]) * 3 + i32::from(far[i]);
                out.extend((0..width).map(|x| wide(sum, near.len(), x, 4, [8, 7])));
            }
        }
    }
}

/// Returns the rows that row `y` of an upsampled plane of twice the height is interpolated from, the nearest one first, and true if the other one
/// is below it.
fn rows(plane: &Plane, y: usize) -> (&[u8], &[u8], bool) {
    let (at, below) = (y / 2, y % 2 == 1);
    let far = if below { at + 1 } else { at.saturating_sub(1) };
    (plane.row(at), plane.row(far), below)
}

/// Returns pixel `x` of a row of twice the width: three parts of the nearest sample and one part of the next; the outer pixels are the outer
/// samples. The sum is shifted right by `shift` bits; `bias` rounds even and odd pixels.
fn wide(sample: impl Fn(usize) -> i32, len: usize, x: usize, shift: u32, bias: [i32; 2]) -> u8 {
    let (at, odd) = ((x / 2).min(len - 1), x % 2 == 1);
    let next = if odd { at + 1 } else { at.wrapping_sub(1) };
    let bias = bias[usize::from(odd)];
    if next >= len {
        return ((sample(at) * 4 + bias) >> shift) as u8;
    }
    ((sample(at) * 3 + sample(next) + bias) >> shift) as u8
}
