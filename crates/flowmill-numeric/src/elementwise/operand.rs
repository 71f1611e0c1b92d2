//! Reading of an operand in the order of the output's elements, with NumPy's broadcasting.

use smallvec::SmallVec;

/// An operand that is read in the shape of the output.
pub struct Operand<'a, T> {
    data: &'a [T],
    layout: Layout<T>,
}

enum Layout<T> {
    /// Element `i` is used for output element `i`.
    Same,
    /// A single element is used for all output elements.
    Scalar,
    /// Few elements are used over and over, each once or several times in a row. A copy repeats them, so that from any of the first `period` elements
    /// on there are enough for a chunk.
    Repeated { copy: Vec<T>, period: usize },
    /// The sizes and strides, outermost first; the innermost stride is 0 or 1.
    Strided(SmallVec<[(usize, usize); 4]>),
}

/// The most elements that are repeated in a copy. A longer row is read in place, chunk by chunk.
const MAX_PERIOD: usize = 512;
/// The most elements of a copy in which each element is repeated in a row, and of such a row. A longer row is filled in place.
const MAX_EXPANDED: usize = 4096;
const MAX_RUN: usize = 64;
/// The least number of times that a copy is used which repeats each element in a row.
const MIN_USES: usize = 8;
/// The least number of outputs for which a copy pays.
const MIN_REPEATED: usize = 4 * super::CHUNK;

impl<'a, T: Copy> Operand<'a, T> {
    /// Returns an operand for the elements `data` of a tensor of `shape`, which broadcasts to `out`.
    pub fn new(data: &'a [T], shape: &[usize], out: &[usize]) -> Operand<'a, T> {
        let layout = if data.len() == 1 {
            Layout::Scalar
        } else if num_elements(shape) == num_elements(out) {
            Layout::Same
        } else {
            let dims = broadcast_dims(shape, out);
            match dims[..] {
                [(count, 0), (period, 1)] if period <= MAX_PERIOD && count * period >= MIN_REPEATED => {
                    Layout::Repeated { copy: repeated(data.to_vec(), period + super::CHUNK), period }
                }
                [(uses, 0), (count, 1), (run, 0)] if run <= MAX_RUN && (1..=MAX_EXPANDED).contains(&(count * run)) && uses >= MIN_USES => {
                    let period = count * run;
                    let mut row = Vec::with_capacity(period + super::CHUNK);
                    data.iter().for_each(|&x| row.resize(row.len() + run, x));
                    Layout::Repeated { copy: repeated(row, period + super::CHUNK), period }
                }
                _ => Layout::Strided(dims),
            }
        };
        Operand { data, layout }
    }

    /// Returns an operand for some columns of a tensor of `shape`: part `index` of `count` equal parts of each row. `count` divides the last dimension.
    pub fn columns(data: &'a [T], shape: &[usize], index: usize, count: usize) -> Operand<'a, T> {
        let row = shape.last().copied().unwrap_or(1);
        let width = row / count.max(1);
        if data.len() == row || width == 0 {
            return Operand { data: &data[index * width..][..width], layout: Layout::Same };
        }
        let dims = SmallVec::from_slice(&[(data.len() / row, row), (width, 1)]);
        Operand { data: &data[index * width..], layout: Layout::Strided(dims) }
    }

    /// Returns the only element, if there is a single one for all outputs.
    pub fn single(&self) -> Option<T> {
        if matches!(self.layout, Layout::Scalar) { self.data.first().copied() } else { None }
    }

    /// Returns true if [`Operand::read`] never copies.
    pub fn is_same(&self) -> bool {
        matches!(self.layout, Layout::Same)
    }

    /// Returns true if [`Operand::read`] copies no part of up to [`CHUNK`](super::CHUNK) elements, wherever it starts, a single element excepted.
    pub fn is_read_in_place(&self) -> bool {
        matches!(self.layout, Layout::Same | Layout::Repeated { .. })
    }

    /// Returns all elements if they are in the order of the output.
    pub fn whole(&self) -> Option<&'a [T]> {
        if self.is_same() { Some(self.data) } else { None }
    }

    /// Returns the elements for outputs `start .. start + len`. If they are not adjacent, they are gathered in `buffer`, which is at least `len` long.
    pub fn read<'b>(&'b self, start: usize, len: usize, buffer: &'b mut [T]) -> &'b [T] {
        match &self.layout {
            Layout::Same => &self.data[start..start + len],
            Layout::Scalar => {
                buffer[..len].fill(self.data[0]);
                &buffer[..len]
            }
            Layout::Repeated { copy, period } => {
                let first = start % period;
                if let Some(elements) = copy.get(first..first + len) {
                    return elements;
                }
                let (head, rest) = buffer[..len].split_at_mut(len.min(period - first));
                head.copy_from_slice(&copy[first..first + head.len()]);
                for part in rest.chunks_mut(*period) {
                    part.copy_from_slice(&copy[..part.len()]);
                }
                &buffer[..len]
            }
            Layout::Strided(dims) => {
                let mut walk = Walk::new(dims, start);
                if let Some(run) = walk.adjacent(len) {
                    return &self.data[run..run + len];
                }
                walk.gather(self.data, &mut buffer[..len]);
                &buffer[..len]
            }
        }
    }
}

/// Repeats elements, one at least, until there are `len`.
fn repeated<T: Copy>(mut elements: Vec<T>, len: usize) -> Vec<T> {
    elements.reserve_exact(len.saturating_sub(elements.len()));
    while elements.len() < len {
        elements.extend_from_within(..elements.len().min(len - elements.len()));
    }
    elements
}

fn num_elements(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Returns the sizes and strides with which `shape` is read as `out`. Adjacent dimensions are merged if one stride covers both.
fn broadcast_dims(shape: &[usize], out: &[usize]) -> SmallVec<[(usize, usize); 4]> {
    let mut dims: SmallVec<[(usize, usize); 4]> = SmallVec::new();
    let missing = out.len() - shape.len();
    let mut strides: SmallVec<[usize; 4]> = SmallVec::from_elem(1, shape.len());
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i].max(1));
    }
    for (i, &size) in out.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let stride = if i < missing || shape[i - missing] == 1 { 0 } else { strides[i - missing] };
        match dims.last_mut() {
            Some(last) if last.1 == stride * size => *last = (last.0 * size, stride),
            _ => dims.push((size, stride)),
        }
    }
    dims
}

/// Returns, for each element of `out`, the position of the element of a tensor of `shape` that is broadcast to it, for elements that are not plain data.
pub fn broadcast_positions(shape: &[usize], out: &[usize]) -> Vec<usize> {
    let all: Vec<usize> = (0..num_elements(shape)).collect();
    if shape == out {
        return all;
    }
    let mut positions = vec![0; num_elements(out)];
    let operand = Operand::new(&all, shape, out);
    let mut buffer = [0; super::CHUNK];
    for (i, chunk) in positions.chunks_mut(super::CHUNK).enumerate() {
        chunk.copy_from_slice(operand.read(i * super::CHUNK, chunk.len(), &mut buffer));
    }
    positions
}

/// A position in a strided operand.
struct Walk<'a> {
    dims: &'a [(usize, usize)],
    index: SmallVec<[usize; 4]>,
    offset: usize,
}

impl<'a> Walk<'a> {
    fn new(dims: &'a [(usize, usize)], start: usize) -> Walk<'a> {
        let mut index = SmallVec::from_elem(0, dims.len());
        let (mut rest, mut offset) = (start, 0);
        for (slot, &(size, stride)) in index.iter_mut().zip(dims).rev() {
            *slot = rest % size;
            rest /= size;
            offset += *slot * stride;
        }
        Walk { dims, index, offset }
    }

    /// Returns the number of elements left in the innermost dimension, and their stride.
    fn run(&self) -> (usize, usize) {
        match (self.dims.last(), self.index.last()) {
            (Some(&(size, stride)), Some(&index)) => (size - index, stride),
            _ => (1, 0),
        }
    }

    /// Returns the offset of the next `len` elements if they are adjacent.
    fn adjacent(&self, len: usize) -> Option<usize> {
        let (run, stride) = self.run();
        (stride == 1 && len <= run).then_some(self.offset)
    }

    fn gather<T: Copy>(&mut self, data: &[T], mut out: &mut [T]) {
        while !out.is_empty() {
            let (run, stride) = self.run();
            let rows = self.whole_rows(run).min(out.len() / run);
            if rows > 1 {
                let (now, later) = out.split_at_mut(rows * run);
                let last = self.dims.len() - 2;
                repeat_rows(&data[self.offset..], self.dims[last].1, stride, run, now);
                self.advance(last, rows);
                out = later;
                continue;
            }
            let (now, later) = out.split_at_mut(run.min(out.len()));
            if stride == 0 {
                now.fill(data[self.offset]);
            } else {
                now.copy_from_slice(&data[self.offset..self.offset + now.len()]);
            }
            self.advance(self.dims.len().saturating_sub(1), now.len());
            out = later;
        }
    }

    /// Returns the number of whole rows of the innermost dimension that are left in the one around it, if `run` is a whole row.
    fn whole_rows(&self, run: usize) -> usize {
        match self.dims {
            [.., (rows, _), (size, _)] if run == *size => rows - self.index[self.dims.len() - 2],
            _ => 0,
        }
    }

    /// Advances by `n` positions of dimension `dim`, which is at most the number left in it. The position is at the beginning of all inner dimensions.
    fn advance(&mut self, dim: usize, n: usize) {
        let mut step = n;
        for (index, &(size, stride)) in self.index.iter_mut().zip(self.dims).take(dim + 1).rev() {
            *index += step;
            self.offset += step * stride;
            if *index < size {
                return;
            }
            self.offset -= size * stride;
            *index = 0;
            step = 1;
        }
    }
}

/// The elements that short rows are written with, of which the next row overwrites what is too much.
const SHORT: usize = 16;

/// Writes rows of `size` elements, which begin `step` elements apart in `data`: one element `size` times with a stride of 0, `size` elements with a stride of 1.
fn repeat_rows<T: Copy>(data: &[T], step: usize, stride: usize, size: usize, out: &mut [T]) {
    if step == 0 && stride == 1 {
        // Each copy doubles what is there.
        let mut done = size;
        out[..size].copy_from_slice(&data[..size]);
        while done < out.len() {
            let now = done.min(out.len() - done);
            out.copy_within(..now, done);
            done += now;
        }
        return;
    }
    let rows = out.len() / size;
    for row in 0..rows {
        let (from, to) = (&data[row * step..], &mut out[row * size..]);
        match to.first_chunk_mut::<SHORT>() {
            Some(to) if size <= SHORT && stride == 0 => *to = [from[0]; SHORT],
            Some(to) if size <= SHORT && from.len() >= SHORT => to.copy_from_slice(&from[..SHORT]),
            _ if stride == 0 => to[..size].fill(from[0]),
            _ => to[..size].copy_from_slice(&from[..size]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Parts of any operand are what NumPy's broadcasting says, wherever they begin.
        #[test]
        fn parts_are_broadcast_as_numpy_does(
            dims in prop::collection::vec((1usize..20, any::<bool>()), 1..6),
            (start, len) in (0.0f64..1.0, 0.0f64..1.0),
        ) {
            let out: Vec<usize> = dims.iter().map(|&(size, _)| size).collect();
            let shape: Vec<usize> = dims.iter().map(|&(size, is_kept)| if is_kept { size } else { 1 }).collect();
            let total = num_elements(&out);
            let start = (start * total as f64) as usize;
            let len = ((len * (total - start) as f64) as usize).min(1000);
            let data: Vec<u32> = (0..num_elements(&shape) as u32).collect();
            let mut buffer = vec![0; len];
            let operand = Operand::new(&data, &shape, &out);
            let read = operand.read(start, len, &mut buffer).to_vec();
            for (at, &element) in (start..).zip(&read) {
                let (mut rest, mut expected, mut stride) = (at, 0, 1);
                for (&size, &own) in out.iter().zip(&shape).rev() {
                    expected += if own == 1 { 0 } else { rest % size * stride };
                    (rest, stride) = (rest / size, stride * own);
                }
                prop_assert_eq!(element as usize, expected, "{:?} as {:?} at {}", shape, out, at);
            }
        }
    }
}
