"""``propriety losses``: the families, one loss described, or several side by side."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from propriety import losses
from propriety.cli import options as o
from propriety.cli.commands import command
from propriety.cli.output import Output, UsageError
from propriety.losses import registry

if TYPE_CHECKING:
    from propriety.losses.registry import LossLike

_BARS = "▁▂▃▄▅▆▇█"
_P = np.linspace(0.025, 0.975, 20)
_AT = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@command
def losses_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Families or losses, for example Log 'Beta(6, 14)'."),
    ] = None,
    *,
    plot: Annotated[
        str | None, typer.Option("--plot", help="Draw all representations to this file: .png, .svg or .pdf.")
    ] = None,
    telling: o.Telling,
) -> None:
    """List the losses, describe one, or compare several.

    \b
    Examples:
      propriety losses
      propriety losses 'Tailored(0.1, 20)'
      propriety losses Log Squared 'Beta(6, 14)' --plot faces.png
    """  # noqa: D301
    out = telling.output
    chosen = [_read(name) for name in names or []]
    if not chosen:
        _list(out)
    elif len(chosen) == 1:
        _describe(out, *chosen[0])
    else:
        _compare(out, [loss for _, loss in chosen])
    if plot is not None:
        _draw(out, [loss for _, loss in chosen] or losses.examples("Log"), plot)


def _read(text: str) -> tuple[type, Any]:
    """The family and a loss of it: the one that is named, or its first example."""
    family = next((n for n in losses.names() if n.lower() == text.lower()), None)
    alias = next((n for n in registry.ALIASES if n.lower() == text.lower()), None)
    if family is None and alias is not None:
        family = registry.ALIASES[alias]
    if family is not None:
        return getattr(losses, family), losses.examples(family)[0]
    try:
        value = losses.parse(text)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None
    if isinstance(value, losses.Composite):
        return type(value.loss), value
    if not isinstance(value, losses.Loss):
        raise UsageError(f"{text!r} is not a loss; propriety losses lists them")
    return type(value), value


def _list(out: Output) -> None:
    rows = []
    for name in losses.names():
        example = losses.examples(name)[0]
        rows.append((name, repr(example), sparkline(example), _claim(getattr(losses, name))))
    out.table(
        "Losses and their weights over thresholds from 0 to 1",
        ("name", "example", "weight", "description"),
        rows,
    )
    out.say("Details: propriety losses NAME. Sums are losses too: '2 * Log() + Tailored(0.1, 20)'.")
    out.result(
        {"command": "losses", "losses": [{"name": r[0], "example": r[1], "claim": r[3]} for r in rows]}
    )


def _claim(family: type) -> str:
    return (inspect.getdoc(family) or "").split("\n\n")[0].replace("\n", " ")


def _base(loss: Any) -> Any:
    return loss.loss if isinstance(loss, losses.Composite) else loss


def sparkline(loss: LossLike) -> str:
    """The weight over p from 0 to 1 in small bars; a loss without a weight function has none."""
    base = _base(loss)
    if not isinstance(base, losses.SmoothLoss):
        return ""
    height = np.asarray(base.weight(_P))
    share = height / height.max() if height.max() > 0 else height
    return "".join(_BARS[round(7 * float(s))] for s in share)


def _describe(out: Output, family: type, loss: Any) -> None:
    base = _base(loss)
    out.say(repr(loss), "bold")
    out.say(inspect.getdoc(family) or "")
    properties = {
        **base.properties(),
        **(_composite(loss).properties() if isinstance(base, losses.SmoothLoss) else {}),
    }
    out.table(
        f"Properties of {loss!r}",
        ("", "", "because"),
        [(k, "yes" if f else "no", f.reason) for k, f in properties.items()],
    )
    rows = _values(base)
    out.table("Values", tuple(rows[0]), [tuple(r.values()) for r in rows])
    if sparkline(loss):
        out.say(f"weight from p = 0 to 1: {sparkline(loss)}")
    out.result(
        {
            "command": "losses",
            "loss": repr(loss),
            "family": family.__name__,
            "properties": {k: {"holds": bool(f), "reason": f.reason} for k, f in properties.items()},
            "values": rows,
        }
    )


def _composite(loss: Any) -> Any:
    return loss if isinstance(loss, losses.Composite) else loss.composite()


def _values(base: Any) -> list[dict[str, float]]:
    rows = []
    for p in _AT:
        row = {"p": p, "loss if 1": base.loss(1, p), "loss if 0": base.loss(0, p), "entropy": base.entropy(p)}
        if isinstance(base, losses.SmoothLoss):
            row["weight"] = base.weight(p)
        rows.append({k: float(v) for k, v in row.items()})
    return rows


def _compare(out: Output, chosen: list[Any]) -> None:
    bases = [_base(loss) for loss in chosen]
    for label, y in (("Loss if the label is 1", 1.0), ("Loss if the label is 0", 0.0)):
        rows = [(p, *(float(b.loss(y, p)) for b in bases)) for p in _AT]
        out.table(label, ("p", *map(repr, chosen)), rows)
    keys = list(dict.fromkeys(k for b in bases for k in b.properties()))
    facts = [(k, *("yes" if b.properties().get(k) else "no" for b in bases)) for k in keys]
    out.table("Properties", ("", *map(repr, chosen)), facts)
    out.result(
        {
            "command": "losses",
            "losses": [{"loss": repr(c), "values": _values(b)} for c, b in zip(chosen, bases, strict=True)],
        }
    )


def _draw(out: Output, chosen: list[Any], path: str) -> None:
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--plot {path}: the file must end with .png, .svg or .pdf")
    try:
        from propriety import plots
        from propriety.storage.atomic import atomically

        figure = plots.loss_faces(*chosen, normalize=len(chosen) > 1)
    except ImportError:
        raise UsageError("--plot needs matplotlib: install propriety[plot]") from None
    with atomically(path) as temporary:
        figure.savefig(temporary, dpi=150)
    out.say(f"Picture written to {path}")
