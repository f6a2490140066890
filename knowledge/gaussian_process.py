"""A Gaussian process over a few hundred measurements: Matern 5/2, a length scale a column, scale integrated out.

Rasmussen and Williams, Gaussian Processes for Machine Learning (2006): equations 2.23 to 2.26 (prediction), 4.17
(Matern) and 5.8 (marginal likelihood), the latter with the scale of the process at its best value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

Array = NDArray[np.float64]

TYPICAL_SCALE = 0.7
"""Median of the prior over length scales (columns are in 0..1), log-normal with a spread of a factor of e."""
TYPICAL_NOISE = 1e-3
"""Median of the prior over the variance of noise, relative to the process, with a spread of a factor of e^2."""
JITTER = 1e-6
_SCALES = (math.log(0.05), math.log(20.0))
_NOISES = (math.log(1e-5), math.log(0.3))


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the measurements say of other places.

    Attributes:
        inputs: Where was measured, shape (measurements, columns).
        scales: A length scale a column.
        factor: Lower Cholesky factor of the covariance, without the scale of the process.
        weights: Solution of the covariance with the targets, shape (measurements,).
        variance: Of the process.
    """

    inputs: Array
    scales: Array
    factor: Array
    weights: Array
    variance: float

    def predict(self, inputs: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at places of shape (count, columns); each of shape (count,)."""
        cross = matern(inputs, self.inputs, self.scales)
        spread = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
        left = np.maximum(1.0 - np.einsum("ij,ij->j", spread, spread), 1e-9)
        return cross @ self.weights, np.sqrt(self.variance * left)


def matern(a: Array, b: Array, scales: Array) -> Array:
    """Correlation of places, shape (len(a), len(b))."""
    left, right = a / scales, b / scales
    squared = (left * left).sum(1)[:, None] + (right * right).sum(1)[None] - 2.0 * left @ right.T
    distance = np.sqrt(5.0 * np.maximum(squared, 1e-12))
    correlation: Array = (1.0 + distance + distance * distance / 3.0) * np.exp(-distance)
    return correlation


def first_guess(columns: int) -> Array:
    """Logarithms of the length scales and of the noise before anything was measured, shape (columns + 1,)."""
    return np.append(np.full(columns, math.log(TYPICAL_SCALE)), math.log(TYPICAL_NOISE))


def improve(guess: Array, inputs: Array, targets: Array, rng: np.random.Generator, tries: int) -> Array:
    """The best of some steps from a guess, by marginal likelihood and prior: of one scale mostly, at times of all."""
    best, loss = guess, _loss(guess, inputs, targets)
    for _ in range(tries):
        step = best.copy()
        if rng.random() < 0.7:
            step[rng.integers(len(step))] += rng.normal()
        else:
            step += 0.3 * rng.normal(size=len(step))
        step[:-1] = np.clip(step[:-1], *_SCALES)
        step[-1] = np.clip(step[-1], *_NOISES)
        other = _loss(step, inputs, targets)
        if other < loss:
            best, loss = step, other
    return best


def condition(guess: Array, inputs: Array, targets: Array) -> Posterior:
    """The process given targets (of mean 0 and deviation 1) at these inputs."""
    factor = cholesky(_covariance(guess, inputs), lower=True, check_finite=False)
    weights = cho_solve((factor, True), targets, check_finite=False)
    return Posterior(inputs, np.exp(guess[:-1]), factor, weights, _variance(float(targets @ weights), len(targets)))


def _covariance(guess: Array, inputs: Array) -> Array:
    covariance = matern(inputs, inputs, np.exp(guess[:-1]))
    covariance[np.diag_indices(len(inputs))] += math.exp(guess[-1]) + JITTER
    return covariance


def _variance(fit: float, count: int) -> float:
    """The scale of the process; one measurement's worth of belief that it is 1."""
    return (fit + 1.0) / (count + 1.0)


def _loss(guess: Array, inputs: Array, targets: Array) -> float:
    """Negative log marginal likelihood plus that of the prior, up to a constant."""
    try:
        factor = cholesky(_covariance(guess, inputs), lower=True, check_finite=False)
    except LinAlgError:
        return math.inf
    white = solve_triangular(factor, targets, lower=True, check_finite=False)
    count = len(targets)
    misfit = 0.5 * count * math.log(_variance(float(white @ white), count)) + float(np.log(np.diag(factor)).sum())
    scales = float(((guess[:-1] - math.log(TYPICAL_SCALE)) ** 2).sum()) / 2.0
    noise = ((guess[-1] - math.log(TYPICAL_NOISE)) / 2.0) ** 2 / 2.0
    return misfit + scales + float(noise)
