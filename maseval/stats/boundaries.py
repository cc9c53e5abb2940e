"""Boundaries of a test that looks several times: how far is far enough at each look.

A test repeated at every look errs more often than it says. So the chance to err is spent over the
looks by a function of the share of the information that is there (Lan & DeMets 1983): hardly any
at first, like O'Brien & Fleming (1979). Estimates at several looks are points of a Brownian motion
whose time is the information (Jennison & Turnbull 2000, chapter 11), and its chance to leave the
boundaries is found look by look by numerical integration (Armitage, McPherson & Rowe 1969; Jennison
& Turnbull 2000, chapter 19).
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

_NORMAL = NormalDist()

# Farther out than this many standard deviations nothing happens.
_FAR = 8.5
_FEWEST_NODES = 20
_NODES_PER_DEVIATION = 2.0
_MOST_NODES = 160


def spent_alpha(share: float, alpha: float) -> float:
    """Return how much of the one-sided chance to err is spent at a share of the information."""
    # All of alpha is spent at the last look, exactly and not up to rounding.
    if share >= 1:
        return alpha
    return 2 * _NORMAL.cdf(_NORMAL.inv_cdf(alpha / 2) / math.sqrt(share))


class Band(NamedTuple):
    """The values at one look at which a test goes on: above ``low`` and below ``high``."""

    information: float
    low: float
    high: float


class Exits(NamedTuple):
    """The chances to leave a band downwards and upwards at one look, and not before."""

    below: float
    above: float


class _Density(NamedTuple):
    """The sum of scores at a look, if no band was left before: weights at some nodes."""

    time: float
    nodes: Sequence[float]
    weights: Sequence[float]

    def beyond(self, time: float, drift: float, limit: float, sign: int) -> float:
        """Return the chance that it is beyond a limit at a later time."""
        step = math.sqrt(time - self.time)
        shift = limit - drift * (time - self.time)
        scale = sign / (step * math.sqrt(2))
        return 0.5 * math.fsum(
            weight * math.erfc((shift - node) * scale)
            for node, weight in zip(self.nodes, self.weights, strict=True)
        )

    def within(self, time: float, drift: float, low: float, high: float) -> "_Density":
        """Return the density at a later time between two limits."""
        step = time - self.time
        reach = _FAR * math.sqrt(time)
        # Farther out there is nothing worth a node of the integral.
        low, high = max(low, drift * time - reach), min(high, drift * time + reach)
        if low >= high:
            return _Density(time, (), ())
        wanted = _NODES_PER_DEVIATION * (high - low) / math.sqrt(step)
        unit, unit_weights = _gauss_legendre(min(_MOST_NODES, max(_FEWEST_NODES, int(wanted))))
        half, middle = (high - low) / 2, (high + low) / 2
        front = half / math.sqrt(2 * math.pi * step)
        spread = -0.5 / step
        # Every node moves with the drift before it spreads.
        old = [(node + drift * step, w) for node, w in zip(self.nodes, self.weights, strict=True)]
        nodes = [middle + half * each for each in unit]
        exp = math.exp
        weights = [
            front * w * sum([o * exp(spread * (x - y) ** 2) for y, o in old])
            for x, w in zip(nodes, unit_weights, strict=True)
        ]
        return _Density(time, nodes, weights)


_START = _Density(0.0, (0.0,), (1.0,))


def exits(bands: Sequence[Band], effect: float) -> tuple[list[Exits], Callable[[Band], Exits]]:
    """Return the chances to leave each band, if the true effect is this, and those of a next one.

    An estimate of the effect has the variance 1 / information.
    """
    density, found = _START, []
    for band in bands:
        found.append(_leave(density, band, effect))
        time = band.information
        density = density.within(time, effect, band.low * time, band.high * time)
    last = density
    return found, lambda band: _leave(last, band, effect)


def _leave(density: _Density, band: Band, effect: float) -> Exits:
    time, low, high = band
    return Exits(
        0.0 if low == -math.inf else density.beyond(time, effect, low * time, -1),
        0.0 if high == math.inf else density.beyond(time, effect, high * time, 1),
    )


# Every look of a run asks for the boundaries of the same plan.
@lru_cache(maxsize=256)
def normal_boundaries(shares: tuple[float, ...], alpha: float) -> tuple[float, ...]:
    """Return the standardised value to reach at each look, for a test with ``alpha`` on each side.

    ``shares`` are those of the information at the looks.
    """
    density, spent, limits = _START, 0.0, []
    for share in shares:
        allowed = spent_alpha(share, alpha) - spent
        low, high = 0.0, 2 * _FAR
        while high - low > 1e-10:
            limit = (low + high) / 2
            crossing = density.beyond(share, 0.0, limit * math.sqrt(share), 1)
            low, high = (limit, high) if crossing > allowed else (low, limit)
        limits.append(high)
        edge = high * math.sqrt(share)
        # This is what the limit really spends, so that the errors of the search do not add up.
        spent += density.beyond(share, 0.0, edge, 1)
        density = density.within(share, 0.0, -edge, edge)
    return tuple(limits)


@lru_cache(maxsize=256)
def _gauss_legendre(count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return nodes and weights between -1 and 1 (Press et al., Numerical Recipes, 4.6)."""
    nodes, weights = [], []
    for position in range(1, count + 1):
        x = math.cos(math.pi * (position - 0.25) / (count + 0.5))
        for _ in range(100):
            value, slope = _legendre(count, x)
            x -= (step := value / slope)
            if abs(step) < 1e-15:
                break
        slope = _legendre(count, x)[1]
        nodes.append(x)
        weights.append(2 / ((1 - x * x) * slope * slope))
    return tuple(nodes), tuple(weights)


def _legendre(degree: int, x: float) -> tuple[float, float]:
    before, value = 1.0, x
    for n in range(2, degree + 1):
        before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
    return value, degree * (x * value - before) / (x * x - 1)
