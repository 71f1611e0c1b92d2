"""Spectrograms and cepstral coefficients, as models of spoken commands compute them."""

import numpy as np
import pytest

from oracles import fed


@pytest.fixture
def sound():
    rng = np.random.default_rng(7)
    time = np.arange(4000) / 16000
    waves = np.stack([np.sin(2 * np.pi * 440 * time), np.sin(2 * np.pi * (300 + 2000 * time) * time)], 1)
    return (0.5 * waves + 0.05 * rng.normal(size=waves.shape)).astype(np.float32)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("window, stride", [(480, 160), (512, 512), (5, 3), (2, 1), (4000, 1), (4001, 7)])
def test_spectrogram(tf1, sound, window, stride, squared):
    sound = sound[:40] if window < 10 else sound
    attrs = {"window_size": window, "stride": stride, "magnitude_squared": squared}
    assert fed(tf1, "AudioSpectrogram", {"input": sound}, 1e-5, **attrs) is None


def test_refused_windows(tf1, sound):
    assert fed(tf1, "AudioSpectrogram", {"input": sound[:, 0]}, window_size=8, stride=4) is not None


@pytest.mark.parametrize("attrs", [
    {}, {"dct_coefficient_count": 40}, {"filterbank_channel_count": 20, "dct_coefficient_count": 10},
    {"upper_frequency_limit": 7600.0, "lower_frequency_limit": 80.0}, {"lower_frequency_limit": 0.0}, {"filterbank_channel_count": 1, "dct_coefficient_count": 1},
    {"upper_frequency_limit": 9000.0},  # past the end of the spectrum
])
def test_cepstral_coefficients(tf1, sound, attrs):
    frames = np.stack([sound[i:i + 512].T for i in range(0, 3000, 500)], 1) * np.hanning(512)
    spectrogram = (np.abs(np.fft.rfft(frames)) ** 2).astype(np.float32)
    for rate in (16000, 8000):
        assert fed(tf1, "Mfcc", {"spectrogram": spectrogram, "sample_rate": np.int32(rate)}, 1e-4, **attrs) is None
    assert fed(tf1, "Mfcc", {"spectrogram": np.zeros_like(spectrogram), "sample_rate": np.int32(16000)}, 1e-4, **attrs) is None


@pytest.mark.parametrize("rate, attrs", [
    (0, {}), (-1, {}), (16000, {"dct_coefficient_count": 41}), (16000, {"filterbank_channel_count": 0}), (16000, {"lower_frequency_limit": -1.0}),
    (16000, {"upper_frequency_limit": 10.0}), (16000, {"dct_coefficient_count": 0}),
])
def test_refused_coefficients(tf1, rate, attrs):
    spectrogram = np.ones((1, 2, 257), np.float32)
    assert fed(tf1, "Mfcc", {"spectrogram": spectrogram, "sample_rate": np.int32(rate)}, **attrs) is not None
