//! Pools against plain loops.

use super::*;
use crate::window::{Axis, Window};

#[test]
fn a_gradient_of_averages_is_spread_over_the_windows() {
    for (height, width, channels, kernel, stride, dilation, pad) in [
        (7, 6, 43, (3, 3), 1, 1, 1),
        (9, 8, 3, (3, 2), 2, 1, 0),
        (8, 9, 9, (2, 2), 3, 1, 0),
        (11, 10, 2, (3, 2), 2, 3, 2),
        (5, 4, 1, (5, 4), 1, 1, 3),
    ] {
        let reach = |taps: usize| (taps - 1) * dilation + 1;
        let count = |size: usize, taps: usize| (size + 2 * pad - reach(taps)) / stride + 1;
        let w = Window {
            batch: 2,
            in_height: height,
            in_width: width,
            channels,
            height: kernel.0,
            width: kernel.1,
            stride_height: stride,
            stride_width: stride,
            dilation_height: dilation,
            dilation_width: dilation,
            pad_top: pad,
            pad_left: pad,
            out_height: count(height, kernel.0),
            out_width: count(width, kernel.1),
        };
        let gradient: Vec<f32> = (0..w.positions() * channels).map(|i| 1.0 / (i as f32 + 1.0)).collect();
        let mut want = vec![0.0f32; 2 * height * width * channels];
        for (at, share) in gradient.chunks_exact(channels).enumerate() {
            let (x, y, image) = (at % w.out_width, at / w.out_width % w.out_height, at / w.out_width / w.out_height);
            let (rows, columns) = (w.rows_inside(y), w.columns_inside(x));
            let taps = rows.len() * columns.len();
            for (i, j) in rows.flat_map(|i| columns.clone().map(move |j| (i, j))) {
                let to = (image * height + w.input_row(y, i)) * width + w.input_column(x, j);
                want[to * channels..][..channels].iter_mut().zip(share).for_each(|(to, share)| *to += share / taps as f32);
            }
        }
        let mut got = vec![f32::NAN; want.len()];
        avg_pool_grad(&w.volume(), &gradient, &mut got);
        assert_eq!(got, want, "{w:?}");
    }
}

#[test]
fn any_number_of_channels_is_pooled() {
    for channels in [1, 3, 7, 8, 9, 28, 32, 39, 43] {
        for (kernel, stride, pad) in [(2, 2, 0), (3, 2, 1), (3, 1, 1)] {
            let w = Window::square(2, 9, channels, kernel, stride, pad);
            let input: Vec<f32> = (0..w.input_len()).map(|i| (i * 7919 % 1009) as f32 / 8.0 - 60.0).collect();
            let (mut maxima, mut averages) = (vec![f32::NAN; w.positions() * channels], vec![f32::NAN; w.positions() * channels]);
            max_pool(&w.volume(), &input, &mut maxima, f32::MIN);
            avg_pool(&w.volume(), &input, &mut averages);
            for at in 0..maxima.len() {
                let (c, position) = (at % channels, at / channels);
                let (x, y, image) = (position % w.out_width, position / w.out_width % w.out_height, position / w.out_width / w.out_height);
                let taps: Vec<f32> = w
                    .rows_inside(y)
                    .flat_map(|i| w.columns_inside(x).map(move |j| (i, j)))
                    .map(|(i, j)| input[((image * w.in_height + w.input_row(y, i)) * w.in_width + w.input_column(x, j)) * channels + c])
                    .collect();
                assert_eq!(maxima[at], taps.iter().copied().fold(f32::MIN, f32::max), "{w:?} {at}");
                assert_eq!(averages[at], taps.iter().sum::<f32>() / taps.len() as f32, "{w:?} {at}");
            }
        }
    }
}

#[test]
fn integers_pool_too() {
    let axis = Axis { input: 2, window: 2, stride: 2, dilation: 1, pad: 0, output: 1 };
    let plane = Axis { input: 1, window: 1, stride: 1, dilation: 1, pad: 0, output: 1 };
    let v = Volume { batch: 1, axes: [plane, axis, axis], channels: 1 };
    let mut out = [0i32];
    avg_pool(&v, &[-3, 1, 8, 1], &mut out);
    assert_eq!(out, [1]);
    max_pool(&v, &[-3, -1, -8, -1], &mut out, i32::MIN);
    assert_eq!(out, [-1]);
}

/// Pools volumes of small integers, whose sums are exact, beside sums and maxima over [`Volume::for_each_tap`].
#[test]
fn pools_of_volumes() {
    for (input, window, stride, dilation, pad, channels) in [
        ([4, 5, 6], [2, 3, 2], [1, 1, 1], [1, 1, 1], [1, 1, 0], 43),
        ([4, 5, 6], [3, 4, 4], [1, 1, 1], [1, 1, 1], [1, 1, 1], 43),
        ([5, 4, 7], [3, 2, 3], [2, 2, 2], [1, 1, 1], [0, 1, 1], 3),
        ([6, 9, 5], [2, 2, 2], [3, 2, 1], [2, 3, 1], [1, 0, 0], 9),
        ([1, 1, 3], [1, 1, 2], [1, 1, 2], [1, 1, 1], [0, 0, 1], 1),
        ([4, 6, 4], [2, 2, 2], [2, 2, 2], [1, 1, 1], [0, 0, 0], 41),
        ([3, 6, 8], [1, 3, 2], [1, 3, 2], [1, 1, 1], [0, 0, 0], 8),
        ([3, 6, 9], [1, 2, 2], [1, 2, 2], [1, 1, 1], [0, 0, 0], 9),
        ([4, 7, 9], [2, 2, 2], [2, 2, 2], [1, 1, 1], [0, 0, 0], 3),
        ([6, 6, 6], [3, 3, 3], [3, 3, 3], [1, 1, 1], [0, 0, 0], 33),
    ] {
        let axis = |d: usize| {
            let reach = (window[d] - 1) * dilation[d] + 1;
            let output = (input[d] + 2 * pad[d] - reach) / stride[d] + 1;
            Axis { input: input[d], window: window[d], stride: stride[d], dilation: dilation[d], pad: pad[d], output }
        };
        let v = Volume { batch: 2, axes: [axis(0), axis(1), axis(2)], channels };
        let values = |len: usize| (0..len).map(|i| ((i * 7919) % 101 % 23) as f64 - 11.0).collect::<Vec<_>>();
        let x = values(2 * volume_len(&v));
        let gradient = values(v.positions() * channels);
        let mut max = vec![f64::MIN; gradient.len()];
        let (mut average, mut spread) = (vec![0.0; gradient.len()], vec![0.0; x.len()]);
        for position in 0..v.positions() {
            let mut count = 0;
            v.for_each_tap(position, |_, _| count += 1);
            v.for_each_tap(position, |_, pixel| {
                for c in 0..channels {
                    let (to, from) = (position * channels + c, pixel * channels + c);
                    max[to] = x[from].max(max[to]);
                    average[to] += x[from];
                    spread[from] += gradient[to] / f64::from(count);
                }
            });
            average[position * channels..][..channels].iter_mut().for_each(|sum| *sum /= f64::from(count.max(1)));
        }
        let mut got = vec![f64::NAN; gradient.len()];
        max_pool(&v, &x, &mut got, f64::MIN);
        assert_eq!(got, max, "{v:?}");
        avg_pool(&v, &x, &mut got);
        assert_eq!(got, average, "{v:?}");
        let mut got = vec![f64::NAN; x.len()];
        avg_pool_grad(&v, &gradient, &mut got);
        assert_eq!(got, spread, "{v:?}");
        let (mut to_first, mut to_equals) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        for position in 0..v.positions() {
            for (at, gradient) in (position * channels..).zip(&gradient[position * channels..][..channels]) {
                let mut is_first = true;
                v.for_each_tap(position, |_, pixel| {
                    let to = pixel * channels + at % channels;
                    if x[to] == max[at] {
                        to_equals[to] += gradient;
                        to_first[to] += if is_first { *gradient } else { 0.0 };
                        is_first = false;
                    }
                });
            }
        }
        got.fill(f64::NAN);
        max_pool_grad(&v, &x, &gradient, &mut got);
        assert_eq!(got, to_first, "first maxima of {v:?}");
        got.fill(f64::NAN);
        max_pool_grad_to_equals(&v, &x, &max, &gradient, &mut got);
        assert_eq!(got, to_equals, "all maxima of {v:?}");
    }
}

#[test]
fn windows_of_many_taps_and_channels_equal_plain_loops() {
    for ((size, window, pad), channels) in
        [(9, 9, 0), (8, 8, 0), (10, 9, 4), (17, 16, 2)].into_iter().flat_map(|s| [512, 523, 600].map(|c| (s, c)))
    {
        let axis = Axis { input: size, window, stride: 2, dilation: 1, pad, output: (size + 2 * pad - window) / 2 + 1 };
        let one = Axis { input: 1, window: 1, stride: 1, dilation: 1, pad: 0, output: 1 };
        let v = Volume { batch: 2, axes: [one, axis, axis], channels };
        let x: Vec<f32> = (0..2 * volume_len(&v)).map(|i| ((i * 7919) % 101) as f32 - 50.0).collect();
        let mut max = vec![f32::MIN; v.positions() * channels];
        let mut average = vec![0.0; max.len()];
        for position in 0..v.positions() {
            let mut count = 0;
            v.for_each_tap(position, |_, pixel| {
                count += 1;
                for c in 0..channels {
                    let at = position * channels + c;
                    max[at] = x[pixel * channels + c].max(max[at]);
                    average[at] += x[pixel * channels + c];
                }
            });
            average[position * channels..][..channels].iter_mut().for_each(|sum| *sum /= count as f32);
        }
        let mut got = vec![f32::NAN; max.len()];
        max_pool(&v, &x, &mut got, f32::MIN);
        assert_eq!(got, max, "maxima of {v:?}");
        avg_pool(&v, &x, &mut got);
        assert_eq!(got, average, "averages of {v:?}");
    }
}
