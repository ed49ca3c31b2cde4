"""Losses in PyTorch: what backward gives is what the losses state, on the processor and elsewhere."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from propriety import interop, losses  # noqa: E402

SCORES = torch.linspace(-12, 12, 97, dtype=torch.float64)
LABELS = torch.arange(97, dtype=torch.float64) % 3 / 2
LOSSES = [
    "Log",
    "Exponential",
    "Squared().with_link(Cauchit())",
    "Beta(6, 14)",
    "HandVinciotti(0.3)",
    "Log() + Squared()",
]


def close(mine, truth):
    return np.allclose(mine.detach().numpy(), truth, rtol=1e-8, atol=1e-10 * np.abs(truth).max())


@pytest.mark.parametrize("route", ["_compiled", "_native"])
@pytest.mark.parametrize("loss", LOSSES)
def test_values_and_two_derivatives(loss, route):
    c, criterion = losses.as_composite(loss), interop.torch.ProperLoss(loss, reduction="none")
    criterion._compiled = getattr(criterion, route)  # what tensors on the processor go through
    F = SCORES.clone().requires_grad_()
    value = criterion(F, LABELS)
    (first,) = torch.autograd.grad(value.sum(), F, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), F)
    y, at = LABELS.numpy(), SCORES.numpy()
    assert close(value, c.value(y, at))
    assert close(first, c.gradient(y, at))
    assert close(second, c.hessian(y, at))
    assert close(criterion.inverse(SCORES), c.inverse(at))


def test_double_backward_by_differences():
    criterion = interop.torch.ProperLoss("Tailored(0.3, 4)")
    F, y = SCORES[40:50].clone().requires_grad_(), LABELS[40:50].clone().requires_grad_()
    assert torch.autograd.gradcheck(criterion, (F, y))
    assert torch.autograd.gradgradcheck(criterion, (F, y))


def test_the_log_loss_is_that_of_pytorch():
    F, y = SCORES.float().requires_grad_(), LABELS.float()
    ours, theirs = interop.torch.ProperLoss("Log"), torch.nn.BCEWithLogitsLoss()
    assert ours(F, y).item() == pytest.approx(theirs(F, y).item(), rel=1e-6)
    mine, true = (torch.autograd.grad(loss(F, y), F)[0] for loss in (ours, theirs))
    assert torch.allclose(mine, true, rtol=1e-5, atol=1e-9)
    total = interop.torch.ProperLoss("Log", reduction="sum")
    assert total(F, y).item() == pytest.approx(97 * theirs(F, y).item(), rel=1e-6)


def test_half_precision_is_taken_in_single():
    layer = torch.nn.Linear(3, 1)
    X, y = torch.randn(8, 3), torch.ones(8, 1)
    criterion = interop.torch.ProperLoss("Exponential")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        F = layer(X)
        assert F.dtype == torch.bfloat16
        loss = criterion(F, y)
    assert loss.dtype == torch.float32
    loss.backward()
    assert torch.isfinite(layer.weight.grad).all()


def test_a_module_is_copied_kept_and_shown():
    criterion = interop.torch.ProperLoss("Tailored(0.1, 20)")
    criterion.inverse(SCORES)
    for again in (copy.deepcopy(criterion), pickle.loads(pickle.dumps(criterion))):
        assert again(SCORES, LABELS).item() == criterion(SCORES, LABELS).item()
    assert "Tailored(0.1, 20).with_link(Logit())" in repr(criterion)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"one shape, got \(97,\) and \(97, 1\)"):
        interop.torch.ProperLoss()(SCORES, LABELS[:, None])
    with pytest.raises(ValueError, match="reduction must be"):
        interop.torch.ProperLoss(reduction="median")
