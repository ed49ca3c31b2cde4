"""A proper loss as a module of PyTorch.

Tensors on the processor go through the compiled tables of the losses, in their own memory; others, on a GPU
for example, through the formulas or tables of `propriety.interop.foreign`, on their device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch.autograd.function import once_differentiable

from propriety import losses
from propriety.cached_properties import cached_property
from propriety.interop.foreign import ForeignArray, ForeignLoss, within

if TYPE_CHECKING:
    from propriety.losses import Composite, Loss
    from propriety.losses.registry import LinkLike


class TorchArray(ForeignArray):
    """A tensor."""

    @staticmethod
    def constant(values: Any, like: ForeignArray) -> ForeignArray:
        """NumPy's numbers as a tensor beside another."""
        return TorchArray(torch.as_tensor(values, dtype=like.array.dtype, device=like.array.device))


def _of_tensors(function: Any) -> Any:
    """The function of tensors, for numbers among its arguments as well."""

    def called(*args: Any) -> Any:
        like = next(a for a in args if isinstance(a, torch.Tensor))
        return function(*(a if isinstance(a, torch.Tensor) else like.new_tensor(a) for a in args))

    return called


_OF_ONE = (
    "absolute arcsinh arctan arctanh exp expm1 floor isfinite isnan log log1p negative sign sinh sqrt tan "
    "tanh"
)
_OF_TWO = (
    "add arctan2 bitwise_and bitwise_or divide greater greater_equal hypot less less_equal logaddexp maximum "
    "minimum multiply not_equal subtract"
)
TorchArray.functions = (
    {name: getattr(torch, name) for name in _OF_ONE.split()}
    | {name: _of_tensors(getattr(torch, name)) for name in _OF_TWO.split()}
    | {name: getattr(torch.special, name) for name in ("erf", "erfcx", "expit", "log_ndtr")}
    | {
        "broadcast_arrays": torch.broadcast_tensors,
        "broadcast_to": torch.broadcast_to,
        "clip": lambda x, low, high: torch.clamp(x, *within(torch.finfo(x.dtype).max, low, high)),
        "equal": _of_tensors(torch.eq),
        "full_like": torch.full_like,
        "invert": torch.bitwise_not,
        "ndtr": lambda x: torch.special.erfc(x * -np.sqrt(0.5)) / 2,  # its own has no digits below 1e-16
        "ones_like": torch.ones_like,
        "power": torch.pow,
        "stack": torch.stack,
        "sum": torch.sum,
        "take": lambda values, places: values[places.long()],
        "where": torch.where,
        "zeros_like": torch.zeros_like,
    }
)


class _Compiled:
    """Value, gradient and second derivative by the compiled tables, on the processor."""

    def __init__(self, loss: losses.Composite) -> None:
        self.loss = loss

    def gradient(self, y: ArrayLike, F: Any) -> Any:
        return self.value_and_gradient(y, F)[1]

    def value_and_gradient(self, y: ArrayLike, F: Any) -> tuple[Any, Any]:
        n_jobs = torch.get_num_threads()
        return _like(F, self.loss.values_and_gradients(_rows(y), _rows(F), n_jobs=n_jobs, table=True))

    def hessian(self, y: ArrayLike, F: Any) -> Any:
        n_jobs = torch.get_num_threads()
        return _like(
            F, self.loss.derivatives(_rows(y), _rows(F), curvature="newton", n_jobs=n_jobs, table=True)
        )[1]


def _rows(tensor: Any) -> Any:
    return tensor.detach().reshape(-1).to(torch.float64).numpy()


def _like(F: Any, arrays: tuple[Any, Any]) -> tuple[Any, Any]:
    first, second = (torch.from_numpy(a).to(F.dtype).view(F.shape) for a in arrays)
    return first, second


class _Value(torch.autograd.Function):
    """ℓ(y, p(F)), with the gradient found in the same pass."""

    @staticmethod
    def forward(ctx: Any, F: Any, y: ArrayLike, by: Any) -> Any:
        value, gradient = by.value_and_gradient(y, F)
        ctx.by = by
        ctx.save_for_backward(F, y, gradient)
        return value

    @staticmethod
    def backward(ctx: Any, above: Any) -> Any:
        F, y, gradient = ctx.saved_tensors
        by_label = None
        if ctx.needs_input_grad[1]:
            one, zero = (
                _Value.apply(F, label, ctx.by) for label in (torch.ones_like(F), torch.zeros_like(F))
            )
            by_label = above * (one - zero)
        return above * _Slope.apply(F, y, gradient, ctx.by), by_label, None


class _Slope(torch.autograd.Function):
    """∂ℓ/∂F, which is known already, and its own derivative."""

    @staticmethod
    def forward(ctx: Any, F: Any, y: ArrayLike, gradient: Any, by: Any) -> Any:
        ctx.by = by
        ctx.save_for_backward(F, y)
        return gradient.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Any) -> Any:
        F, y = ctx.saved_tensors
        by_label = None
        if ctx.needs_input_grad[1]:
            one, zero = torch.ones_like(F), torch.zeros_like(F)
            by_label = above * (ctx.by.gradient(one, F) - ctx.by.gradient(zero, F))
        return above * ctx.by.hessian(y, F), by_label, None, None


class ProperLoss(torch.nn.Module):
    """A proper loss of scores and labels, in the place of ``BCEWithLogitsLoss``.

    Derivatives by the scores and the labels are the ones that the loss states, to the second order. Scores in
    half precision, as under autocast, are taken in single precision.

    Parameters
    ----------
    loss : loss, composite or str
    link : link or str, optional
        Another link than the loss's own.
    reduction : {"mean", "sum", "none"}

    Examples
    --------
    >>> import torch
    >>> from propriety import interop
    >>> criterion = interop.torch.ProperLoss("Tailored(0.1, 2)")
    >>> F = torch.zeros(2, requires_grad=True)
    >>> criterion(F, torch.tensor([0.0, 1.0])).backward()
    >>> F.grad
    tensor([ 0.0..., -0.0...])
    >>> criterion.inverse(F)
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self, loss: Loss | Composite | str = "Log", *, link: LinkLike | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
        self.loss, self.reduction = losses.as_composite(loss, link), reduction
        self._compiled = _Compiled(self.loss)

    @cached_property
    def _native(self) -> ForeignLoss:
        return ForeignLoss(self.loss, TorchArray, lambda f: f(torch.zeros(2)))

    def extra_repr(self) -> str:
        """The loss, and how rows become one number."""
        return f"{self.loss!r}, reduction={self.reduction!r}"

    @torch.compiler.disable
    def forward(self, F: Any, y: Any) -> Any:
        """The loss of scores F and labels y in [0, 1], of one shape."""
        if F.shape != y.shape:
            raise ValueError(
                f"scores and labels must have one shape, got {tuple(F.shape)} and {tuple(y.shape)}"
            )
        if F.dtype in (torch.float16, torch.bfloat16):
            F = F.float()
        by = self._compiled if F.device.type == "cpu" else self._native
        value = _Value.apply(F, y.to(F.dtype), by)
        return value if self.reduction == "none" else getattr(value, self.reduction)()

    def inverse(self, F: Any) -> Any:
        """Probabilities of scores."""
        return self._native.inverse(F.detach())
