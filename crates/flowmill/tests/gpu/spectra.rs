//! Fourier transforms give the CPU's results on a GPU.

use crate::compare::{Case, Random, ints};
use crate::setup::on_stub;
use flowmill::prelude::*;

/// Shapes with lengths that are powers of two, others, primes, and one.
const DIMS: [[usize; 4]; 5] = [[2, 4, 8, 16], [1, 3, 5, 12], [2, 1, 7, 2], [3, 2, 6, 1], [0, 2, 2, 4]];

#[test]
pub(crate) fn transforms_of_complex_numbers() {
    on_stub(|| {
        let mut random = Random::new(91);
        for dims in DIMS {
            for dtype in [DType::C64, DType::C128] {
                let x = random.tensor(dtype, &dims);
                for op in ["FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D"] {
                    Case::new(op).input(x.clone()).within(64.0).check();
                }
            }
        }
        Case::new("FFT").input(random.tensor(DType::C64, &[2, 2048])).within(64.0).check();
        Case::new("FFT").input(random.tensor(DType::C64, &[1000])).within(64.0).check();
    });
}

#[test]
pub(crate) fn transforms_of_real_numbers() {
    on_stub(|| {
        let mut random = Random::new(92);
        for dims in DIMS {
            for (real, complex) in [(DType::F32, DType::C64), (DType::F64, DType::C128)] {
                for (rank, names) in [(1, ["RFFT", "IRFFT"]), (2, ["RFFT2D", "IRFFT2D"]), (3, ["RFFT3D", "IRFFT3D"])] {
                    // All elements, and fewer than there are.
                    for less in [0, 1] {
                        let lengths: Vec<i32> = dims[4 - rank..].iter().map(|&dim| (dim as i32 - less).max(1)).collect();
                        let case = |op| Case::new(op).attr("Treal", real).attr("Tcomplex", complex).within(64.0);
                        case(names[0]).input(random.tensor(real, &dims)).input(ints(&lengths)).check();
                        let x = random.tensor(complex, &dims);
                        let last = lengths.len() - 1;
                        let mut doubled = lengths.clone();
                        doubled[last] = (2 * lengths[last] - 2).max(1);
                        case(names[1]).input(x.clone()).input(ints(&doubled)).check();
                        doubled[last] = 2 * lengths[last] - 1;
                        case(names[1]).input(x).input(ints(&doubled)).check();
                    }
                }
            }
        }
    });
}
