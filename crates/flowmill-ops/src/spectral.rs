//! Fourier transforms.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("FFT", "(input: Tcomplex) -> (output: Tcomplex)")
        .gradient(gradient::fft)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<1>),
    op("IFFT", "(input: Tcomplex) -> (output: Tcomplex)")
        .gradient(gradient::ifft)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<1>),
    op("FFT2D", "(input: Tcomplex) -> (output: Tcomplex)")
        .gradient(gradient::fft_2d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<2>),
    op("IFFT2D", "(input: Tcomplex) -> (output: Tcomplex)")
        .gradient(gradient::ifft_2d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<2>),
    op("RFFT", "(input: Treal, fft_length: int32) -> (output: Tcomplex)")
        .gradient(gradient::rfft)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft),
    op("IRFFT", "(input: Tcomplex, fft_length: int32) -> (output: Treal)")
        .gradient(gradient::irfft)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft),
    op("FFT3D", "(input: Tcomplex) -> (output: Tcomplex)")
        .gradient(gradient::fft_3d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<3>),
    op("IFFT3D", "(input: Tcomplex) -> (output: Tcomplex)")
        .gradient(gradient::ifft_3d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<3>),
];
