"""All experiments by name; the module of a paper is imported when one of its experiments is asked for."""

from __future__ import annotations

from importlib import import_module

from reproductions.experiment import Experiment

#: The modules, in the order of the papers, each with the names of its ``EXPERIMENTS``.
MODULES: dict[str, tuple[str, ...]] = {
    "buja": ("buja-4", "buja-5", "buja-6"),
    "buja_trees": ("buja-trees",),
    "collins": ("collins-4", "collins-5", "collins-multiclass"),
    "nock2008": ("nock-8-fig-3-small", "nock-8-fig-3-large"),
    "nock2009": ("nock-9-fig-7", "nock-9-fig-8"),
    "masnadi": ("masnadi-table-3", "masnadi-table-4", "masnadi-table-5", "masnadi-fig-11"),
    "masnadi_gaussians": ("masnadi-fig-9", "masnadi-fig-10"),
    "masnadi_noise": ("masnadi-fig-12",),
    "masnadi_large": ("masnadi-table-6", "masnadi-table-7"),
}


def names() -> list[str]:
    """Names of all experiments."""
    return [name for own in MODULES.values() for name in own]


def named(name: str) -> Experiment:
    """The experiment of that name."""
    module = next((module for module, own in MODULES.items() if name in own), None)
    if module is None:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(names())}")
    experiments: tuple[Experiment, ...] = import_module(f"reproductions.{module}").EXPERIMENTS
    return next(experiment for experiment in experiments if experiment.name == name)


def every() -> list[Experiment]:
    """All experiments, in the order of the papers."""
    return [named(name) for name in names()]
