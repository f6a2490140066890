"""A Gaussian process over a few hundred measurements: Matern 5/2 with a length scale a column, plus linear columns.

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
TYPICAL_AMPLITUDE = 0.5
"""Median of the prior over amplitudes of linear columns, with a spread of a factor of e."""
FADED = 0.02
"""Amplitude below which a linear column says next to nothing. Half of the prior lies there: what misleads can fade."""
PRESENT = 1.5
"""What a linear column that says something has to add to the log likelihood, beyond what chance may add."""
SWITCHED = 0.2
"""Share of steps that try a linear column without any amplitude, or with the typical one again."""
JITTER = 1e-6
_SCALES = (math.log(0.05), math.log(20.0))
_AMPLITUDES = (math.log(1e-3), math.log(5.0))
_NOISES = (math.log(1e-5), math.log(0.3))


@dataclass(frozen=True, eq=False)
class Kernel:
    """Covariance, without the scale of the process.

    Attributes:
        logs: Logarithms of a length scale for each column, of an amplitude for each linear column, and of the noise.
        linear: How many of the inputs' last columns are linear: what an amplitude of theirs adds is proportional to
            them, whatever the distance.
    """

    logs: Array
    linear: int = 0

    @staticmethod
    def typical(columns: int, linear: int = 0) -> Kernel:
        """What is believed before anything was measured; ``columns`` are those that are not linear."""
        scales, amplitudes = np.full(columns, math.log(TYPICAL_SCALE)), np.full(linear, math.log(TYPICAL_AMPLITUDE))
        return Kernel(np.concatenate((scales, amplitudes, (math.log(TYPICAL_NOISE),))), linear)

    @property
    def noise(self) -> float:
        """Variance of noise."""
        return math.exp(self.logs[-1])

    def between(self, a: Array, b: Array) -> Array:
        """Covariance of places, shape (len(a), len(b)); both have all columns, the linear ones last."""
        split = len(self.logs) - 1 - self.linear
        covariance = matern(a[:, :split], b[:, :split], np.exp(self.logs[:split]))
        if self.linear:
            amplitudes = np.exp(self.logs[split:-1])
            covariance += (a[:, split:] * amplitudes) @ (b[:, split:] * amplitudes).T
        return covariance

    def variances(self, places: Array) -> Array:
        """Covariance of each place with itself, shape (len(places),)."""
        split = len(self.logs) - 1 - self.linear
        return np.asarray(1.0 + ((places[:, split:] * np.exp(self.logs[split:-1])) ** 2).sum(1))

    def among(self, places: Array) -> Array:
        """Covariance of measurements, noise included."""
        covariance = self.between(places, places)
        covariance[np.diag_indices(len(places))] += self.noise + JITTER
        return covariance

    def stepped(self, rng: np.random.Generator) -> Kernel:
        """A step away: of one logarithm mostly, at times of all, or a linear column switched off or on."""
        logs = self.logs.copy()
        split = len(logs) - 1 - self.linear
        kind = rng.random()
        if self.linear and kind < SWITCHED:
            column = split + int(rng.integers(self.linear))
            faded = logs[column] < math.log(FADED)
            logs[column] = math.log(TYPICAL_AMPLITUDE) if faded else _AMPLITUDES[0]
        elif kind < 0.7:
            logs[rng.integers(len(logs))] += rng.normal()
        else:
            logs += 0.3 * rng.normal(size=len(logs))
        logs[:split] = np.clip(logs[:split], *_SCALES)
        logs[split:-1] = np.clip(logs[split:-1], *_AMPLITUDES)
        logs[-1] = np.clip(logs[-1], *_NOISES)
        return Kernel(logs, self.linear)

    def surprise(self) -> float:
        """Negative logarithm of the prior, up to a constant."""
        split = len(self.logs) - 1 - self.linear
        apart = self.logs - Kernel.typical(split, self.linear).logs
        apart[-1] /= 2.0
        costs = apart * apart / 2.0
        costs[split:-1] = np.where(self.logs[split:-1] < math.log(FADED), 0.0, costs[split:-1] + PRESENT)
        return float(costs.sum())


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the measurements say of other places.

    Attributes:
        kernel: The covariance.
        inputs: Where was measured, shape (measurements, columns).
        factor: Lower Cholesky factor of the covariance.
        weights: Solution of the covariance with the targets, shape (measurements,).
        variance: Scale of the process.
    """

    kernel: Kernel
    inputs: Array
    factor: Array
    weights: Array
    variance: float

    def predict(self, places: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at places of shape (count, columns); each of shape (count,)."""
        cross = self.kernel.between(places, self.inputs)
        spread = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
        left = np.maximum(self.kernel.variances(places) - np.einsum("ij,ij->j", spread, spread), 1e-9)
        return cross @ self.weights, np.sqrt(self.variance * left)


def matern(a: Array, b: Array, scales: Array) -> Array:
    """Correlation of places, shape (len(a), len(b))."""
    left, right = a / scales, b / scales
    squared = (left * left).sum(1)[:, None] + (right * right).sum(1)[None] - 2.0 * left @ right.T
    distance = np.sqrt(5.0 * np.maximum(squared, 1e-12))
    correlation: Array = (1.0 + distance + distance * distance / 3.0) * np.exp(-distance)
    return correlation


def improved(kernel: Kernel, inputs: Array, targets: Array, rng: np.random.Generator, tries: int) -> Kernel:
    """The best of some steps from a kernel, by marginal likelihood and prior."""
    best, loss = kernel, _loss(kernel, inputs, targets)
    for _ in range(tries):
        step = best.stepped(rng)
        other = _loss(step, inputs, targets)
        if other < loss:
            best, loss = step, other
    return best


def condition(kernel: Kernel, inputs: Array, targets: Array) -> Posterior:
    """The process given targets (of mean 0 and deviation 1) at these inputs."""
    factor = cholesky(kernel.among(inputs), lower=True, check_finite=False)
    weights = cho_solve((factor, True), targets, check_finite=False)
    return Posterior(kernel, inputs, factor, weights, _variance(float(targets @ weights), len(targets)))


def _variance(fit: float, count: int) -> float:
    """The scale of the process; one measurement's worth of belief that it is 1."""
    return (fit + 1.0) / (count + 1.0)


def _loss(kernel: Kernel, inputs: Array, targets: Array) -> float:
    """Negative log marginal likelihood plus that of the prior, up to a constant."""
    try:
        factor = cholesky(kernel.among(inputs), lower=True, check_finite=False)
    except LinAlgError:
        return math.inf
    white = solve_triangular(factor, targets, lower=True, check_finite=False)
    count = len(targets)
    misfit = 0.5 * count * math.log(_variance(float(white @ white), count)) + float(np.log(np.diag(factor)).sum())
    return misfit + kernel.surprise()
