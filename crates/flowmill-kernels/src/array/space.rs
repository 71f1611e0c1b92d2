//! The shapes of ops that move blocks of space to the batch or depth dimension and back.

use super::args::{indices, product};
use super::nd::{Dims, Strides, row_major};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Result, Shape, SmallVec, Tensor, bail};

/// The spatial dimensions of a block op.
pub struct Blocks {
    /// The block sizes.
    pub sizes: Dims,
    /// The padding or cropping before and after.
    pub margins: SmallVec<[(i64, i64); 4]>,
}

impl Blocks {
    /// Reads the block sizes, and the paddings or crops, which `name` says, of an op whose input has `rank` dimensions.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for sizes and margins that do not fit the input.
    pub fn new(rank: usize, sizes: &[i64], margins: &Tensor, name: &str) -> Result<Blocks> {
        let n = sizes.len();
        if rank < n + 1 {
            bail!(InvalidArgument, "input rank should be >= {} instead of {}", n + 1, rank);
        }
        if margins.shape()[..] != [n, 2] {
            bail!(InvalidArgument, "{name} should have shape [{n}, 2] instead of {}", margins.shape());
        }
        let mut blocks = Blocks { sizes: Dims::new(), margins: SmallVec::new() };
        for (i, &size) in sizes.iter().enumerate() {
            match usize::try_from(size) {
                Ok(size) if size > 0 => blocks.sizes.push(size),
                _ => bail!(InvalidArgument, "All values in block_shape must be positive, got value, {size} at index {i}."),
            }
        }
        for pair in indices(margins)?.chunks_exact(2) {
            if pair.iter().any(|&margin| margin < 0) {
                bail!(InvalidArgument, "{}{} must be non-negative", name[..1].to_uppercase(), &name[1..]);
            }
            blocks.margins.push((pair[0], pair[1]));
        }
        Ok(blocks)
    }

    /// Returns the shape of the batch form of an input in the space form.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for sizes that are no multiples of the blocks.
    pub fn batch_shape(&self, input: &Shape) -> Result<Shape> {
        let mut sizes: SmallVec<[i64; 8]> = input.iter().map(|&d| d as i64).collect();
        for (i, (&block, &(before, after))) in self.sizes.iter().zip(&self.margins).enumerate() {
            let padded = sizes[i + 1].saturating_add(before).saturating_add(after);
            if padded % block as i64 != 0 {
                bail!(InvalidArgument, "padded_shape[{i}]={padded} is not divisible by block_shape[{i}]={block}");
            }
            sizes[i + 1] = padded / block as i64;
        }
        sizes[0] = sizes[0].saturating_mul(i64::try_from(self.count()).unwrap_or(i64::MAX));
        Shape::from_i64(&sizes)
    }

    /// Returns the shape of the space form of an input in the batch form.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a batch that is no multiple of the number of blocks, and for crops of more than there is.
    pub fn space_shape(&self, input: &Shape) -> Result<Shape> {
        let mut sizes: SmallVec<[i64; 8]> = input.iter().map(|&d| d as i64).collect();
        let count = self.count();
        if count == 0 || !input[0].is_multiple_of(count) {
            bail!(InvalidArgument, "Input batch dimension ({}) is not divisible by product of block sizes ({count})", input[0]);
        }
        sizes[0] /= count as i64;
        for (i, (&block, &(before, after))) in self.sizes.iter().zip(&self.margins).enumerate() {
            let cropped = sizes[i + 1].saturating_mul(block as i64).saturating_sub(before).saturating_sub(after);
            if cropped < 0 {
                bail!(InvalidArgument, "cropped_shape[{i}]={cropped} must be non-negative");
            }
            sizes[i + 1] = cropped;
        }
        Shape::from_i64(&sizes)
    }

    /// Returns the number of blocks.
    pub fn count(&self) -> usize {
        product(&self.sizes)
    }

    /// Returns the position along each dimension at which block `k` starts.
    fn starts(&self, k: usize) -> Dims {
        let strides = row_major(&self.sizes);
        self.sizes.iter().zip(&strides).map(|(&size, &stride)| k / stride as usize % size).collect()
    }

    /// Returns the correspondence, for block `k`, between the batch form (sizes `small`) and the space form (sizes `large`): index `o` of the
    /// former is index `o * size + start - before` of the latter. Returns the first `o`, and the number of those that are inside `large`.
    fn overlap(&self, k: usize, small: &[usize], large: &[usize]) -> (Dims, Dims) {
        let (mut first, mut count) = (Dims::new(), Dims::new());
        for (i, start) in self.starts(k).into_iter().enumerate() {
            let (size, shift) = (self.sizes[i] as i64, start as i64 - self.margins[i].0);
            let low = if shift < 0 { (-shift + size - 1) / size } else { 0 };
            let high = (large[i] as i64 - shift + size - 1).div_euclid(size).min(small[i] as i64);
            first.push(low as usize);
            count.push((high - low).max(0) as usize);
        }
        (first, count)
    }

    /// Calls `copy` for each block with the offset and strides in the batch form, those in the space form, and the sizes to copy.
    pub fn for_each(&self, small: &Shape, large: &Shape, mut copy: impl FnMut((isize, &[isize]), (isize, &[isize]), &[usize])) {
        let n = self.sizes.len();
        let (small_strides, large_strides) = (row_major(small), row_major(large));
        let batch = large[0];
        let stepped: Strides =
            large_strides.iter().enumerate().map(|(d, &s)| if (1..=n).contains(&d) { s * self.sizes[d - 1] as isize } else { s }).collect();
        for k in 0..self.count() {
            let (first, count) = self.overlap(k, &small[1..=n], &large[1..=n]);
            if count.contains(&0) {
                continue;
            }
            let mut dims = Dims::from_elem(batch, 1);
            dims.extend(count.iter().copied());
            dims.extend(small[n + 1..].iter().copied());
            let mut at_small = (k * batch) as isize * small_strides[0];
            let mut at_large = 0;
            for (i, start) in self.starts(k).into_iter().enumerate() {
                at_small += first[i] as isize * small_strides[i + 1];
                let index = first[i] as i64 * self.sizes[i] as i64 + start as i64 - self.margins[i].0;
                at_large += index as isize * large_strides[i + 1];
            }
            copy((at_small, &small_strides), (at_large, &stepped), &dims);
        }
    }
}

/// The dimensions of a depth op: its input is reshaped to six dimensions, transposed, and reshaped to four.
pub struct DepthPlan {
    /// The six dimensions of the input.
    pub six: [usize; 6],
    /// The order of the six dimensions in the output.
    pub permutation: [usize; 6],
    /// The four dimensions of the output.
    pub four: [usize; 4],
}

/// Returns the plan of `SpaceToDepth`, or of `DepthToSpace` unless `to_depth`.
///
/// # Errors
/// Returns `InvalidArgument` for images that are no multiples of the blocks.
pub fn depth_plan(input: &Shape, block: usize, to_depth: bool, channels_first: bool) -> Result<DepthPlan> {
    let &[n, a, b, c] = input.dims() else { bail!(InvalidArgument, "Input rank should be 4 instead of {}", input.rank()) };
    let (height, width, depth) = if channels_first { (b, c, a) } else { (a, b, c) };
    let area = block.saturating_mul(block);
    if to_depth {
        if !height.is_multiple_of(block) || !width.is_multiple_of(block) {
            bail!(InvalidArgument, "Image width {width} and height {height} should be divisible by block_size: {block}");
        }
        let (h, w) = (height / block, width / block);
        let Some(deep) = depth.checked_mul(area) else { bail!(InvalidArgument, "the depth overflows") };
        return Ok(if channels_first {
            DepthPlan { six: [n, depth, h, block, w, block], permutation: [0, 3, 5, 1, 2, 4], four: [n, deep, h, w] }
        } else {
            DepthPlan { six: [n, h, block, w, block, depth], permutation: [0, 1, 3, 2, 4, 5], four: [n, h, w, deep] }
        });
    }
    if !depth.is_multiple_of(area) {
        bail!(InvalidArgument, "Input depth dimension {depth} should be divisible by: {area}");
    }
    let flat = depth / area;
    let (Some(h), Some(w)) = (height.checked_mul(block), width.checked_mul(block)) else {
        bail!(InvalidArgument, "the image's sizes overflow")
    };
    Ok(if channels_first {
        DepthPlan { six: [n, block, block, flat, height, width], permutation: [0, 3, 4, 1, 5, 2], four: [n, flat, h, w] }
    } else {
        DepthPlan { six: [n, height, width, block, block, flat], permutation: [0, 1, 3, 2, 4, 5], four: [n, h, w, flat] }
    })
}

/// Returns the attribute `block_size` of `DepthToSpace` and `SpaceToDepth`.
///
/// # Errors
/// Returns `InvalidArgument` for a size below 2.
pub fn block_size(init: &KernelInit<'_>) -> Result<usize> {
    let block: i64 = init.attrs.get("block_size")?;
    match usize::try_from(block).ok().filter(|&block| block > 1) {
        Some(block) => Ok(block),
        None => bail!(InvalidArgument, "Block size should be > 1, but was: {block}"),
    }
}
