use crate::testing::{run1, ty};
use flowmill_tensor::{Complex, DType, Element, Result, Tensor, bf16, f16};

fn reduce(op: &str, x: Tensor, axes: &[i32], keep_dims: bool) -> Result<Tensor> {
    run1(op, &[("T", ty(x.dtype())), ("keep_dims", keep_dims.into())], vec![x, Tensor::vector(axes)?])
}

#[track_caller]
fn check<T: Element>(op: &str, x: &[T], expected: T) {
    let found = reduce(op, Tensor::vector(x).unwrap(), &[0], false).unwrap();
    assert_eq!((found.rank(), format!("{:?}", found.to_scalar::<T>().unwrap())), (0, format!("{expected:?}")), "{op}");
}

#[test]
fn every_set_of_axes_agrees_with_the_definition() {
    let dims = [2usize, 3, 1, 5, 4];
    let n: usize = dims.iter().product();
    let values: Vec<i64> = (0..n as i64).map(|i| i * i % 17 - 5).collect();
    for set in 0..32u32 {
        let axes: Vec<i32> = (0..5).filter(|a| set >> a & 1 == 1).map(|a| if a % 2 == 0 { a } else { a - 5 }).collect();
        for keep_dims in [false, true] {
            let mut expected = std::collections::BTreeMap::<Vec<usize>, (i64, i64)>::new();
            for (flat, &x) in values.iter().enumerate() {
                let mut rest = flat;
                let mut index = vec![0; 5];
                for a in (0..5).rev() {
                    index[a] = if set >> a & 1 == 1 { 0 } else { rest % dims[a] };
                    rest /= dims[a];
                }
                let slot = expected.entry(index).or_insert((0, i64::MIN));
                *slot = (slot.0 + x, slot.1.max(x));
            }
            let tensor = || Tensor::from_slice(dims, &values).unwrap();
            let (sum, max) = (reduce("Sum", tensor(), &axes, keep_dims).unwrap(), reduce("Max", tensor(), &axes, keep_dims).unwrap());
            assert_eq!(sum.as_slice::<i64>().unwrap(), expected.values().map(|v| v.0).collect::<Vec<_>>(), "{axes:?}");
            assert_eq!(max.as_slice::<i64>().unwrap(), expected.values().map(|v| v.1).collect::<Vec<_>>(), "{axes:?}");
            assert_eq!(sum.rank(), if keep_dims { 5 } else { 5 - axes.len() });
        }
    }
}

/// Rows that are merged side by side, columns of short rows, long rows one after the other, and all of them with what is left over.
#[test]
fn rows_and_columns_of_any_length_agree_with_the_definition() {
    for dims in
        [[19usize, 1, 1], [21, 7, 1], [9, 63, 1], [5, 64, 1], [3, 65, 1], [2, 31, 8], [3, 16, 3], [2, 5, 33], [1, 3, 5000], [1, 70, 4100]]
    {
        let [outer, size, inner] = dims;
        let count = outer * size * inner;
        let values: Vec<f32> = (0..count).map(|i| (i * 7919 % 4093) as f32 - 2000.0).collect();
        let mut with_nan = values.clone();
        with_nan[count / 2] = f32::NAN;
        let column = |values: &[f32], o: usize, i: usize| (0..size).map(|s| values[(o * size + s) * inner + i]).collect::<Vec<f32>>();
        let expected = |values: &[f32], merge: fn(f32, f32) -> f32| -> Vec<f32> {
            let places = (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i)));
            places.map(|(o, i)| column(values, o, i).into_iter().reduce(merge).unwrap()).collect()
        };
        let greatest = |a: f32, b: f32| if a.is_nan() || b.is_nan() { f32::NAN } else { a.max(b) };
        let least = |a: f32, b: f32| if a.is_nan() || b.is_nan() { f32::NAN } else { a.min(b) };
        for (op, values, merge) in [
            ("Sum", &values, (|a, b| a + b) as fn(f32, f32) -> f32),
            ("Max", &values, greatest),
            ("Min", &values, least),
            ("Max", &with_nan, greatest),
            ("Min", &with_nan, least),
        ] {
            let found = reduce(op, Tensor::from_slice(dims, values).unwrap(), &[1], false).unwrap();
            let (found, expected) = (found.as_slice::<f32>().unwrap().to_vec(), expected(values, merge));
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{op} of {dims:?}");
        }
        let narrow: Vec<f16> = values.iter().map(|&x| f16::from_f32(x / 64.0)).collect();
        let sums = expected(&narrow.iter().map(|x| x.to_f32()).collect::<Vec<_>>(), |a, b| a + b);
        let found = reduce("Mean", Tensor::from_slice(dims, &narrow).unwrap(), &[1], false).unwrap();
        for (found, sum) in found.as_slice::<f16>().unwrap().iter().zip(sums) {
            assert!((found.to_f32() - sum / size as f32).abs() <= 1e-3 * (1.0 + (sum / size as f32).abs()), "Mean of {dims:?}");
        }
    }
}

/// Runs that are reduced together with the rows around them, as in a group norm; [images, rows, groups, run].
#[test]
fn runs_of_any_length_are_reduced_with_their_rows() {
    for dims in [
        [1usize, 1, 3, 2],
        [2, 3, 5, 1],
        [1, 40, 6, 2],
        [3, 17, 4, 7],
        [2, 9, 32, 10],
        [1, 5, 3, 63],
        [2, 4, 3, 64],
        [1, 3, 2, 200],
        [1, 900, 8, 40],
    ] {
        let [images, rows, groups, run] = dims;
        let values: Vec<f32> = (0..dims.iter().product()).map(|i: usize| (i * 7919 % 251) as f32 - 120.0).collect();
        let group = |image: usize, group: usize| {
            let at = move |row: usize, i: usize| ((image * rows + row) * groups + group) * run + i;
            (0..rows).flat_map(move |row| (0..run).map(move |i| at(row, i))).map(|i| values[i])
        };
        let places = || (0..images).flat_map(|image| (0..groups).map(move |group| (image, group)));
        let sums: Vec<f32> = places().map(|(i, g)| group(i, g).sum()).collect();
        let greatest: Vec<f32> = places().map(|(i, g)| group(i, g).fold(f32::MIN, f32::max)).collect();
        for (op, expected) in [("Sum", sums), ("Max", greatest)] {
            let found = reduce(op, Tensor::from_slice(dims, &values).unwrap(), &[1, 3], false).unwrap();
            assert_eq!(found.as_slice::<f32>().unwrap(), expected, "{op} of {dims:?}");
        }
    }
}

#[test]
fn means_of_integers_are_summed_in_64_bits() {
    check("Mean", &[1i32, 2, 4, -8, -3, -1], 0);
    check("Mean", &[-7i32, -4], -5);
    check("Mean", &[200u8, 200], 200);
    check("Mean", &[100i8, 100, 100], 100);
    check("Mean", &[i32::MAX, i32::MAX], i32::MAX);
    check("Mean", &[i64::MAX, i64::MAX], -1);
    check("Mean", &[f16::from_f32(60000.0); 3], f16::from_f32(60000.0));
}

#[test]
fn norms_and_products() {
    check("EuclideanNorm", &[3i32, 4, 5], 7);
    check("EuclideanNorm", &[100i8, 100], 5);
    check("EuclideanNorm", &[Complex::new(3f64, 4.0), Complex::new(1.0, 0.0)], Complex::new(26f64.sqrt(), 0.0));
    check("Prod", &[Complex::new(1f32, 2.0), Complex::new(2.0, 0.0)], Complex::new(2f32, 4.0));
    check("Prod", &[1i32 << 20, 1 << 20], 0);
    check("Sum", &[bf16::from_f32(1.0); 5000], bf16::from_f32(5000.0));
}

#[test]
fn nan_and_infinity() {
    check("Max", &[1.0f32, f32::NAN, 3.0], f32::NAN);
    check("Min", &[f32::NAN; 40], f32::NAN);
    check("Max", &[f32::NEG_INFINITY; 9], f32::NEG_INFINITY);
}

#[test]
fn reductions_of_nothing() {
    let empty = |t: DType| Tensor::zeros(t, [0, 2]).unwrap();
    for (op, expected) in [("Sum", 0f32), ("Prod", 1.0), ("Max", f32::NEG_INFINITY), ("Min", f32::INFINITY), ("Mean", f32::NAN)] {
        let found = reduce(op, empty(DType::F32), &[0], false).unwrap();
        assert_eq!(format!("{:?}", found.as_slice::<f32>().unwrap()), format!("{:?}", [expected; 2]), "{op}");
    }
    assert_eq!(reduce("Mean", empty(DType::I32), &[0], false).unwrap().as_slice::<i32>().unwrap(), [0, 0]);
    assert_eq!(reduce("Max", empty(DType::I32), &[0], false).unwrap().as_slice::<i32>().unwrap(), [i32::MIN; 2]);
    assert_eq!(reduce("Sum", empty(DType::F32), &[1], true).unwrap().shape().dims(), [0, 1]);
    let all = run1("All", &[], vec![empty(DType::Bool), Tensor::vector(&[0i64]).unwrap()]).unwrap();
    assert_eq!(all.as_slice::<bool>().unwrap(), [true, true]);
    let any = run1("Any", &[], vec![Tensor::vector(&[false, true]).unwrap(), Tensor::scalar(0)]).unwrap();
    assert!(any.to_scalar::<bool>().unwrap());
}

#[test]
fn axes_are_checked() {
    for (axes, message) in [
        (&[0, -2][..], "Invalid reduction arguments: Axes contains duplicate dimension: 0"),
        (&[2], "Invalid reduction dimension (2 for input with 2 dimension(s)"),
        (&[-3], "Invalid reduction dimension (-3 for input with 2 dimension(s)"),
    ] {
        let error = reduce("Sum", Tensor::zeros(DType::F32, [2, 3]).unwrap(), axes, false).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

#[test]
fn large_sums_are_accurate_and_do_not_depend_on_threads() {
    let n = 3_000_017;
    let x: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1000) as f32 / 1000.0).collect();
    let exact: f64 = x.iter().map(|&x| f64::from(x)).sum();
    let on_threads = |threads: usize, dims: &[usize], axes: &[i32]| {
        let tensor = Tensor::from_slice(dims, &x[..dims.iter().product()]).unwrap();
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
            .install(|| reduce("Sum", tensor, axes, false).unwrap().as_slice::<f32>().unwrap().to_vec())
    };
    let sum = on_threads(1, &[n], &[0]);
    assert!((f64::from(sum[0]) - exact).abs() < 1e-6 * exact, "{} for {exact}", sum[0]);
    for (dims, axes) in
        [(&[n][..], &[0][..]), (&[3000, 1000], &[0]), (&[3000, 1000], &[1]), (&[30, 100, 1000], &[0, 2]), (&[30, 100, 1000], &[1])]
    {
        let one = on_threads(1, dims, axes);
        assert!(one == on_threads(2, dims, axes) && one == on_threads(7, dims, axes), "{dims:?} {axes:?}");
    }
}

/// NaN comes after all numbers, and the first of equals is found, in rows that are searched side by side and in columns.
#[test]
fn extremes_of_many_rows_are_the_first_of_the_greatest() {
    for dims in [[19usize, 21, 1], [7, 3, 1], [8, 1, 1], [5, 9, 6]] {
        let [outer, size, inner] = dims;
        let value = |i: usize| if i % 11 == 3 { f32::NAN } else { (i * 7919 % 13) as f32 };
        let values: Vec<f32> = (0..outer * size * inner).map(value).collect();
        let x = Tensor::from_slice(dims, &values).unwrap();
        for (op, sign) in [("ArgMax", 1.0), ("ArgMin", -1.0)] {
            let found = run1(op, &[("T", ty(DType::F32))], vec![x.clone(), Tensor::scalar(1i32)]).unwrap();
            for (at, &found) in found.as_slice::<i64>().unwrap().iter().enumerate() {
                let column: Vec<f32> = (0..size).map(|s| sign * values[(at / inner * size + s) * inner + at % inner]).collect();
                let greatest = column.iter().copied().filter(|x| !x.is_nan()).fold(f32::NEG_INFINITY, f32::max);
                let first = column.iter().position(|&x| x == greatest).unwrap_or(0);
                assert_eq!(found as usize, first, "{op} of {column:?}");
            }
        }
    }
}

#[test]
fn positions_of_extremes() {
    let arg = |op: &str, x: Tensor, axis: i32, out: DType| {
        run1(op, &[("T", ty(x.dtype())), ("output_type", ty(out))], vec![x, Tensor::scalar(axis)])
    };
    let vector = |v: &[f32]| Tensor::vector(v).unwrap();
    assert_eq!(arg("ArgMax", vector(&[1.0, f32::NAN, 3.0, 3.0]), 0, DType::I64).unwrap().to_scalar::<i64>().unwrap(), 2);
    assert_eq!(arg("ArgMin", vector(&[f32::NAN, 1.0]), -1, DType::I32).unwrap().to_scalar::<i32>().unwrap(), 1);
    let matrix = || Tensor::from_slice([2, 3], &[1, 5, 3, 4, 2, 3]).unwrap();
    assert_eq!(arg("ArgMax", matrix(), 0, DType::I64).unwrap().as_slice::<i64>().unwrap(), [1, 0, 0]);
    assert_eq!(arg("ArgMin", matrix(), 1, DType::I32).unwrap().as_slice::<i32>().unwrap(), [0, 1]);
    assert_eq!(arg("ArgMax", Tensor::zeros(DType::F32, [0, 2]).unwrap(), 1, DType::I64).unwrap().shape().dims(), [0]);
    for (x, axis, message) in [
        (Tensor::zeros(DType::F32, [2, 3]).unwrap(), 2, "Expected dimension in the range [-2, 2), but got 2"),
        (Tensor::zeros(DType::F32, [2, 0]).unwrap(), 1, "Reduction axis 1 is empty in shape [2,0]"),
        (Tensor::scalar(1f32), 0, "Expected dimension in the range [0, 0), but got 0"),
    ] {
        let error = arg("ArgMax", x, axis, DType::I64).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}
