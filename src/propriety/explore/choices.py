"""What can be chosen on the page: families with the stops of their sliders, and thresholds."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from propriety import losses
from propriety.costs import ResolvedCosts
from propriety.losses.registry import LOSSES
from propriety.losses.value import show

Stops = tuple[Any, ...]


@dataclass(frozen=True)
class Slider:
    """The values that a parameter may take on the page; without a server, only `few` of them."""

    stops: Stops
    few: Stops


_CENTRES = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_COST = Slider((*_CENTRES, *(round(1 - c, 2) for c in _CENTRES[-2::-1])), (0.05, 0.1, 0.3, 0.5, 0.8))
_EXPONENT = Slider(
    (-0.9, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 10, 14, 20, 30),
    (-0.5, 0, 1, 4, 14),
)
_GAIN = Slider((0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4), (0.25, 0.5, 1, 2, 4))
_SHARE = Slider((0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98), (0.1, 0.3, 0.5, 0.8))
_SIZE = Slider((0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 31, 48), (0.5, 1, 4, 16, 31))
SLIDERS: Mapping[tuple[str, str], Slider] = {
    ("AlphaTunable", "gain"): Slider(_GAIN.stops, (0.5, 1, 2)),
    ("AlphaTunable", "alpha"): Slider((0, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5), (0, 0.25, 0.5)),
    ("Beta", "alpha"): _EXPONENT,
    ("Beta", "beta"): _EXPONENT,
    ("CascadeDown", "b"): _SIZE,
    ("CascadeUp", "a"): _SIZE,
    ("CostWeighted", "c"): _COST,
    ("DensityPower", "gamma"): Slider(
        (-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6), (-0.5, 0, 0.5, 1, 2, 4)
    ),
    ("GBoost", "gain"): _GAIN,
    ("GGauss", "gain"): _GAIN,
    ("GLaplace", "gain"): _GAIN,
    ("GLog", "gain"): _GAIN,
    ("HandVinciotti", "c"): _COST,
    ("HandVinciotti", "width"): Slider((0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5), (0.05, 0.1, 0.3)),
    ("LogCosh", "zeta"): Slider((0.5, 1, 2, 4, 8, 12, 16, 24, 32), (1, 4, 8, 16, 32)),
    ("Mu", "mu"): _SHARE,
    ("Power", "upsilon"): _SHARE,
    ("Tailored", "cost"): Slider(_COST.stops, (0.1, 0.3, 0.5, 0.8)),
    ("Tailored", "focus"): Slider((0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 60, 100), (2, 10, 20, 40)),
    ("Tailored", "by"): Slider(("mean", "mode"), ("mean", "mode")),
}

_THRESHOLDS = (0.01, 0.02, 0.03, 0.05, 0.075, *(round(0.05 * k, 2) for k in range(2, 19)))
THRESHOLDS = (*_THRESHOLDS, 0.925, 0.95, 0.97, 0.98, 0.99)
START = "Tailored"  # the family that the page begins with
START_THRESHOLD = 0.1


@dataclass(frozen=True)
class Family:
    """A registered family of losses, and the sliders of its parameters."""

    name: str
    sliders: Mapping[str, Slider]

    def start(self, *, few: bool = False) -> dict[str, Any]:
        """Parameters of its first example, each at its nearest stop."""
        example = losses.examples(self.name)[0].get_params(deep=False)
        return {
            name: _nearest(slider.few if few else slider.stops, example[name])
            for name, slider in self.sliders.items()
        }

    def grid(self) -> Iterator[dict[str, Any]]:
        """Every combination of the few stops, the last parameter fastest."""
        for values in product(*(slider.few for slider in self.sliders.values())):
            yield dict(zip(self.sliders, values, strict=True))

    def described(self, *, few: bool = False) -> dict[str, Any]:
        """The same for the page."""
        start = self.start(few=few)
        sliders = [
            {
                "name": name,
                "stops": list(stops := slider.few if few else slider.stops),
                "start": stops.index(start[name]),
            }
            for name, slider in self.sliders.items()
        ]
        return {"name": self.name, "about": about(losses.examples(self.name)[0]), "sliders": sliders}


def families() -> list[Family]:
    """The registered families whose parameters all have a slider.

    >>> [family.name for family in families()][:3]
    ['AlphaTunable', 'Arcsine', 'Beta']
    """
    made = []
    for name in losses.names():
        parameters = [field.name for field in dataclasses.fields(LOSSES.classes[name])]
        if all((name, parameter) in SLIDERS for parameter in parameters):
            made.append(Family(name, {parameter: SLIDERS[name, parameter] for parameter in parameters}))
    return made


def about(loss: losses.Loss) -> str:
    """The first sentence of a family's own words.

    >>> about(losses.Squared())
    "ℓ(1, p) = (1 − p)²: Brier's score; its entropy pq is Gini's index."
    """
    first = (inspect.getdoc(type(loss)) or "").split("\n\n")[0].replace("\n", " ")
    return re.sub(r"\s*\[(B|C|M|N8|N9) [^\]]+\]", "", first).replace("`", "").strip()


def thresholds(fp_cost: float | None = None, fn_cost: float | None = None) -> list[dict[str, Any]]:
    """Thresholds to choose from, with the costs that belong to them; those of the user's costs among them.

    >>> [row["words"] for row in thresholds() if row["c"] == 0.1]
    ['A miss costs 9 false alarms.']
    >>> [row for row in thresholds(2, 5) if row["name"] == "0.2857"][0]["costs"]
    'fp_cost=2, fn_cost=5'
    """
    pairs = {c: _costs_of(c) for c in THRESHOLDS}
    if fp_cost is not None and fn_cost is not None:
        own = float(ResolvedCosts.of_mistakes(fp_cost, fn_cost).threshold)
        pairs[own] = (fp_cost, fn_cost)
    return [_described(c, *pairs[c]) for c in sorted(pairs)]


def _described(c: float, fp_cost: float, fn_cost: float) -> dict[str, Any]:
    fp, fn = show(fp_cost), show(fn_cost)
    return {
        "c": c,
        "name": show(_short(c)),
        "words": _words(fp_cost, fn_cost),
        "costs": f"fp_cost={fp}, fn_cost={fn}",
        "options": f"--fp-cost {fp} --fn-cost {fn}",
    }


def _costs_of(c: float) -> tuple[float, float]:
    """Costs of a false alarm and a miss whose threshold is c, the smaller one being 1."""
    return (1.0, _short((1 - c) / c)) if c <= 0.5 else (_short(c / (1 - c)), 1.0)


def _words(fp_cost: float, fn_cost: float) -> str:
    if fp_cost == fn_cost:
        return "A miss costs as much as a false alarm."
    if fn_cost > fp_cost:
        return f"A miss costs {show(_short(fn_cost / fp_cost))} false alarms."
    return f"A false alarm costs {show(_short(fp_cost / fn_cost))} misses."


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _nearest(stops: Stops, value: Any) -> Any:
    return value if value in stops else min(stops, key=lambda stop: abs(stop - value))
