//! Fourier transforms.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::Work;

pub(crate) const OPS: &[Op] = &[
    op("FFT", "(input: Tcomplex) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(1))
        .gradient(gradient::fft)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<1>),
    op("IFFT", "(input: Tcomplex) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(1))
        .gradient(gradient::ifft)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<1>),
    op("FFT2D", "(input: Tcomplex) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(2))
        .gradient(gradient::fft_2d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<2>),
    op("IFFT2D", "(input: Tcomplex) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(2))
        .gradient(gradient::ifft_2d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<2>),
    op("FFT3D", "(input: Tcomplex) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(3))
        .gradient(gradient::fft_3d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<3>),
    op("IFFT3D", "(input: Tcomplex) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(3))
        .gradient(gradient::ifft_3d)
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft::<3>),
    op("FFTND", "(input: Tcomplex, fft_length: int32, axes: int32) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(0))
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft_nd),
    op("IFFTND", "(input: Tcomplex, fft_length: int32, axes: int32) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(0))
        .attrs("Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft_nd),
    op("RFFT", "(input: Treal, fft_length: int32) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(1))
        .gradient(gradient::rfft)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft::<1>),
    op("IRFFT", "(input: Tcomplex, fft_length: int32) -> (output: Treal)")
        .costly()
        .work(Work::Fourier(1))
        .gradient(gradient::irfft)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft::<1>),
    op("RFFT2D", "(input: Treal, fft_length: int32) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(2))
        .gradient(gradient::rfft_2d)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft::<2>),
    op("IRFFT2D", "(input: Tcomplex, fft_length: int32) -> (output: Treal)")
        .costly()
        .work(Work::Fourier(2))
        .gradient(gradient::irfft_2d)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft::<2>),
    op("RFFT3D", "(input: Treal, fft_length: int32) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(3))
        .gradient(gradient::rfft_3d)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft::<3>),
    op("IRFFT3D", "(input: Tcomplex, fft_length: int32) -> (output: Treal)")
        .costly()
        .work(Work::Fourier(3))
        .gradient(gradient::irfft_3d)
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::rfft::<3>),
    op("RFFTND", "(input: Treal, fft_length: int32, axes: int32) -> (output: Tcomplex)")
        .costly()
        .work(Work::Fourier(0))
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft_nd),
    op("IRFFTND", "(input: Tcomplex, fft_length: int32, axes: int32) -> (output: Treal)")
        .costly()
        .work(Work::Fourier(0))
        .attrs("Treal: {float, double} = float; Tcomplex: {complex64, complex128} = complex64")
        .shape(shape::fft_nd),
];
