"""The programs of examples/training: the same losses in TensorFlow and here, from the same initial values."""

import importlib
import pathlib
import sys

import numpy as np
import pytest

import flowmill

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "training"
STEPS = 20


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module


@pytest.mark.parametrize("name", ["digits", "wide_and_deep", "word2vec"])
def test_losses_are_those_of_tensorflow(tf1, examples, name):
    check_losses(tf1, examples, name)


@pytest.mark.parametrize("name", ["char_rnn", "translate"])
def test_losses_through_time_are_those_of_tensorflow(tf1, examples, control_flow, name):
    check_losses(tf1, examples, name)


def check_losses(tf1, examples, name):
    module = examples(name)
    theirs, ours = module.run(tf1, STEPS)[0], module.run(flowmill, STEPS)[0]
    assert len(ours) == STEPS and min(ours[1:]) < ours[0]
    # Sums in another order differ in the last digits, and training lets that grow.
    np.testing.assert_allclose(ours, theirs, rtol=2e-3)


@pytest.mark.usefixtures("control_flow")
def test_the_mandelbrot_set(tf1, examples):
    module = examples("mandelbrot")
    theirs, ours = (module.run(tf, 60, 24, 40) for tf in (tf1, flowmill))
    # Points at the edge hang on the last bit.
    assert np.mean(ours != theirs) < 0.005 and ours.max() == 40


def test_digits_are_learnt(examples):
    _, accuracy = examples("digits").run(flowmill, 900)
    assert accuracy >= 0.97


def test_every_example_says_which_module_it_uses(examples, monkeypatch):
    which = examples("which")
    monkeypatch.setattr(sys, "argv", ["example"])
    assert which.module() is flowmill
    monkeypatch.setattr(sys, "argv", ["example", "--tensorflow"])
    assert which.module().__name__ == "tensorflow.compat.v1"
