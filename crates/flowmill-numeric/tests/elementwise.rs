//! Element-wise loops and reductions over slices, without tensors.

use flowmill_numeric::elementwise::{InPlace, Operand, map, map_in_place, zip, zip_in_place};
use flowmill_numeric::reduce::{Reducer, Segment, reduce};
use flowmill_numeric::special;

fn minus(a: &[f64], b: &[f64], out: &mut [f64]) {
    out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a - b);
}

fn half(src: &[f64], dst: &mut [f64]) {
    dst.iter_mut().zip(src).for_each(|(d, s)| *d = s / 2.0);
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i * i % 97) as f64).collect()
}

#[test]
fn operands_broadcast_as_in_numpy() {
    for (outer, middle, inner) in [(2, 4, 3), (3, 50, 70), (40, 60, 50)] {
        let shape = [outer, middle, inner];
        let (a, b) = (numbers(outer * inner), numbers(middle));
        let (left, right) = (Operand::new(&a, &[outer, 1, inner], &shape), Operand::new(&b, &[middle, 1], &shape));
        let mut out = vec![0.0; outer * middle * inner];
        zip(minus, 1, &left, &right, &mut out);
        let expected = |at: usize| a[at / (middle * inner) * inner + at % inner] - b[at / inner % middle];
        assert!(out.iter().enumerate().all(|(at, &x)| x == expected(at)), "{shape:?}");
    }
}

#[test]
fn short_rows_are_repeated_from_any_position_on() {
    for period in [2, 3, 256, 511, 512, 513] {
        let row = numbers(period);
        let shape = [4096usize.div_ceil(period), period];
        let operand = Operand::new(&row, &[period], &shape);
        let mut buffer = vec![0.0; 3000];
        for (start, len) in [(0, 512), (1, 512), (period - 1, 3000), (2 * period, 2048), (777, 5)] {
            let elements = operand.read(start, len, &mut buffer);
            assert!(elements.iter().enumerate().all(|(i, &x)| x == row[(start + i) % period]), "{len} of {period} from {start}");
        }
    }
}

#[test]
fn results_in_place_are_equal_to_others() {
    for n in [2, 7, 1000, 200_000] {
        let (a, b) = (numbers(n), numbers(n + 1)[1..].to_vec());
        let (left, right) = (Operand::new(&a, &[n], &[n]), Operand::new(&b, &[n], &[n]));
        let mut out = vec![0.0; n];
        zip(minus, 1, &left, &right, &mut out);
        let (mut in_a, mut in_b) = (a.clone(), b.clone());
        zip_in_place(minus, 1, &mut in_a, &right, InPlace::Left);
        zip_in_place(minus, 1, &mut in_b, &left, InPlace::Right);
        assert!(out == in_a && out == in_b, "{n}");
        map(half, 1, &in_a, &mut out);
        map_in_place::<f64, f64>(half, 1, &mut in_a);
        assert!(out == in_a, "{n}");
        assert!(out.iter().zip(a.iter().zip(&b)).all(|(half, (a, b))| *half == (a - b) / 2.0), "{n}");
    }
}

struct Mean;

impl Reducer<f64> for Mean {
    type Acc = f64;
    const EMPTY: f64 = 0.0;

    fn load(x: f64) -> f64 {
        x
    }

    fn merge(a: f64, b: f64) -> f64 {
        a + b
    }

    fn finish(acc: f64, count: usize) -> f64 {
        acc / count as f64
    }
}

#[test]
fn reductions_keep_the_other_dimensions() {
    let (outer, middle, inner) = (3, 500, 70);
    let x = numbers(outer * middle * inner);
    let segments = [(outer, false), (middle, true), (inner, false)].map(|(size, reduced)| Segment { size, reduced });
    let mut out = vec![0.0; outer * inner];
    reduce::<f64, Mean>(&x, &segments, middle, &mut out);
    for (at, &mean) in out.iter().enumerate() {
        let column = (0..middle).map(|m| x[(at / inner * middle + m) * inner + at % inner]);
        assert_eq!(mean, column.sum::<f64>() / middle as f64);
    }
}

#[test]
fn special_functions_have_their_known_values() {
    assert!((special::digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-14);
    assert!((special::zeta(2.0, 1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-14);
}
