//! Convolutions and pooling agree with plain loops.

#![allow(clippy::unwrap_used)]

mod depthwise;
mod threads;

use depthwise::check_depthwise;
use proptest::prelude::*;

use super::depthwise::depthwise_conv2d;
use super::method::method_on;
use super::phases::TransposedForm;
use super::*;
use crate::gemm::{Activation, Precision};
use crate::pool::{avg_pool, avg_pool_grad, max_pool, max_pool_grad};
use crate::simd::Isa;

/// Returns small integers, whose sums are exact.
pub(super) fn values(seed: u64, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % 13) as f32 - 6.0
        })
        .collect()
}

/// Generates windows with any mix of strides, dilations and paddings, including windows wholly in the padding.
pub(super) fn windows() -> impl Strategy<Value = Window> {
    let sizes = (1usize..3, 1usize..10, 1usize..12, 1usize..4, 1usize..4);
    let steps = (1usize..4, 1usize..4, 1usize..3, 1usize..3);
    (sizes, steps, (0usize..3, 0usize..3, 0usize..3, 0usize..3), 1usize..6).prop_map(|(sizes, steps, pads, channels)| {
        let (batch, in_height, in_width, height, width) = sizes;
        let (stride_height, stride_width, dilation_height, dilation_width) = steps;
        let out = |len: usize, size: usize, dilation: usize, stride: usize, pads: usize| {
            (len + pads).checked_sub((size - 1) * dilation + 1).map_or(0, |room| room / stride + 1)
        };
        Window {
            batch,
            in_height,
            in_width,
            channels: channels * 2,
            height,
            width,
            stride_height,
            stride_width,
            dilation_height,
            dilation_width,
            pad_top: pads.0,
            pad_left: pads.1,
            out_height: out(in_height, height, dilation_height, stride_height, pads.0 + pads.2),
            out_width: out(in_width, width, dilation_width, stride_width, pads.1 + pads.3),
        }
    })
}

/// Calls `f(output position, tap, input position)` for every tap inside the image, by the definition of a window.
fn taps(w: &Window, mut f: impl FnMut(usize, usize, usize)) {
    for (image, y, x) in (0..w.batch).flat_map(|n| (0..w.out_height).flat_map(move |y| (0..w.out_width).map(move |x| (n, y, x)))) {
        for (i, j) in (0..w.height).flat_map(|i| (0..w.width).map(move |j| (i, j))) {
            let row = (y * w.stride_height + i * w.dilation_height) as isize - w.pad_top as isize;
            let column = (x * w.stride_width + j * w.dilation_width) as isize - w.pad_left as isize;
            if (0..w.in_height as isize).contains(&row) && (0..w.in_width as isize).contains(&column) {
                let output = (image * w.out_height + y) * w.out_width + x;
                let input = (image * w.in_height + row as usize) * w.in_width + column as usize;
                f(output, i * w.width + j, input);
            }
        }
    }
}

/// Returns an input, a filter and an output gradient for `out` channels in `groups`, and the expected output, input gradient and filter gradient.
fn reference(w: &Window, out: usize, groups: usize) -> [Vec<f32>; 6] {
    let (ic, oc) = (w.channels / groups, out / groups);
    let input = values(1, w.input_len());
    let filter = values(2, w.height * w.width * ic * out);
    let gradient = values(3, w.positions() * out);
    let mut output = vec![0.0; gradient.len()];
    let mut input_gradient = vec![0.0; input.len()];
    let mut filter_gradient = vec![0.0; filter.len()];
    taps(w, |o, tap, i| {
        for (group, c, q) in (0..groups).flat_map(|g| (0..ic).flat_map(move |c| (0..oc).map(move |q| (g, c, q)))) {
            let x = i * w.channels + group * ic + c;
            let f = (tap * ic + c) * out + group * oc + q;
            let y = o * out + group * oc + q;
            output[y] += input[x] * filter[f];
            input_gradient[x] += gradient[y] * filter[f];
            filter_gradient[f] += gradient[y] * input[x];
        }
    });
    [input, filter, gradient, output, input_gradient, filter_gradient]
}

/// Asserts that numbers are these integers, but for the rounding of Winograd's method, which some instruction sets use for some sizes.
fn assert_near(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() < 0.02, "{got} for {want}: element {i} of the {what}");
    }
}

fn check_conv(w: &Window, out: usize, groups: usize) {
    let [input, filter, gradient, want, want_input, want_filter] = reference(w, out, groups);
    let bias = values(4, out);
    let is_narrow = groups == 1 && out <= narrow::MAX_OUTPUTS && (w.dilation_width == 1 || w.width == 1);
    let methods = [Method::Direct, Method::Planes, Method::Groups].into_iter().chain(is_narrow.then_some(Method::Narrow));
    // Small integers are numbers of `bfloat16`, too.
    let forms = methods.map(|method| (method, Precision::F32)).chain([(Method::Direct, Precision::Bf16)]);
    for ((method, precision), has_residual) in forms.flat_map(|form| [(form, true), (form, false)]) {
        let packed = PackedFilter::pack_for(method, precision, w, &filter, out, groups);
        let residual = has_residual.then_some((&gradient[..], out));
        let epilogue = Epilogue { bias: Some(&bias), residual, activation: Activation::Relu, accumulate: false };
        let mut output = vec![f32::NAN; want.len()];
        conv2d(w, &input, &packed, &mut output, &epilogue);
        for (i, got) in output.iter().enumerate() {
            let residual = residual.map_or(0.0, |(r, _)| r[i]);
            assert_eq!(*got, (want[i] + bias[i % out] + residual).max(0.0), "output {i} of {w:?} by {method:?} in {precision:?}");
        }
        check_rows(w, &input, &packed, &output, &epilogue);
    }
    let mut got = vec![f32::NAN; input.len()];
    conv2d_backprop_input(w, &filter, out, groups, &gradient, &mut got);
    assert_near(&got, &want_input, &format!("input gradient of {w:?}"));
    if let Some(packed) = PackedTransposed::pack(w, &filter, out, groups) {
        let mut got = vec![f32::NAN; input.len()];
        packed.apply(w, out, &gradient, &mut got);
        assert_near(&got, &want_input, &format!("transposed convolution of {w:?}"));
    }
    let mut got = vec![f32::NAN; filter.len()];
    conv2d_backprop_filter(w, &input, out, groups, &gradient, &mut got);
    assert_eq!(got, want_filter, "filter gradient of {w:?}");
}

/// Compares bands of rows with the whole output.
fn check_rows(w: &Window, input: &[f32], packed: &PackedFilter, whole: &[f32], epilogue: &Epilogue<'_>) {
    let (step, line) = (packed.rows_together(), w.out_width * packed.out_channels());
    for rows in [step, 2 * step, w.out_height].into_iter().filter(|rows| *rows > 0) {
        let firsts = (0..w.batch).flat_map(|image| (0..w.out_height).step_by(rows).map(move |y| (image, y)));
        for (image, y) in firsts {
            let first = image * w.out_height + y;
            let band = first..first + rows.min(w.out_height - y);
            let mut output = vec![f32::NAN; band.len() * line];
            conv2d_rows(w, band.clone(), input, packed, &mut output, epilogue);
            assert!(output == whole[band.start * line..band.end * line], "rows {band:?} of {w:?} by {}", packed.algorithm());
        }
    }
}

/// Compares tiles of both sizes with the definition, on every instruction set. Sums of small integers are exact with tiles of 2.
fn check_tiles(w: &Window, out: usize) {
    let [input, filter, residual, want, ..] = reference(w, out, 1);
    let bias = values(4, out);
    let largest = want.iter().fold(1.0f32, |largest, x| largest.max(x.abs()));
    for (isa, size) in Isa::available().flat_map(|isa| [(isa, TileSize::Two), (isa, TileSize::Four)]) {
        let packed = winograd::Filter::new(isa, size, &filter, w.channels, out);
        for activation in [Activation::Relu6, Activation::LeakyRelu(0.5)] {
            let epilogue = Epilogue { bias: Some(&bias), residual: Some((&residual, out)), activation, accumulate: false };
            let mut output = vec![f32::NAN; want.len()];
            winograd::conv2d(w, &input, &packed, out, &mut output, &epilogue);
            let mut want: Vec<f32> = want.iter().enumerate().map(|(i, x)| x + bias[i % out] + residual[i]).collect();
            activation.apply(&mut want);
            let tolerance = if size == TileSize::Two { 0.0 } else { 1e-5 * largest };
            for (i, (got, want)) in output.iter().zip(&want).enumerate() {
                assert!((got - want).abs() <= tolerance, "output {i} of {w:?} with {size:?} on {isa:?}: {got}, not {want}");
            }
        }
    }
}

fn check_pool(w: &Window) {
    let v = &w.volume();
    let input = values(1, w.input_len());
    let gradient = values(2, w.positions() * w.channels);
    for c in 0..w.channels {
        let mut seen: Vec<Vec<usize>> = vec![Vec::new(); w.positions()];
        taps(w, |o, _, i| seen[o].push(i * w.channels + c));
        let (mut max_grad, mut avg_grad) = (vec![0.0; input.len()], vec![0.0f32; input.len()]);
        let (mut max, mut avg) = (vec![0.0; gradient.len()], vec![0.0; gradient.len()]);
        max_pool(v, &input, &mut max, f32::MIN);
        avg_pool(v, &input, &mut avg);
        for (o, seen) in seen.iter().enumerate() {
            let out = o * w.channels + c;
            let highest = seen.iter().map(|i| input[*i]).fold(f32::MIN, f32::max);
            assert_eq!(max[out], highest);
            let sum: f32 = seen.iter().map(|i| input[*i]).sum();
            assert_eq!(avg[out], if seen.is_empty() { 0.0 } else { sum / seen.len() as f32 });
            if let Some(first) = seen.iter().find(|i| input[**i] == highest) {
                max_grad[*first] += gradient[out];
            }
            for i in seen {
                avg_grad[*i] += gradient[out] / seen.len() as f32;
            }
        }
        let mut got = vec![f32::NAN; input.len()];
        max_pool_grad(v, &input, &gradient, &mut got);
        for i in (c..input.len()).step_by(w.channels) {
            assert_eq!(got[i], max_grad[i], "max gradient {i} of {w:?}");
        }
        avg_pool_grad(v, &gradient, &mut got);
        for i in (c..input.len()).step_by(w.channels) {
            assert_eq!(got[i], avg_grad[i], "avg gradient {i} of {w:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn convolutions_equal_plain_loops(w in windows(), out in 1usize..20, groups in 1usize..3) {
        check_conv(&w, out * groups, groups);
    }

    #[test]
    fn convolutions_of_many_channels_equal_plain_loops(w in windows(), out in 1usize..20, groups in 1usize..3) {
        check_conv(&Window { channels: 8 * w.channels, ..w }, out * groups, groups);
    }

    #[test]
    fn tiles_equal_plain_loops(w in windows(), out in 1usize..40) {
        let w = Window {
            height: 3,
            width: 3,
            stride_height: 1,
            stride_width: 1,
            dilation_height: 1,
            dilation_width: 1,
            out_height: (w.in_height + 2 * w.pad_top).saturating_sub(2),
            out_width: (w.in_width + 2 * w.pad_left).saturating_sub(2),
            ..w
        };
        check_tiles(&w, out);
    }

    #[test]
    fn depthwise_convolutions_equal_plain_loops(w in windows(), multiplier in 1usize..4) {
        check_depthwise(&w, multiplier);
    }

    #[test]
    fn pools_equal_plain_loops(w in windows()) {
        check_pool(&w);
    }
}

#[test]
fn layers_of_common_networks_equal_plain_loops() {
    check_conv(&Window::square(1, 20, 3, 7, 2, 3), 64, 1);
    check_conv(&Window::square(1, 9, 64, 3, 1, 1), 40, 1);
    check_conv(&Window::square(2, 8, 48, 1, 1, 0), 33, 1);
    check_conv(&Window::square(2, 8, 48, 1, 2, 0), 33, 1);
    check_tiles(&Window::square(1, 9, 64, 3, 1, 1), 40);
    check_tiles(&Window::square(3, 30, 20, 3, 1, 0), 16);
    check_depthwise(&Window::square(1, 14, 96, 3, 1, 1), 1);
    check_depthwise(&Window::square(1, 15, 37, 3, 2, 1), 1);
    check_depthwise(&Window::square(1, 9, 20, 5, 1, 2), 1);
}

#[test]
fn few_channels_and_groups_equal_plain_loops() {
    let with_width = |w: Window, width: usize| Window { width, pad_left: width / 2, out_width: (w.in_width - 1) / w.stride_width + 1, ..w };
    for (w, out) in
        [(Window::square(2, 24, 8, 5, 1, 2), 1), (Window::square(1, 20, 64, 1, 1, 0), 2), (Window::square(1, 30, 12, 9, 1, 4), 3)]
    {
        // Without vectors of eight, products are about as fast.
        for isa in [Isa::Avx2, Isa::Avx512] {
            assert_eq!(method_on(isa, Precision::F32, &w, out, 1, Lifetime::Kept), Method::Narrow, "{w:?} on {isa:?}");
        }
        check_conv(&w, out, 1);
        check_conv(&Window { batch: 3, ..with_width(w, 7) }, out, 1);
    }
    for (w, out, groups, method) in [
        (Window::square(2, 24, 3, 3, 1, 1), 8, 1, Method::Groups),
        (Window::square(1, 30, 4, 5, 2, 2), 16, 1, Method::Groups),
        (Window::square(1, 9, 32, 5, 1, 2), 64, 32, Method::Planes),
        (Window::square(1, 30, 64, 5, 1, 2), 64, 32, Method::Planes),
        (Window::square(2, 15, 96, 3, 2, 1), 96, 12, Method::Groups),
        (Window::square(1, 56, 64, 3, 2, 1), 64, 4, Method::Groups),
        (Window::square(1, 13, 24, 3, 2, 1), 48, 4, Method::Groups),
    ] {
        // Groups of more than two vectors are faster by products.
        for isa in [Isa::Portable, Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| out / groups <= 2 * isa.lanes()) {
            assert_eq!(method_on(isa, Precision::F32, &w, out, groups, Lifetime::Kept), method, "{w:?} on {isa:?}");
        }
        check_conv(&w, out, groups);
        check_conv(&with_width(w, 5), out, groups);
    }
    // Groups of four are about as fast by both methods.
    let w = Window::square(1, 14, 64, 3, 1, 1);
    for isa in [Isa::Portable, Isa::Avx2, Isa::Avx512] {
        let method = method_on(isa, Precision::F32, &w, 64, 16, Lifetime::Kept);
        assert!([Method::Planes, Method::Groups].contains(&method), "{method:?} on {isa:?}");
    }
    check_conv(&w, 64, 16);
    check_conv(&with_width(w, 5), 64, 16);
}

/// Returns true if a transposed convolution is computed as products that are added to patches.
fn is_scattered(w: &Window, out: usize, groups: usize) -> bool {
    let filter = vec![0.0; w.height * w.width * w.channels / groups * out];
    matches!(PackedTransposed::pack(w, &filter, out, groups).unwrap().form, TransposedForm::Patches(_))
}

#[test]
fn gradients_of_batches_equal_plain_loops() {
    // Few tiles of many images are summed in parts, images that are larger than a band in several bands, and padded images a few at a time.
    check_conv(&Window::square(40, 28, 1, 5, 1, 2), 4, 1);
    check_conv(&Window::square(2, 60, 24, 5, 1, 2), 16, 1);
    check_conv(&Window::square(3, 14, 32, 5, 1, 2), 20, 1);
    check_conv(&Window::square(5, 8, 40, 1, 2, 0), 24, 2);
    // A few output channels are the rows of the product: of images with padding and without, in parts, in several bands, and of many tiles.
    check_conv(&Window::square(40, 14, 16, 5, 1, 2), 8, 1);
    check_conv(&Window::square(3, 20, 24, 5, 1, 0), 2, 1);
    check_conv(&Window::square(2, 90, 20, 5, 1, 2), 5, 1);
    check_conv(&Window::square(2, 9, 100, 5, 1, 2), 1, 1);
    // Gradients smaller than their windows are scattered, some images at a time or a part of one.
    for (w, out, groups) in [
        (Window::square(11, 10, 20, 7, 1, 0), 24, 1),
        (Window::square(7, 10, 24, 9, 2, 0), 32, 2),
        (Window::square(2, 40, 16, 33, 1, 0), 24, 1),
    ] {
        assert!(is_scattered(&w, out, groups), "{w:?} as convolutions");
        check_conv(&w, out, groups);
    }
}

#[test]
fn pools_of_many_channels_equal_plain_loops() {
    for w in [
        Window::square(2, 12, 43, 2, 2, 0),
        Window::square(1, 9, 40, 3, 2, 1),
        Window::square(1, 12, 9, 6, 1, 0),
        Window::square(2, 13, 33, 2, 2, 0),
    ] {
        check_pool(&w);
    }
}

/// Returns the output of the form that the library chooses, for rough values.
fn convolved(w: &Window, out: usize) -> Vec<f32> {
    let filter: Vec<f32> = values(2, 9 * w.channels * out).iter().map(|x| (x / 7.0).exp()).collect();
    let input: Vec<f32> = values(1, w.input_len()).iter().map(|x| (x / 7.0).exp()).collect();
    let mut output = vec![f32::NAN; w.positions() * out];
    let packed = PackedFilter::pack(Precision::F32, w, &filter, out, 1);
    assert!(packed.is_for(packed.method(), Precision::F32, w, out, 1));
    conv2d(w, &input, &packed, &mut output, &Epilogue::default());
    output
}

#[test]
fn an_image_convolves_to_the_same_bits_beside_others() {
    for (size, channels) in [(56, 32), (14, 64), (7, 64)] {
        let one = convolved(&Window::square(1, size, channels, 3, 1, 1), 48);
        let three = convolved(&Window::square(3, size, channels, 3, 1, 1), 48);
        assert!(one == three[..one.len()], "{size} and {channels}");
    }
}

#[test]
fn bands_of_rows_convolve_to_the_bits_of_the_whole() {
    let rough = |seed, len| -> Vec<f32> { values(seed, len).iter().map(|x| (x / 7.0).exp()).collect() };
    for (w, out, groups) in [
        (Window::square(2, 30, 32, 3, 1, 1), 40, 1),
        (Window::square(1, 57, 16, 3, 1, 1), 16, 1),
        (Window::square(2, 23, 24, 5, 2, 2), 20, 1),
        (Window::square(2, 24, 8, 5, 1, 2), 1, 1),
        (Window::square(2, 14, 64, 3, 1, 1), 64, 16),
        (Window::square(1, 9, 48, 1, 1, 0), 33, 1),
    ] {
        let (input, filter) = (rough(1, w.input_len()), rough(2, w.height * w.width * w.channels / groups * out));
        let (bias, residual) = (rough(3, out), rough(4, w.positions() * out));
        let epilogue = Epilogue { bias: Some(&bias), residual: Some((&residual, out)), activation: Activation::Sigmoid, accumulate: false };
        let packed = PackedFilter::pack(Precision::F32, &w, &filter, out, groups);
        let mut whole = vec![f32::NAN; w.positions() * out];
        conv2d(&w, &input, &packed, &mut whole, &epilogue);
        check_rows(&w, &input, &packed, &whole, &epilogue);
    }
}

#[test]
fn tiles_are_chosen_where_they_save_work() {
    let chosen = |precision, w: &Window, out, groups, lifetime| method_for(precision, w, out, groups, lifetime);
    let kept = |size, channels, window, stride, out| {
        chosen(Precision::F32, &Window::square(1, size, channels, window, stride, 1), out, 1, Lifetime::Kept)
    };
    assert_eq!(kept(56, 64, 3, 1, 64), Method::Tiles(TileSize::Four));
    assert_eq!(kept(224, 64, 3, 1, 64), Method::Tiles(TileSize::Four));
    for method in [kept(56, 64, 3, 2, 64), kept(56, 64, 1, 1, 64), kept(56, 3, 3, 1, 64)] {
        assert_eq!(method, Method::Direct);
    }
    let once = |batch| method_on(Isa::Avx512, Precision::F32, &Window::square(batch, 14, 256, 3, 1, 1), 256, 1, Lifetime::Once);
    assert!(once(1) == Method::Direct && once(32) != Method::Direct);
    assert!(!matches!(chosen(Precision::F32, &Window::square(1, 56, 64, 3, 1, 1), 64, 2, Lifetime::Kept), Method::Tiles(_)));
    let on = |isa, precision, size, channels| {
        method_on(isa, precision, &Window::square(1, size, channels, 3, 1, 1), channels, 1, Lifetime::Kept)
    };
    assert_eq!(on(Isa::Avx512, Precision::F32, 2, 512), Method::Direct);
    // Where products in `bfloat16` are faster, fewer tiles are worth while, and more where they are slower.
    let tiled = |isa, precision| (4..60).filter(|&size| matches!(on(isa, precision, size, 64), Method::Tiles(_))).count();
    assert!(tiled(Isa::Avx512, Precision::Bf16) < tiled(Isa::Avx512, Precision::F32));
    assert!(tiled(Isa::Avx2, Precision::Bf16) >= tiled(Isa::Avx2, Precision::F32));
}

#[test]
fn a_layer_stands_for_batches_and_for_images_of_about_the_same_size() {
    let layer = |w: &Window, out, groups| ConvLayer::new(Precision::F32, w, out, groups);
    let one = layer(&Window::square(1, 55, 64, 3, 1, 1), 64, 1).unwrap();
    assert_eq!(layer(&Window::square(8, 56, 64, 3, 1, 1), 64, 1), Some(one));
    for other in [
        layer(&Window::square(1, 57, 64, 3, 1, 1), 64, 1),
        layer(&Window::square(1, 55, 64, 3, 1, 0), 64, 1),
        layer(&Window::square(1, 55, 64, 3, 1, 1), 64, 2),
    ] {
        assert_ne!(other.unwrap().to_string(), one.to_string());
    }
    assert!(one.to_string().ends_with(" f32 3x3 s1x1 d1x1 pp 64>64 g1 56x56"), "{one}");
    assert!(layer(&Window::square(0, 55, 64, 3, 1, 1), 64, 1).is_some());
    for (out, groups) in [(0, 1), (64, 0), (64, 3), (usize::MAX, 1)] {
        assert_eq!(layer(&Window::square(1, 55, 64, 3, 1, 1), out, groups), None);
    }
}

#[test]
fn every_candidate_of_a_layer_can_be_tried() {
    for (w, out, groups) in [
        (Window::square(1, 300, 16, 3, 1, 1), 8, 1),
        (Window::square(1, 20, 32, 3, 2, 1), 32, 8),
        (Window { dilation_height: 2, dilation_width: 2, ..Window::square(1, 24, 9, 3, 1, 0) }, 3, 1),
        (Window::square(1, 7, 5, 1, 3, 0), 1, 1),
    ] {
        let layer = ConvLayer::new(Precision::F32, &w, out, groups).unwrap();
        let candidates = layer.candidates();
        assert!(candidates.is_sorted_by(|a, b| a.nanoseconds <= b.nanoseconds));
        for candidate in &candidates {
            let (preparation, run) = ConvTrial::estimate(&layer, candidate);
            assert!(preparation > 0.0 && run > 0.0 && run <= candidate.nanoseconds);
            ConvTrial::new(&layer, candidate.method).run();
        }
    }
}

#[test]
#[should_panic(expected = "for a filter packed in tiles")]
fn tiles_refuse_strides() {
    let w = Window::square(1, 56, 64, 3, 1, 1);
    let packed = PackedFilter::pack(Precision::F32, &w, &vec![0.0; 9 * 64 * 64], 64, 1);
    let strided = Window::square(1, 56, 64, 3, 2, 1);
    conv2d(&strided, &vec![0.0; w.input_len()], &packed, &mut vec![0.0; w.positions() * 64], &Epilogue::default());
}
