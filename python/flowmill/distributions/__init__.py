"""Probability distributions: ``tf.distributions``.

A distribution has parameters in batches: those of a ``Normal`` with ``loc`` of shape ``[3]`` are three normal distributions. A sample has the shape
``sample_shape + batch_shape + event_shape``.
"""

from __future__ import annotations

from flowmill.distributions._counts import Bernoulli, Categorical, DirichletMultinomial, Multinomial
from flowmill.distributions._distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution, ReparameterizationType
from flowmill.distributions._divergences import RegisterKL, kl_divergence
from flowmill.distributions._positive import Exponential, Gamma
from flowmill.distributions._real import Laplace, Normal, StudentT, Uniform
from flowmill.distributions._simplex import Beta, Dirichlet

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Dirichlet", "DirichletMultinomial", "Distribution", "Exponential", "FULLY_REPARAMETERIZED", "Gamma",
    "Laplace", "Multinomial", "NOT_REPARAMETERIZED", "Normal", "RegisterKL", "ReparameterizationType", "StudentT", "Uniform", "kl_divergence",
]
