"""A proper loss as a function for JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp

from propriety import losses
from propriety.interop.foreign import ForeignArray, ForeignLoss, within

if TYPE_CHECKING:
    from propriety.losses import Composite, Loss
    from propriety.losses.registry import LinkLike


class JaxArray(ForeignArray):
    """An array of JAX."""

    @staticmethod
    def constant(values: Any, like: ForeignArray) -> ForeignArray:
        """NumPy's numbers as an array beside another."""
        return JaxArray(jnp.asarray(values, dtype=like.array.dtype))


def _erfcx(x: Any) -> Any:
    # e^{x²} erfc(x) with erfc(x) = 2 Φ(−√2 x), in logarithms.
    return jnp.exp(x * x + jnp.log(2.0) + jsp.log_ndtr(-jnp.sqrt(2.0) * x))


JaxArray.functions = {
    name: function
    for module in (jsp, jnp)
    for name, function in vars(module).items()
    if callable(function) and not name.startswith("_")
} | {
    "betaincc": lambda a, b, x: jsp.betainc(b, a, 1 - x),
    "clip": lambda x, low, high: jnp.clip(x, *within(jnp.finfo(x.dtype).max, low, high)),
    "erfcx": _erfcx,
    "take": lambda values, places: jnp.take(values, places.astype(jnp.int32)),
}


def loss(loss: Loss | Composite | str, *, link: LinkLike | None = None) -> Callable[[Any, Any], Any]:
    """A function (F, y) → ℓ(y, p(F)), row by row, for ``jit``, ``grad``, ``vmap`` and the like.

    Parameters
    ----------
    loss : loss, composite or str
    link : link or str, optional
        Another link than the loss's own.

    Returns
    -------
    function
        Of scores F and labels y in [0, 1], arrays of one shape. ``function.inverse(F)`` is the probability,
        ``function.loss`` the composite. Derivatives by F are the ones that the loss states, twice.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from propriety import interop
    >>> tailored = interop.jax.loss("Tailored(0.1, 2)")
    >>> def mean(w, X, y):
    ...     return tailored(X @ w, y).mean()
    >>> X, y = jnp.array([[1.0, 0.0], [1.0, 1.0]]), jnp.array([0.0, 1.0])
    >>> jax.jit(jax.grad(mean))(jnp.zeros(2), X, y).round(3).tolist()
    [0.0, -0.062...]
    """
    composite = losses.as_composite(loss, link)
    ours = ForeignLoss(composite, JaxArray, lambda f: jax.eval_shape(f, jnp.zeros(2)))

    @jax.custom_jvp
    def slope(F: Any, y: Any) -> Any:
        return ours.gradient(y, F)

    @slope.defjvp
    def _(at: Any, moves: Any) -> Any:
        (F, y), (dF, dy) = at, moves
        by_label = slope(F, jnp.ones_like(F)) - slope(F, jnp.zeros_like(F))
        return slope(F, y), ours.hessian(y, F) * dF + by_label * dy

    @jax.custom_jvp
    def value(F: Any, y: Any) -> Any:
        return ours.value(y, F)

    @value.defjvp
    def _(at: Any, moves: Any) -> Any:
        (F, y), (dF, dy) = at, moves
        by_label = value(F, jnp.ones_like(F)) - value(F, jnp.zeros_like(F))
        return value(F, y), slope(F, y) * dF + by_label * dy

    def proper(F: Any, y: Any) -> Any:
        """ℓ(y, p(F))."""
        F = jnp.asarray(F)
        F = F if jnp.issubdtype(F.dtype, jnp.floating) else F.astype(jnp.float32)
        F, y = jnp.broadcast_arrays(F, jnp.asarray(y, dtype=F.dtype))
        return value(F, y)

    proper.loss, proper.inverse = composite, lambda F: ours.inverse(jnp.asarray(F))  # type: ignore[attr-defined]
    return proper
