//! Fourier transforms.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("FFT", "(input: Tcomplex) -> (output: Tcomplex)").attrs("Tcomplex: {complex64, complex128} = complex64"),
    op("IFFT", "(input: Tcomplex) -> (output: Tcomplex)").attrs("Tcomplex: {complex64, complex128} = complex64"),
    op("FFT2D", "(input: Tcomplex) -> (output: Tcomplex)").attrs("Tcomplex: {complex64, complex128} = complex64"),
    op("IFFT2D", "(input: Tcomplex) -> (output: Tcomplex)").attrs("Tcomplex: {complex64, complex128} = complex64"),
    op("RFFT", "(input: Treal, fft_length: int32) -> (output: Tcomplex)")
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64"),
    op("IRFFT", "(input: Tcomplex, fft_length: int32) -> (output: Treal)")
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64"),
];
