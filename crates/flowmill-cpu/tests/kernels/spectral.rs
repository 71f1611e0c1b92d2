use crate::testing::{Call, ty};
use flowmill_tensor::{Complex, DType, Result, Tensor};

fn real(op: &str, input: Tensor, lengths: &[i32]) -> Result<Tensor> {
    let call = Call::new(op).attr("Treal", ty(DType::F64)).attr("Tcomplex", ty(DType::C128));
    call.inputs(vec![input, Tensor::vector(lengths)?]).run1()
}

fn volume(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_slice(shape, &(0..count).map(|i| ((i * i) % 11) as f64 - 4.0).collect::<Vec<_>>()).unwrap()
}

/// Returns the sum that defines the transform of the first `lengths` elements of a block of `sizes`.
fn direct(block: &[f64], sizes: [usize; 3], lengths: [usize; 3], at: [usize; 3]) -> Complex<f64> {
    let mut sum = Complex::new(0.0, 0.0);
    for i in 0..lengths[0] {
        for j in 0..lengths[1] {
            for k in 0..lengths[2] {
                let turns: f64 = [i, j, k].iter().zip(&at).zip(&lengths).map(|((&i, &f), &n)| (i * f) as f64 / n as f64).sum();
                sum += Complex::from_polar(block[(i * sizes[1] + j) * sizes[2] + k], -std::f64::consts::TAU * turns);
            }
        }
    }
    sum
}

#[test]
fn real_volumes() {
    let sizes = [3, 4, 5];
    let input = volume(&[2, 3, 4, 5]);
    for lengths in [[3, 4, 5], [2, 4, 4], [3, 1, 1]] {
        let found = real("RFFT3D", input.clone(), &lengths.map(|n| n as i32)).unwrap();
        let [rows, columns, kept] = [lengths[0], lengths[1], lengths[2] / 2 + 1];
        assert_eq!(found.shape().dims(), [2, rows, columns, kept]);
        let values = found.as_slice::<Complex<f64>>().unwrap();
        for (batch, block) in input.as_slice::<f64>().unwrap().chunks(60).enumerate() {
            for i in 0..rows * columns * kept {
                let at = [i / (columns * kept), i / kept % columns, i % kept];
                let expected = direct(block, sizes, lengths, at);
                assert!((values[batch * rows * columns * kept + i] - expected).norm() < 1e-12, "{lengths:?} at {at:?}");
            }
        }
        // The inverse transform returns the elements that the transform used.
        let back = real("IRFFT3D", found, &lengths.map(|n| n as i32)).unwrap();
        assert_eq!(back.shape().dims(), [2, lengths[0], lengths[1], lengths[2]]);
        let first = back.as_slice::<f64>().unwrap()[lengths[2] - 1];
        assert!((first - input.as_slice::<f64>().unwrap()[lengths[2] - 1]).abs() < 1e-12);
    }
}

#[test]
fn planes_are_volumes_of_one_layer() {
    let (plane, volume) = (volume(&[4, 6]), volume(&[1, 4, 6]));
    let spectra = [real("RFFT2D", plane, &[4, 5]).unwrap(), real("RFFT3D", volume, &[1, 4, 5]).unwrap()];
    assert_eq!(spectra[0].as_slice::<Complex<f64>>().unwrap(), spectra[1].as_slice::<Complex<f64>>().unwrap());
    let [plane, volume] = spectra;
    let back = [real("IRFFT2D", plane, &[3, 4]).unwrap(), real("IRFFT3D", volume, &[1, 3, 4]).unwrap()];
    assert_eq!(back[0].as_slice::<f64>().unwrap(), back[1].as_slice::<f64>().unwrap());
}

#[test]
fn lengths_are_checked() {
    for (op, dtype, shape, lengths, message) in [
        ("RFFT3D", DType::F64, &[4, 5][..], &[1, 4, 5][..], "Input must have rank of at least 3 but got: [4,5]"),
        ("RFFT3D", DType::F64, &[3, 4, 5], &[3, 4], "fft_length must have shape [3]"),
        ("RFFT3D", DType::F64, &[2, 3, 4, 5], &[3, 4, 8], "Input dimension 3 must have length of at least 8 but got: 5"),
        ("RFFT3D", DType::F64, &[2, 3, 4, 5], &[4, 4, 5], "Input dimension 1 must have length of at least 4 but got: 3"),
        ("RFFT2D", DType::F64, &[4, 5], &[-1, 5], "fft_length[0] must >= 0, but got: -1"),
        ("IRFFT2D", DType::C128, &[4, 5], &[4, 10], "Input dimension 1 must have length of at least 6 but got: 5"),
    ] {
        let error = real(op, Tensor::zeros(dtype, shape).unwrap(), lengths).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn any_dimensions_are_those_behind_exchanged() {
    let any = |op: &str, input: Tensor, lengths: &[i32], axes: &[i32]| {
        let call = Call::new(op).attr("Treal", ty(DType::F64)).attr("Tcomplex", ty(DType::C128));
        call.inputs(vec![input, Tensor::vector(lengths)?, Tensor::vector(axes)?]).run1()
    };
    let input = volume(&[2, 3, 4]);
    // Transform along the first and the last dimension, then with the middle one moved to the front.
    let found = any("RFFTND", input.clone(), &[2, 4], &[0, -1]).unwrap();
    assert_eq!(found.shape().dims(), [2, 3, 3]);
    let turned: Vec<f64> = {
        let x = input.as_slice::<f64>().unwrap();
        (0..3).flat_map(|j| (0..2).flat_map(move |i| (0..4).map(move |k| x[(i * 3 + j) * 4 + k]))).collect()
    };
    let expected = real("RFFT2D", Tensor::from_slice([3, 2, 4], &turned).unwrap(), &[2, 4]).unwrap();
    let (found_values, expected) = (found.as_slice::<Complex<f64>>().unwrap(), expected.as_slice::<Complex<f64>>().unwrap());
    for i in 0..2 {
        for j in 0..3 {
            assert_eq!(found_values[(i * 3 + j) * 3..][..3], expected[(j * 2 + i) * 3..][..3]);
        }
    }
    let back = any("IRFFTND", found, &[2, 4], &[0, 2]).unwrap();
    let pairs = back.as_slice::<f64>().unwrap().iter().zip(input.as_slice::<f64>().unwrap());
    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12));
    // Dimensions that are shorter than the length are padded with zeros.
    let longer = any("RFFTND", volume(&[2, 3]), &[5], &[1]).unwrap();
    assert_eq!(longer.shape().dims(), [2, 3]);
    let padded: Vec<f64> = volume(&[2, 3]).as_slice::<f64>().unwrap().chunks(3).flat_map(|row| [row, &[0.0, 0.0]].concat()).collect();
    let expected = real("RFFT", Tensor::from_slice([2, 5], &padded).unwrap(), &[5]).unwrap();
    assert_eq!(longer.as_slice::<Complex<f64>>().unwrap(), expected.as_slice::<Complex<f64>>().unwrap());
}

/// Computes the sums that define transforms along one axis.
fn along(values: &[Complex<f64>], sizes: &[usize], axis: usize, inverse: bool) -> Vec<Complex<f64>> {
    let (len, inner) = (sizes[axis], sizes[axis + 1..].iter().product::<usize>());
    let sign = if inverse { 1.0 } else { -1.0 };
    let scale = if inverse { 1.0 / len as f64 } else { 1.0 };
    let roots: Vec<_> = (0..len).map(|i| Complex::from_polar(1.0, sign * std::f64::consts::TAU * i as f64 / len as f64)).collect();
    let place = |at: usize, i: usize| at / (len * inner) * len * inner + i * inner + at % inner;
    let sum = |at: usize| (0..len).map(|i| values[place(at, i)] * roots[i * (at / inner % len) % len]).sum::<Complex<f64>>();
    (0..values.len()).map(|at| sum(at) * scale).collect()
}

#[test]
fn columns_are_transformed_like_rows() {
    // Sizes on both sides of the number of columns that are copied together, many small blocks, and large ones.
    let shapes: [&[usize]; 9] =
        [&[9, 33], &[7, 2], &[2, 16, 17], &[40, 5, 8], &[3, 1, 4], &[90, 130], &[2, 70, 150], &[5, 6, 7], &[12, 20, 35]];
    for sizes in shapes {
        let values: Vec<_> = volume(sizes).as_slice::<f64>().unwrap().iter().map(|&x| Complex::new(x, 1.0 - x * x)).collect();
        for (rank, name) in [(1, "FFT"), (2, "FFT2D"), (3, "FFT3D")] {
            for inverse in [false, true] {
                if rank > sizes.len() {
                    continue;
                }
                let op = format!("{}{name}", if inverse { "I" } else { "" });
                let input = Tensor::from_slice(sizes, &values).unwrap();
                let found = Call::new(&op).attr("Tcomplex", ty(DType::C128)).input(input).run1().unwrap();
                let mut expected = values.clone();
                for axis in sizes.len() - rank..sizes.len() {
                    expected = along(&expected, sizes, axis, inverse);
                }
                let largest = expected.iter().map(|x| x.norm()).fold(0.0, f64::max);
                for (i, (found, expected)) in found.as_slice::<Complex<f64>>().unwrap().iter().zip(&expected).enumerate() {
                    assert!((found - expected).norm() < 1e-12 * largest, "{op} of {sizes:?}: {found} for {expected} at {i}");
                }
            }
        }
    }
}

#[test]
fn real_planes_return_from_their_spectra() {
    for sizes in [[3, 90, 130], [40, 7, 6], [2, 33, 17]] {
        let input = volume(&sizes);
        let lengths = [sizes[1] as i32, sizes[2] as i32];
        let spectrum = real("RFFT2D", input.clone(), &lengths).unwrap();
        let whole: Vec<_> = input.as_slice::<f64>().unwrap().iter().map(|&x| Complex::new(x, 0.0)).collect();
        let whole = along(&along(&whole, &sizes, 1, false), &sizes, 2, false);
        let kept = sizes[2] / 2 + 1;
        for (i, found) in spectrum.as_slice::<Complex<f64>>().unwrap().iter().enumerate() {
            assert!((found - whole[i / kept * sizes[2] + i % kept]).norm() < 1e-8, "{sizes:?} at {i}");
        }
        let back = real("IRFFT2D", spectrum, &lengths).unwrap();
        let pairs = back.as_slice::<f64>().unwrap().iter().zip(input.as_slice::<f64>().unwrap());
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12), "{sizes:?}");
    }
}

#[test]
fn rows_of_spectra_may_be_longer_than_needed() {
    let halves: Vec<_> = (0..10).map(|i| Complex::new(f64::from(i), 0.0)).collect();
    let long = real("IRFFT", Tensor::from_slice([2, 5], &halves).unwrap(), &[4]).unwrap();
    let short: Vec<_> = halves.chunks(5).flat_map(|row| row[..3].to_vec()).collect();
    let short = real("IRFFT", Tensor::from_slice([2, 3], &short).unwrap(), &[4]).unwrap();
    assert_eq!(long.as_slice::<f64>().unwrap(), short.as_slice::<f64>().unwrap());
}
