//! The elements of a pool's windows.

use crate::window::{Axis, Volume};
use std::ops::Range;

/// The elements of a window that lie inside the volume.
pub(super) struct Taps {
    /// The first channel of the first tap, in the whole input or in one volume.
    pub(super) first: usize,
    /// The numbers of planes, rows and columns, all zero if there are no elements.
    pub(super) sizes: [usize; 3],
    /// Elements between planes, between rows, and between columns, of the window.
    pub(super) steps: [usize; 3],
}

impl Taps {
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Returns the first channel of a tap, whose number counts in the order of memory.
    #[inline(always)]
    pub(super) fn place(&self, tap: usize) -> usize {
        let [_, rows, columns] = self.sizes;
        let (k, i, j) = (tap / columns / rows, tap / columns % rows, tap % columns);
        self.first + k * self.steps[0] + i * self.steps[1] + j * self.steps[2]
    }
}

/// A row of windows: what their taps have in common, as divisions per window would take longer than a small window's arithmetic.
pub(super) struct RowOfWindows {
    columns: Axis,
    channels: usize,
    /// The windows that lie inside the volume along the columns.
    inside: Range<usize>,
    /// The taps of a window whose first column is column zero.
    taps: Taps,
}

impl RowOfWindows {
    /// Returns the windows at plane `z` and row `y` of a volume that begins at element `volume`.
    #[inline(always)]
    pub(super) fn new(v: &Volume, volume: usize, z: usize, y: usize) -> RowOfWindows {
        let [planes, rows, columns] = v.axes;
        let (k, i) = (planes.inside(z), rows.inside(y));
        let steps = [rows.input * columns.input * v.channels, columns.input * v.channels, v.channels];
        let (is_empty, mut first) = (k.is_empty() || i.is_empty(), volume);
        if !is_empty {
            first += planes.place(z, k.start) * steps[0] + rows.place(y, i.start) * steps[1];
        }
        let sizes = if is_empty { [0; 3] } else { [k.len(), i.len(), columns.window] };
        let steps = [planes.dilation * steps[0], rows.dilation * steps[1], columns.dilation * steps[2]];
        RowOfWindows { columns, channels: v.channels, inside: columns.wholly_inside(), taps: Taps { first, sizes, steps } }
    }

    /// Returns the taps of the window at column `x`.
    #[inline(always)]
    pub(super) fn at(&self, x: usize) -> Taps {
        let Taps { first, sizes: [k, i, j], steps } = self.taps;
        if self.inside.contains(&x) {
            return Taps { first: first + (x * self.columns.stride - self.columns.pad) * self.channels, sizes: [k, i, j], steps };
        }
        let taps = self.columns.inside(x);
        if taps.is_empty() || k == 0 {
            return Taps { first, sizes: [0; 3], steps };
        }
        Taps { first: first + self.columns.place(x, taps.start) * self.channels, sizes: [k, i, taps.len()], steps }
    }
}

/// Runs a block for each tap, with the place of its first channel, in the order of memory. A macro, so that the block is compiled for the instruction set of
/// the function around it.
macro_rules! for_taps {
    ($taps:expr, |$place:ident| $body:block) => {
        for k in 0..$taps.sizes[0] {
            for i in 0..$taps.sizes[1] {
                let row = $taps.first + k * $taps.steps[0] + i * $taps.steps[1];
                for j in 0..$taps.sizes[2] {
                    let $place = row + j * $taps.steps[2];
                    $body
                }
            }
        }
    };
}

/// Calls a function of some channels, which takes their number as its last constant, for all channels: as many at a time as stay in registers.
macro_rules! for_channels {
    ($channels:expr, |$c:ident| $function:ident::<$($t:ty),+>($($arg:expr),*)) => {
        let mut $c = 0;
        while $c + 32 <= $channels {
            $function::<$($t),+, 32>($($arg),*);
            $c += 32;
        }
        while $c + 8 <= $channels {
            $function::<$($t),+, 8>($($arg),*);
            $c += 8;
        }
        while $c < $channels {
            $function::<$($t),+, 1>($($arg),*);
            $c += 1;
        }
    };
}

/// Like `for_channels!`, for a function that may compute a channel twice: the last channels are computed together with channels before them.
macro_rules! for_all_channels {
    ($channels:expr, |$c:ident| $function:ident::<$($t:ty),+>($($arg:expr),*)) => {
        let mut next = 0;
        while next + 32 <= $channels {
            let $c = next;
            $function::<$($t),+, 32>($($arg),*);
            next += 32;
        }
        let last = $channels.checked_sub(8);
        while next < $channels {
            if let Some(last) = last {
                let $c = next.min(last);
                $function::<$($t),+, 8>($($arg),*);
                next += 8;
            } else {
                let $c = next;
                $function::<$($t),+, 1>($($arg),*);
                next += 1;
            }
        }
    };
}

pub(super) use {for_all_channels, for_channels, for_taps};
