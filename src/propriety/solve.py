"""Minima of functions of few variables: Newton's steps, halved until the value falls."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_SUFFICIENT = 1e-4  # Armijo's share of the promised fall
_ROUNDING = 8 * np.finfo(float).eps
_REACH = 30.0  # by how much a step may change a margin


def _as_it_is(theta: Floats) -> Floats:
    return theta


def damped_newton(
    theta: Floats,
    value: Callable[[Floats], float],
    step_of: Callable[[Floats], Floats],
    *,
    within: Callable[[Floats], Floats] = _as_it_is,
    steps: int = 100,
    least: Callable[[Floats], Floats] | float = 1e-10,
    slack: float = 0.0,
) -> tuple[Floats, float]:
    """The minimum that is reached from θ, and the value there.

    Parameters
    ----------
    theta : array
    value : callable
        What is to be least.
    step_of : callable
        H⁻¹g at a point, to be subtracted; a step of 0 ends the search.
    within : callable, optional
        The nearest point that is allowed.
    steps : int, default=100
    least : float or callable, default=1e-10
        Size of steps that change nothing; a function of θ gives one for each variable.
    slack : float, default=0.0
        By which part of itself the value may rise, for rounding.

    Examples
    --------
    >>> theta, value = damped_newton(np.array([3.0]), lambda t: float(np.cosh(t[0])), np.tanh)
    >>> theta.round(6) + 0.0, value
    (array([0.]), 1.0)
    """
    now = value(theta)
    for _ in range(steps):
        step = step_of(theta)
        small = least(theta) if callable(least) else least
        while np.any(np.abs(step) > small):
            following = within(theta - step)
            then = value(following)
            if then <= now + slack * abs(now):
                break
            step = step / 2
        else:
            break
        theta, now = following, then
    return theta, now


class OnMargins(NamedTuple):
    """Where a search along columns of margins has ended, and whether the slopes are met there."""

    delta: Floats
    margins: Floats
    value: float
    met: bool


def newton_on_margins(
    M: Floats,
    v: Floats,
    value: Callable[[Floats, Floats], float],
    slopes: Callable[[Floats], Floats],
    direction: Callable[[Floats, Floats], Floats],
    enough: Floats,
    exact: float = 0.0,
) -> OnMargins:
    """The δ at which ``value(v + Mδ, δ)`` is least, by Newton's steps with Armijo's line search.

    Near the minimum, where the value is flat to rounding, a step is taken if it halves the largest slope.

    Parameters
    ----------
    M : array of shape (n, k)
    v : array of shape (n,)
        The margins at δ = 0.
    value, slopes, direction : callables
        Of margins and δ; of margins; of margins and slopes.
    enough : array of shape (k,)
        Slopes that are as good as 0.
    exact : float, default=0.0
        Size of a last step.
    """
    delta = np.zeros(M.shape[1])
    now = value(v, delta)
    for _ in range(100):
        gradient = slopes(v)
        if np.all(np.abs(gradient) <= enough):
            return OnMargins(delta, v, now, True)
        with np.errstate(over="ignore", invalid="ignore"):
            way = direction(v, gradient)
            fall, change = float(gradient @ way), M @ way
        if not (fall < 0 and np.isfinite(fall)):
            break
        t, near = min(1.0, _REACH / max(float(np.max(np.abs(change))), 1e-300)), np.max(np.abs(gradient))
        while t > 1e-12:
            new = value(v + t * change, delta + t * way)
            if new <= now + _SUFFICIENT * t * fall:
                break
            flat = new <= now + _ROUNDING * abs(now)
            if flat and np.max(np.abs(slopes(v + t * change))) < 0.5 * near:
                break
            t *= 0.5
        else:
            break
        delta, v, now = delta + t * way, v + t * change, new
        if float(np.max(np.abs(way), initial=0.0)) * t <= exact:
            break
    return OnMargins(delta, v, now, False)
