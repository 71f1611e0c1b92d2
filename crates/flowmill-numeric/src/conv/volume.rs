//! Convolutions of NDHWC volumes, computed as convolutions of images.
//!
//! The planes that the window covers at an output plane are *stacked*: the channels of all of them become the channels of one image, and the filters of
//! these planes become one filter of as many input channels. A convolution of two dimensions does the rest, by whatever method is the fastest for it.
//! Planes that lie in the padding are left out, so that there is a filter for each set of planes that a window can have in the volume.
//!
//! Planes are not stacked if windows cover one plane each, nor if they cover one position of each plane: then the planes are rows of an image.
//!
//! The gradients are those of the same convolutions: that of the filter is computed from stacked inputs, that of the input from stacked gradients.

use super::{Method, PackedFilter, conv2d, conv2d_backprop_filter, conv2d_backprop_input};
use crate::gemm::{Epilogue, Precision, copy_short, with_scratch};
use crate::parallel;
use crate::window::{Axis, Volume, Window};
use smallvec::SmallVec;
use std::ops::Range;

/// Elements of stacked planes that are convolved at a time, unless the planes of one output plane have more.
const STACKED_ELEMENTS: usize = 1 << 18;

/// Elements of the window along the planes.
type Taps = SmallVec<[usize; 4]>;

/// Planes of one tensor that all read the same taps: plane `i` of `planes` reads planes `from[i * taps.len()..][..taps.len()]` of another tensor.
struct Stack {
    taps: Taps,
    planes: Vec<usize>,
    from: Vec<usize>,
}

crate::dispatch! {
    /// Writes the channels of all planes at the first position, then those at the next one, and so on: in the order of memory, as [`copy_short`] needs it.
    fn stack_channels(planes: &[&[f32]], channels: usize, stacked: &mut [f32]) {
        let mut at = 0;
        for position in 0..stacked.len() / (planes.len() * channels) {
            for plane in planes {
                copy_short(&mut stacked[at..], &plane[position * channels..], channels);
                at += channels;
            }
        }
    }
}

/// Returns true if every window is one position, and all positions have a window.
fn is_pointwise(axis: &Axis) -> bool {
    (axis.window, axis.stride, axis.pad) == (1, 1, 0) && axis.output == axis.input
}

impl Volume {
    /// Returns the number of elements of the input.
    fn input_len(&self) -> usize {
        self.batch * self.axes[0].input * self.input_plane()
    }

    /// Returns the number of elements of a plane of the input.
    fn input_plane(&self) -> usize {
        self.axes[1].input * self.axes[2].input * self.channels
    }

    /// Returns the number of output positions of a plane.
    fn plane_positions(&self) -> usize {
        self.axes[1].output * self.axes[2].output
    }

    /// Returns the window over `batch` images, each of which has this many channels.
    fn window(&self, batch: usize, channels: usize) -> Window {
        let [_, rows, columns] = self.axes;
        Window {
            batch,
            in_height: rows.input,
            in_width: columns.input,
            channels,
            height: rows.window,
            width: columns.window,
            stride_height: rows.stride,
            stride_width: columns.stride,
            dilation_height: rows.dilation,
            dilation_width: columns.dilation,
            pad_top: rows.pad,
            pad_left: columns.pad,
            out_height: rows.output,
            out_width: columns.output,
        }
    }

    /// Returns the same convolution with windows of as many planes as possible of one: if a window covers one position of a plane, planes become rows, whose
    /// columns are all positions of a plane.
    fn flattened(&self) -> Volume {
        let [planes, rows, columns] = self.axes;
        if !(is_pointwise(&rows) && is_pointwise(&columns)) {
            return *self;
        }
        let plane = Axis { input: 1, output: 1, ..rows };
        let columns = Axis { input: rows.input * columns.input, output: rows.output * columns.output, ..columns };
        Volume { axes: [plane, planes, columns], ..*self }
    }

    /// Returns the window over images that are the planes, if no window covers more than one plane.
    fn over_images(&self) -> Option<Window> {
        is_pointwise(&self.axes[0]).then(|| self.window(self.batch * self.axes[0].input, self.channels))
    }

    /// Returns the planes of the output, each with the planes of the input that its window covers.
    fn stacks_of_input(&self) -> Vec<Stack> {
        let planes = &self.axes[0];
        self.stacks(planes.output, planes.input, |at| planes.inside(at).map(|tap| (tap, planes.place(at, tap))).collect())
    }

    /// Returns the planes of the input, each with the planes of the output whose windows cover it.
    fn stacks_of_output(&self) -> Vec<Stack> {
        let planes = self.axes[0];
        let reads = |at: usize| {
            let tap = |window: usize| (at + planes.pad - window * planes.stride) / planes.dilation;
            let mut reads: SmallVec<[(usize, usize); 4]> = planes.covering(at).map(|window| (tap(window), window)).collect();
            reads.sort_unstable();
            reads
        };
        self.stacks(planes.input, planes.output, reads)
    }

    /// Groups the planes of all volumes by the taps that they read. `reads` returns the taps of a plane of one volume, and the planes there.
    fn stacks(&self, num_planes: usize, num_read: usize, reads: impl Fn(usize) -> SmallVec<[(usize, usize); 4]>) -> Vec<Stack> {
        let mut stacks: Vec<Stack> = Vec::new();
        for (volume, at) in (0..self.batch).flat_map(|volume| (0..num_planes).map(move |at| (volume, at))) {
            let reads = reads(at);
            let taps: Taps = reads.iter().map(|read| read.0).collect();
            let index = stacks.iter().position(|stack| stack.taps == taps).unwrap_or_else(|| {
                stacks.push(Stack { taps, planes: Vec::new(), from: Vec::new() });
                stacks.len() - 1
            });
            stacks[index].planes.push(volume * num_planes + at);
            stacks[index].from.extend(reads.iter().map(|read| volume * num_read + read.1));
        }
        stacks
    }

    /// Asserts that no stride or dilation is zero, and that so many elements of the input and the output are enough.
    fn check(&self, out_channels: usize, input: usize, output: usize) {
        let steps = self.axes.map(|axis| axis.stride.min(axis.dilation));
        assert!(!steps.contains(&0), "strides and dilations are positive: {self:?}");
        assert!(input >= self.input_len(), "{input} elements of input for {self:?}");
        let outputs = self.positions() * out_channels;
        assert!(output >= outputs, "{output} elements of output for {outputs}");
    }
}

/// Asserts that so many elements of a filter are enough.
fn check_filter(volume: &Volume, out_channels: usize, filter: usize) {
    let weights = volume.taps() * volume.channels * out_channels;
    assert!(filter >= weights, "{filter} elements of filter for {weights}");
}

impl Stack {
    /// Returns groups of planes that are convolved together: as many as read `max_elements` elements. A plane that is read has `plane` elements.
    fn groups(&self, plane: usize, max_elements: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (count, at_once) = (self.planes.len(), (max_elements / (plane * self.taps.len()).max(1)).max(1));
        (0..count).step_by(at_once).map(move |first| first..count.min(first + at_once))
    }

    /// Stacks the planes that some planes read: `stacked` has the channels of all taps at each position. A plane of `source` has `positions` vectors of
    /// `channels` elements.
    fn gather(&self, group: Range<usize>, positions: usize, channels: usize, source: &[f32], stacked: &mut [f32]) {
        let depth = self.taps.len();
        let from = &self.from[group.start * depth..group.end * depth];
        parallel::chunks(&mut stacked[..group.len() * positions * depth * channels], positions * depth * channels, |plane, stacked| {
            let len = positions * channels;
            let planes: SmallVec<[&[f32]; 4]> = from[plane * depth..][..depth].iter().map(|read| &source[read * len..][..len]).collect();
            stack_channels(&planes, channels, stacked);
        });
    }

    /// Returns the weights that the taps have in a filter `[planes, rows, columns, input, output]`: the position in a plane of the window, the index of the tap in
    /// the stack, and the index of the matrix in the filter.
    fn places(&self, volume: &Volume) -> impl Iterator<Item = (usize, usize, usize)> {
        let area = volume.axes[1].window * volume.axes[2].window;
        (0..area).flat_map(move |position| self.taps.iter().enumerate().map(move |(at, tap)| (position, at, tap * area + position)))
    }

    /// Returns true if planes of the result are adjacent.
    fn is_adjacent(&self, group: &Range<usize>) -> bool {
        self.planes[group.end - 1] - self.planes[group.start] + 1 == group.len()
    }
}

/// A filter `[planes, rows, columns, in_channels, out_channels]`, packed for [`conv3d`].
#[derive(Clone, Debug)]
pub struct PackedVolumeFilter {
    /// Input channels.
    channels: usize,
    out_channels: usize,
    /// The filters of all sets of taps.
    filters: Vec<(Taps, PackedFilter)>,
}

impl PackedVolumeFilter {
    /// Packs a filter for convolutions over `volume`, with the least precision in which to compute.
    ///
    /// # Panics
    /// If `filter` is too short.
    pub fn pack(precision: Precision, volume: &Volume, filter: &[f32], out_channels: usize) -> Self {
        let volume = &volume.flattened();
        let weights = volume.channels * out_channels;
        check_filter(volume, out_channels, filter.len());
        let filters = volume.stacks_of_input().into_iter().filter(|stack| !stack.taps.is_empty()).map(|stack| {
            let depth = stack.taps.len();
            let window = volume.window(stack.planes.len(), depth * volume.channels);
            let mut stacked = vec![0.0; window.height * window.width * depth * weights];
            for (position, at, from) in stack.places(volume) {
                stacked[(position * depth + at) * weights..][..weights].copy_from_slice(&filter[from * weights..][..weights]);
            }
            let packed = PackedFilter::pack(precision, &window, &stacked, out_channels, 1);
            (stack.taps, packed)
        });
        Self { channels: volume.channels, out_channels, filters: filters.collect() }
    }

    /// Returns the filter for the planes of a stack.
    fn of(&self, stack: &Stack) -> Option<&PackedFilter> {
        self.filters.iter().find(|(taps, _)| *taps == stack.taps).map(|(_, filter)| filter)
    }

    /// Returns true if the filter is packed for these arguments: for the planes that the windows of `volume` have in it, in the forms that are the fastest.
    /// Another form gives other roundings.
    pub fn is_for(&self, precision: Precision, volume: &Volume, out_channels: usize) -> bool {
        let volume = &volume.flattened();
        let is_packed = |stack: &Stack| {
            let window = volume.window(stack.planes.len(), stack.taps.len() * volume.channels);
            stack.taps.is_empty()
                || self.of(stack).is_some_and(|filter| {
                    filter.is_for(Method::estimated(precision, &window, out_channels, 1), precision, &window, out_channels, 1)
                })
        };
        (volume.channels, out_channels) == (self.channels, self.out_channels) && volume.stacks_of_input().iter().all(is_packed)
    }

    /// Returns the name of the way in which most planes are computed.
    pub fn algorithm(&self) -> Option<&'static str> {
        self.filters.iter().max_by_key(|(taps, _)| taps.len()).map(|(_, filter)| filter.algorithm())
    }
}

/// Computes `output[n, z, y, x, :] = epilogue(sum over the window of input * filter)` for NDHWC volumes.
///
/// `epilogue.residual` has the shape of the output and is dense.
///
/// # Panics
/// If a slice is too short, or the filter is not packed for the planes of `volume`.
pub fn conv3d(volume: &Volume, input: &[f32], filter: &PackedVolumeFilter, output: &mut [f32], epilogue: &Epilogue<'_>) {
    assert!(filter.channels == volume.channels, "{filter:?} for {volume:?}");
    let (volume, n) = (&volume.flattened(), filter.out_channels);
    volume.check(n, input.len(), output.len());
    let (positions, out_plane) = (volume.axes[1].input * volume.axes[2].input, volume.plane_positions() * n);
    if out_plane == 0 {
        return;
    }
    if let (Some(window), [(_, packed)]) = (volume.over_images(), &filter.filters[..]) {
        return conv2d(&window, input, packed, output, epilogue);
    }
    for stack in volume.stacks_of_input() {
        let Some(packed) = filter.of(&stack) else {
            assert!(stack.taps.is_empty(), "{filter:?} for {volume:?}");
            for &plane in &stack.planes {
                let output = &mut output[plane * out_plane..][..out_plane];
                if !epilogue.accumulate {
                    output.fill(0.0);
                }
                epilogue.apply(plane * volume.plane_positions(), n, output);
            }
            continue;
        };
        let depth = stack.taps.len();
        for group in stack.groups(volume.input_plane(), STACKED_ELEMENTS).flat_map(|group| adjacent(&stack.planes, group)) {
            let first = stack.planes[group.start];
            let output = &mut output[first * out_plane..][..group.len() * out_plane];
            let residual = epilogue.residual.map(|(residual, ld)| (&residual[first * volume.plane_positions() * ld..], ld));
            let epilogue = Epilogue { residual, ..*epilogue };
            let window = volume.window(group.len(), depth * volume.channels);
            with_scratch(window.input_len(), |stacked: &mut [f32]| {
                stack.gather(group, positions, volume.channels, input, stacked);
                conv2d(&window, stacked, packed, output, &epilogue);
            });
        }
    }
}

/// Returns the parts of a group whose planes are adjacent.
fn adjacent(planes: &[usize], group: Range<usize>) -> Vec<Range<usize>> {
    let mut first = group.start;
    let runs = planes[group].chunk_by(|a, b| b - a == 1);
    runs.map(|run| {
        first += run.len();
        first - run.len()..first
    })
    .collect()
}

/// Overwrites `input_backprop` with the gradient of the input, from `out_backprop` `[batch, planes, rows, columns, out_channels]` and the filter.
///
/// # Panics
/// If a slice is too short.
pub fn conv3d_backprop_input(volume: &Volume, filter: &[f32], out_channels: usize, out_backprop: &[f32], input_backprop: &mut [f32]) {
    let volume = &volume.flattened();
    volume.check(out_channels, input_backprop.len(), out_backprop.len());
    check_filter(volume, out_channels, filter.len());
    let (in_plane, out_plane) = (volume.input_plane(), volume.plane_positions() * out_channels);
    if in_plane == 0 {
        return;
    }
    if let Some(window) = volume.over_images() {
        return conv2d_backprop_input(&window, filter, out_channels, 1, out_backprop, input_backprop);
    }
    for stack in volume.stacks_of_output() {
        let depth = stack.taps.len();
        if depth == 0 {
            stack.planes.iter().for_each(|plane| input_backprop[plane * in_plane..][..in_plane].fill(0.0));
            continue;
        }
        let area = volume.axes[1].window * volume.axes[2].window;
        let mut stacked = vec![0.0; area * volume.channels * depth * out_channels];
        // The taps are in the output channels of the stacked filter.
        for (position, at, from) in stack.places(volume) {
            for channel in 0..volume.channels {
                let to = ((position * volume.channels + channel) * depth + at) * out_channels;
                stacked[to..to + out_channels]
                    .copy_from_slice(&filter[(from * volume.channels + channel) * out_channels..][..out_channels]);
            }
        }
        for group in stack.groups(out_plane, STACKED_ELEMENTS) {
            let window = volume.window(group.len(), volume.channels);
            let (sizes, is_adjacent) = (group.len() * depth * out_plane, stack.is_adjacent(&group));
            with_scratch(sizes + if is_adjacent { 0 } else { group.len() * in_plane }, |scratch: &mut [f32]| {
                let (gradients, result) = scratch.split_at_mut(sizes);
                stack.gather(group.clone(), volume.plane_positions(), out_channels, out_backprop, gradients);
                if is_adjacent {
                    let result = &mut input_backprop[stack.planes[group.start] * in_plane..][..group.len() * in_plane];
                    return conv2d_backprop_input(&window, &stacked, depth * out_channels, 1, gradients, result);
                }
                conv2d_backprop_input(&window, &stacked, depth * out_channels, 1, gradients, result);
                for (plane, result) in stack.planes[group].iter().zip(result.chunks_exact(in_plane)) {
                    input_backprop[plane * in_plane..][..in_plane].copy_from_slice(result);
                }
            });
        }
    }
}

/// Overwrites `filter_backprop` with the gradient of the filter, from the input and `out_backprop` `[batch, planes, rows, columns, out_channels]`.
///
/// # Panics
/// If a slice is too short.
pub fn conv3d_backprop_filter(volume: &Volume, input: &[f32], out_channels: usize, out_backprop: &[f32], filter_backprop: &mut [f32]) {
    let volume = &volume.flattened();
    volume.check(out_channels, input.len(), out_backprop.len());
    check_filter(volume, out_channels, filter_backprop.len());
    let weights = volume.channels * out_channels;
    filter_backprop[..volume.taps() * weights].fill(0.0);
    let (positions, out_plane) = (volume.axes[1].input * volume.axes[2].input, volume.plane_positions() * out_channels);
    if out_plane == 0 || weights == 0 || volume.input_plane() == 0 {
        return;
    }
    if let Some(window) = volume.over_images() {
        return conv2d_backprop_filter(&window, input, out_channels, 1, out_backprop, filter_backprop);
    }
    for stack in volume.stacks_of_input().into_iter().filter(|stack| !stack.taps.is_empty()) {
        let depth = stack.taps.len();
        let sums = volume.axes[1].window * volume.axes[2].window * depth * weights;
        // The sums of each group are read once more.
        for group in stack.groups(volume.input_plane(), STACKED_ELEMENTS.max(sums)) {
            let window = volume.window(group.len(), depth * volume.channels);
            let (inputs, gradients) = (window.input_len(), group.len() * out_plane);
            with_scratch(inputs + gradients + sums, |scratch: &mut [f32]| {
                let (stacked, rest) = scratch.split_at_mut(inputs);
                let (gradient, sums) = rest.split_at_mut(gradients);
                stack.gather(group.clone(), positions, volume.channels, input, stacked);
                for (plane, to) in stack.planes[group].iter().zip(gradient.chunks_exact_mut(out_plane)) {
                    to.copy_from_slice(&out_backprop[plane * out_plane..][..out_plane]);
                }
                conv2d_backprop_filter(&window, stacked, out_channels, 1, gradient, sums);
                for (position, at, to) in stack.places(volume) {
                    let sums = &sums[(position * depth + at) * weights..][..weights];
                    filter_backprop[to * weights..][..weights].iter_mut().zip(sums).for_each(|(sum, x)| *sum += x);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::values;
    use super::*;
    use crate::gemm::Activation;
    use proptest::prelude::*;

    fn axis() -> impl Strategy<Value = Axis> {
        (1usize..7, 1usize..4, 1usize..4, 1usize..3, 0usize..3, 0usize..3).prop_map(|(input, window, stride, dilation, pad, after)| {
            let room = (input + pad + after).checked_sub((window - 1) * dilation + 1);
            Axis { input, window, stride, dilation, pad, output: room.map_or(0, |room| room / stride + 1) }
        })
    }

    /// Generates volumes with any mix of strides, dilations and paddings, including windows wholly in the padding.
    fn volumes() -> impl Strategy<Value = Volume> {
        (1usize..3, [axis(), axis(), axis()], 1usize..5).prop_map(|(batch, axes, channels)| Volume { batch, axes, channels })
    }

    /// Calls `f` with the positions of the factors and the sum of each product: in the input, the filter and the output.
    fn for_each_product(volume: &Volume, n: usize, mut f: impl FnMut(usize, usize, usize)) {
        for position in 0..volume.positions() {
            volume.for_each_tap(position, |tap, pixel| {
                for (c, o) in (0..volume.channels).flat_map(|c| (0..n).map(move |o| (c, o))) {
                    f(pixel * volume.channels + c, (tap * volume.channels + c) * n + o, position * n + o);
                }
            });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn convolutions_and_gradients_are_sums_of_products(volume in volumes(), n in 1usize..10) {
            let (input, filter) = (values(1, volume.input_len()), values(2, volume.taps() * volume.channels * n));
            let (gradient, bias) = (values(3, volume.positions() * n), values(4, n));
            let mut expected: Vec<f32> = gradient.iter().zip(bias.iter().cycle()).map(|(residual, bias)| residual + bias).collect();
            let (mut input_gradient, mut filter_gradient) = (vec![0.0; input.len()], vec![0.0; filter.len()]);
            for_each_product(&volume, n, |i, w, o| {
                expected[o] += input[i] * filter[w];
                input_gradient[i] += gradient[o] * filter[w];
                filter_gradient[w] += gradient[o] * input[i];
            });
            expected.iter_mut().for_each(|x| *x = x.max(0.0));

            let packed = PackedVolumeFilter::pack(Precision::F32, &volume, &filter, n);
            prop_assert!(packed.is_for(Precision::F32, &volume, n));
            let epilogue = Epilogue { bias: Some(&bias), residual: Some((&gradient, n)), activation: Activation::Relu, accumulate: false };
            let mut output = vec![f32::NAN; expected.len()];
            conv3d(&volume, &input, &packed, &mut output, &epilogue);
            prop_assert_eq!(output, expected);
            let mut found = vec![f32::NAN; input.len()];
            conv3d_backprop_input(&volume, &filter, n, &gradient, &mut found);
            prop_assert_eq!(found, input_gradient);
            let mut found = vec![f32::NAN; filter.len()];
            conv3d_backprop_filter(&volume, &input, n, &gradient, &mut found);
            prop_assert_eq!(found, filter_gradient);
        }
    }

    #[test]
    fn a_filter_fits_volumes_of_other_sizes_with_the_same_planes() {
        let axis = |input| Axis { input, window: 3, stride: 1, dilation: 1, pad: 1, output: input };
        let volume = |planes, batch| Volume { batch, axes: [axis(planes), axis(5), axis(6)], channels: 2 };
        let packed = PackedVolumeFilter::pack(Precision::F32, &volume(4, 1), &values(1, 27 * 2 * 3), 3);
        let is_for = |volume: &Volume| packed.is_for(Precision::F32, volume, 3);
        assert!(is_for(&volume(9, 3)));
        assert!(!is_for(&volume(1, 1)), "the window has its second plane only");
        assert!(!is_for(&Volume { channels: 1, ..volume(4, 1) }));
        assert!(!packed.is_for(Precision::Bf16, &volume(9, 3), 3));
    }

    #[test]
    fn large_planes_are_convolved_in_groups() {
        let axis = |input| Axis { input, window: 3, stride: 1, dilation: 1, pad: 1, output: input };
        let volume = Volume { batch: 2, axes: [axis(9), axis(40), axis(33)], channels: 24 };
        let n = 16;
        let (input, filter) = (values(5, volume.input_len()), values(6, volume.taps() * volume.channels * n));
        let mut expected = vec![0.0; volume.positions() * n];
        for_each_product(&volume, n, |i, w, o| expected[o] += input[i] * filter[w]);
        let mut output = vec![f32::NAN; expected.len()];
        conv3d(&volume, &input, &PackedVolumeFilter::pack(Precision::F32, &volume, &filter, n), &mut output, &Epilogue::default());
        // Winograd's method rounds.
        let largest = expected.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
        assert!(output.iter().zip(&expected).all(|(x, y)| (x - y).abs() <= 1e-4 * largest));
    }
}
