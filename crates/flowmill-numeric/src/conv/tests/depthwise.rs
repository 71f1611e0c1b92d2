//! Depthwise convolutions against plain loops.

use super::*;
use crate::conv::depthwise::{depthwise_backprop_filter, depthwise_backprop_input, depthwise_conv2d_rows, depthwise_for};
use crate::conv::{depthwise_bands, depthwise_wide};

#[test]
fn depthwise_blocks_of_columns_equal_plain_loops() {
    let of_a_kernel = [(3usize, 1usize), (3, 2), (5, 1), (5, 2), (7, 1)];
    let others = [(2, 1), (4, 1), (6, 1), (8, 1), (9, 1), (11, 1), (15, 1)];
    for ((width, stride), columns) in of_a_kernel.into_iter().chain(others).flat_map(|k| (7usize..16).map(move |n| (k, n))) {
        for pad in [0, 1, width - 1] {
            // The last window ends inside the image, at its end, or after it.
            for beyond in [0, 1, width / 2] {
                let in_width = ((columns - 1) * stride + width).saturating_sub(pad + beyond).max(1);
                let w = Window { in_width, width, out_width: columns, pad_left: pad, ..Window::square(1, 5, 21, 3, stride, 1) };
                check_depthwise(&w, 1);
            }
        }
    }
}

#[test]
fn depthwise_bands_of_channels_equal_plain_loops() {
    let large = [
        Window::square(2, 20, 37, 9, 1, 4),
        Window::square(1, 19, 16, 11, 2, 5),
        Window::square(1, 9, 40, 17, 1, 8),
        Window::square(1, 40, 8, 9, 1, 0),
    ];
    let far_apart = [Window::square(1, 9, 512, 3, 1, 1), Window::square(1, 15, 1024, 3, 2, 1), Window::square(1, 15, 256, 5, 1, 2)];
    let dilated = Window { dilation_height: 2, dilation_width: 2, pad_top: 8, pad_left: 8, ..Window::square(1, 20, 33, 9, 1, 4) };
    for w in large.into_iter().chain(far_apart).chain([dilated]) {
        assert!(depthwise_bands::is_worthwhile(&w), "{w:?}");
        check_depthwise(&w, 1);
    }
    for w in [
        Window::square(1, 14, 576, 3, 1, 1),
        Window::square(1, 28, 240, 5, 1, 2),
        Window::square(1, 8, 512, 3, 1, 1),
        Window::square(1, 14, 384, 7, 1, 3),
    ] {
        assert!(!depthwise_bands::is_worthwhile(&w), "{w:?}");
    }
}

#[test]
fn depthwise_convolutions_of_few_channels_equal_plain_loops() {
    // Rows of whole wide positions, of some more narrow ones, and shorter than a wide position.
    for (channels, size) in (1usize..=8).flat_map(|channels| [20usize, 23, 50].map(|size| (channels, size))) {
        for (window, pad) in [(3, 1), (4, 0), (11, 5)] {
            let w = Window::square(2, size, channels, window, 1, pad);
            assert!(depthwise_wide::is_worthwhile(Isa::Avx512, &w), "{w:?}");
            check_depthwise(&w, 1);
        }
    }
    for w in [
        // Several bands, one of them within the image; rows and columns of padding alone; dilations; more channels for many taps.
        Window::square(1, 150, 3, 5, 1, 2),
        Window::square(1, 18, 1, 3, 1, 6),
        Window { dilation_height: 3, dilation_width: 2, pad_top: 3, pad_left: 2, ..Window::square(1, 24, 2, 3, 1, 0) },
        Window { stride_height: 2, out_height: 12, ..Window::square(2, 24, 3, 3, 1, 1) },
        Window::square(1, 21, 12, 9, 1, 4),
    ] {
        assert!(depthwise_wide::is_worthwhile(Isa::Avx512, &w), "{w:?}");
        check_depthwise(&w, 1);
    }
    // The gradient of an image of one row is a convolution without taps.
    let one_row = Window {
        in_height: 1,
        in_width: 5,
        height: 1,
        width: 3,
        pad_top: 1,
        out_height: 1,
        out_width: 3,
        ..Window::square(1, 5, 4, 3, 1, 0)
    };
    check_depthwise(&Window { stride_height: 2, ..one_row }, 1);
    check_depthwise(&Window::square(1, 20, 1, 3, 1, 1), 3);
    check_conv(&Window::square(2, 20, 1, 5, 1, 2), 1, 1);
    check_conv(&Window::square(1, 30, 3, 3, 1, 1), 3, 3);
    for isa in Isa::available() {
        let method = method_on(isa, Precision::F32, &Window::square(1, 20, 1, 5, 1, 2), 1, 1, Lifetime::Kept);
        assert_eq!(method, Method::Planes, "{isa:?}");
    }
}

#[test]
fn depthwise_convolutions_of_no_positions_do_nothing() {
    let window = Window {
        batch: 1,
        in_height: 1,
        in_width: 1,
        channels: 2,
        height: 2,
        width: 1,
        stride_height: 1,
        stride_width: 1,
        dilation_height: 1,
        dilation_width: 1,
        pad_top: 0,
        pad_left: 0,
        out_height: 0,
        out_width: 1,
    };
    for multiplier in [1, 2] {
        depthwise_conv2d(&window, multiplier, &[1.0; 2], &[1.0; 8], &mut [], &Epilogue::default());
    }
}

pub(super) fn check_depthwise(w: &Window, multiplier: usize) {
    // The grouped reference has its filter as [taps, 1, channels * multiplier], which has the same order of elements.
    let [input, filter, gradient, want, want_input, want_filter] = reference(w, w.channels * multiplier, w.channels);
    let bias = values(4, w.channels * multiplier);
    for isa in Isa::available() {
        let mut output = vec![f32::NAN; want.len()];
        let epilogue = Epilogue::bias_activation(Some(&bias), Activation::Relu6);
        depthwise_for(isa, w, multiplier, &input, &filter, &mut output, &epilogue);
        for (i, got) in output.iter().enumerate() {
            assert_eq!(*got, (want[i] + bias[i % bias.len()]).clamp(0.0, 6.0), "output {i} of {w:?} on {isa:?}");
        }
        for rows in (0..w.batch * w.out_height).map(|row| row..row + 1) {
            let line = w.out_width * bias.len();
            let mut band = vec![f32::NAN; line];
            depthwise_conv2d_rows(w, multiplier, rows.clone(), &input, &filter, &mut band, &epilogue);
            assert_eq!(band, output[rows.start * line..rows.end * line], "rows {rows:?} of {w:?}");
        }
    }
    let mut got = vec![f32::NAN; input.len()];
    depthwise_backprop_input(w, multiplier, &filter, &gradient, &mut got);
    assert_eq!(got, want_input, "input gradient of {w:?}");
    let mut got = vec![f32::NAN; filter.len()];
    depthwise_backprop_filter(w, multiplier, &input, &gradient, &mut got);
    assert_eq!(got, want_filter, "filter gradient of {w:?}");
}
