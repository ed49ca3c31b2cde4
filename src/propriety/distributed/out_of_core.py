"""A fit to a scan: in memory if it fits, else over parts whose arrays lie in files, one in memory at a time.

Each part is a thread that fits the same model to its own rows (`turns`), so that the model has the bits of
one fit to all rows. How many parts there are follows from the budget alone.
"""

from __future__ import annotations

import copy
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from propriety import memory
from propriety.communicator import NotDistributable, Single
from propriety.data.costs import OF_ROWS, TERMS, Costs, stated_costs
from propriety.data.stream import Stream
from propriety.data.training import n_scores_of
from propriety.distributed.estimates import in_words, leaves_of, rounds_of, seconds_of, stops_early
from propriety.distributed.progress import ProgressBar, step_of
from propriety.distributed.scan import Scan, batch_rows
from propriety.distributed.turns import TurnTaking, take_turns
from propriety.model.fit_context import ATTRIBUTE as FIT_CONTEXT
from propriety.model.fit_context import end_context, in_context
from propriety.trees.binned import CELLS
from propriety.trees.binning import SAMPLE

if TYPE_CHECKING:
    from propriety.model.base import ProperClassifier

#: Rows that are read into memory, and fitted as ever; those of workers, if it takes all rows in one place.
FEW = 50_000
_MOST = 1_000_000  # rows that are read into memory if few of them have a weight
_PASSES = 3  # over the rows: labels and categories, a sample, bins
_LEAST_ROWS = 10_000  # of a part
_SLOWER = 2.0  # parts that take turns, against rows in memory
_SHARE = 0.85  # of the memory that is free, by default


@dataclass(frozen=True)
class Plan:
    """How a scan will be read, and what that takes.

    Attributes
    ----------
    rows, columns : int
    source_bytes : int or None
        Of the files.
    parts : int
        1: all arrays in memory; else as many parts take turns.
    memory : int
        Bytes that the fit will take at its peak, about.
    on_disk : int
        Bytes of the files that hold the parts.
    seconds : float or None
        That the fit will take, about, if nothing else keeps the processors busy; None if that is not known.
    """

    rows: int
    columns: int
    source_bytes: int | None
    parts: int
    memory: int
    on_disk: int
    seconds: float | None

    @property
    def words(self) -> str:
        """What is about to happen."""
        size = "" if self.source_bytes is None else f" in {memory.in_words(self.source_bytes)} of files"
        told = f"{self.rows:,} rows of {self.columns} column{'s' * (self.columns != 1)}{size}: "
        if self.parts == 1:
            told += f"bins and scores in memory, about {memory.in_words(self.memory)} at the peak"
        else:
            told += (
                f"bins and scores in {self.parts} parts that take turns, about "
                f"{memory.in_words(self.memory)} of memory at the peak and "
                f"{memory.in_words(self.on_disk)} of {tempfile.gettempdir()}"
            )
        return told if self.seconds is None else f"{told}; about {in_words(self.seconds)}"


def plan(scan: Scan, n_classes: int, rounds: int = 1, threads: int | None = None, **asked: Any) -> Plan:
    """Find out whether the arrays of a fit go into the budget, and into how many parts they must be cut.

    ``asked`` is what `asked_of` finds out about a model.
    """
    n, d, n_scores = scan.n_rows, len(scan.features), n_scores_of(max(2, n_classes))
    row_of, in_parts = asked.pop("row_of", None), asked.pop("in_parts", True)
    seconds = seconds_of(n, d, rounds, n_scores, threads) if row_of is None else None
    if row_of is None:
        row = row_bytes(d, n_scores, scan.weight is not None, **asked)
    else:
        row = row_of(d, n_classes, n)
    room = memory.resident() + _SHARE * memory.available() if scan.memory is None else scan.memory
    # What does not grow with the rows: this process, the sample that bins are found by, and some batches.
    sample = 2 * 8 * d * min(n, 2 * SAMPLE)
    fixed = memory.resident() + sample + 6 * 8 * d * batch_rows(d) + (100 << 20)
    if fixed + n * row <= room:
        return Plan(n, d, scan.source.n_bytes, 1, int(fixed + n * row), 0, seconds)
    if not in_parts:
        raise ValueError(
            f"the fit needs the bins of all rows in memory, about {_needed(fixed + n * row)} in all, and may "
            f"take {_given(room)}; give scan more memory, give max_leaf_nodes or fewer "
            "threads (n_jobs=1), or fit BoostingClassifier or TreeClassifier, which read the rows in parts"
        )
    histograms = 2 * asked.get("max_leaf_nodes", 31) * d * CELLS * 8
    peaks = {
        parts: fixed + parts * histograms + row * -(-n // parts)
        for parts in range(2, max(2, n // _LEAST_ROWS) + 1)
    }
    parts = next((k for k, peak in peaks.items() if peak <= room), min(peaks, key=lambda k: peaks[k]))
    if peaks[parts] > room:
        warnings.warn(
            f"memory={_given(room)} is less than the {_needed(peaks[parts])} or so that a fit of {d} columns "
            "takes at least; so much is taken",
            UserWarning,
            stacklevel=4,
        )
    seconds = None if seconds is None else _SLOWER * seconds
    return Plan(n, d, scan.source.n_bytes, parts, int(peaks[parts]), n * row, seconds)


def _given(n_bytes: float) -> str:
    """A budget, so finely that it differs from what is said to be needed.

    >>> _given(2**30), _needed(2**30 + 1)
    ('1,024 MB', '1,030 MB')
    """
    return f"{n_bytes / 2**20:,.0f} MB"


def _needed(n_bytes: float) -> str:
    return f"{10 * math.ceil(n_bytes / (10 << 20)):,} MB"


def row_bytes(
    d: int,
    n_scores: int,
    weighted: bool,
    early_stopping: bool = False,
    subsample: bool = False,
    max_leaf_nodes: int = 31,
) -> int:
    """Bytes of a row in the arrays of a fit, those included that come and go.

    >>> row_bytes(28, 1, weighted=False)
    129
    """
    bins = 2 * d
    signal = 24 * n_scores + (12 + 16 if weighted else 8)  # scores, derivatives; fixed point and weights
    labels = 8 + (8 if n_scores == 1 else 0) + 1
    order = 8  # rows in the order of a tree's leaves, and room to change it
    passing = 16 * n_scores
    held_out = 30 + (d + 8 * n_scores) // 8 if early_stopping else 0
    return bins + signal + labels + order + passing + held_out + (16 if subsample else 0)


# --- fitting ----------------------------------------------------------------------------------------


def fit(model: ProperClassifier, scan: Scan, y: ArrayLike, given: dict[str, Any]) -> Any:
    """Fit a model to a scan; bit for bit as to the same rows in memory."""
    given = {name: value for name, value in given.items() if value is not None}
    check(model, scan, y, given)
    bar = ProgressBar(bool(getattr(model, "verbose", 0)))
    if scan.n_rows == 0:
        raise ValueError(f"{scan.source.name} has no rows")
    if scan.n_rows <= FEW:
        return _fit_in_memory(model, scan, given)
    _refuse_whole(model, scan.n_rows)
    planned = plan(scan, _n_classes(scan), **asked_of(model))
    bar.say(planned.words)
    _check_disk(planned)
    try:
        return fit_parts(model, scan, given, planned.parts, bar)
    except NotDistributable:  # few rows have a weight, so that "auto" asks for folds
        if scan.n_rows > _MOST:
            raise
        return _fit_in_memory(model, scan, given)
    finally:
        bar.end()


def fit_parts(model: Any, scan: Scan, given: dict[str, Any], parts: int, bar: ProgressBar) -> Any:
    """Fit a model to so many parts of a scan."""
    n = scan.n_rows
    pieces = [scan.part(n * k // parts, n * (k + 1) // parts) for k in range(parts)]
    watch = _Watch(bar, pieces, n, step_of(model))
    if parts == 1:
        in_context(model, communicator=Single(watch.rounds))
        verbose = getattr(model, "verbose", None)
        try:
            _silence(model)
            return model.fit(watch.read(pieces[0]), **given)
        finally:
            if verbose is not None:
                model.verbose = verbose
            end_context(model)
    learned: dict[str, Any] = {}
    tasks = [
        _task(_copy_of(model, rank), watch.read(piece), given, learned) for rank, piece in enumerate(pieces)
    ]
    try:
        take_turns(tasks, report=watch.rounds, rest=memory.rest)
    except KeyboardInterrupt:
        vars(model).update(learned)
        raise
    vars(model).pop("feature_names_in_", None)
    vars(model).update(learned)
    return model


def _task(
    ours: Any, piece: Scan, given: dict[str, Any], learned: dict[str, Any]
) -> Callable[[TurnTaking], None]:
    """What the thread of a part does."""

    def fit_part(member: TurnTaking) -> None:
        in_context(ours, communicator=member)
        with memory.within(memory.Maps()):
            try:
                ours.fit(piece, **share(given, member.rank, member.size))
            finally:  # a fit that was broken off has rounds to keep too
                own = {*ours.get_params(deep=False), FIT_CONTEXT}
                if member.rank == 0 and hasattr(ours, "classes_"):
                    learned.update({k: v for k, v in vars(ours).items() if k not in own})

    return fit_part


def _copy_of(model: Any, rank: int) -> Any:
    """What a part fits, with draws that all have; the first one's callbacks are called, and stop all."""
    ours = copy.copy(model) if getattr(model, "warm_start", False) else clone(model)
    ours._fit_context, ours.random_state = model._fit_context, copy.deepcopy(model.random_state)
    _silence(ours)
    if rank and hasattr(ours, "_skl_callbacks"):
        del ours._skl_callbacks
    return ours


def _silence(model: Any) -> None:
    """Have a model draw no bar of its own."""
    if hasattr(model, "verbose"):
        model.verbose = 0


def share(given: dict[str, Any], rank: int, size: int) -> dict[str, Any]:
    """What one part is given: its share of the rows that judge when to stop, every so manyth."""
    return {
        name: _safe_indexing(value, np.arange(rank, _num_samples(value), size))
        if name.endswith("_val")
        else value
        for name, value in given.items()
    }


def _fit_in_memory(model: Any, scan: Scan, given: dict[str, Any]) -> Any:
    """Fit a model to all rows at once, as ever."""
    table, labels, weight = in_memory(scan)
    return model.fit(table, labels, weight, **given)


def in_memory(scan: Scan) -> tuple[Any, Any, Any]:
    """Features, labels and weights of all rows."""
    table = scan.to_arrow()
    weight = None if scan.weight is None else table.column(scan.weight).to_numpy()
    labels = table.column(scan.target)
    missing = labels.null_count
    if missing:
        raise ValueError(f"the target column {scan.target!r} has {missing} rows without a label: drop them")
    if str(labels.type).startswith("dictionary"):
        labels = labels.cast(labels.type.value_type)
    return table.select(list(scan.features)), labels.to_numpy(), weight


# --- what cannot be -----------------------------------------------------------------------------------


def check(model: ProperClassifier, scan: Scan, y: ArrayLike, given: dict[str, Any]) -> None:
    """Refuse by name what a fit to a scan cannot do, before anything is read."""
    if scan.target is None:
        raise ValueError("the scan has no target: give propriety.scan(…, target=name) the column of labels")
    if y is not None:
        raise TypeError("y is the target of the scan, scan(…, target=name): leave y out")
    if "sample_weight" in given:
        raise TypeError("sample_weight is a column of the scan, scan(…, weight=name): leave it out")
    for name in ("groups", "folds", "offset", *OF_ROWS):
        if _is_by_row(given.get(name)):
            how = "name a column of the scan" if name in OF_ROWS else "give fit a table that is in memory"
            raise TypeError(f"{name} is given by row, and the rows of a scan are read in parts; {how}")
    if isinstance(given.get("X_val"), Stream):
        raise TypeError("X_val must be a table in memory: give the one that its .to_arrow() makes")
    for name, known_as in TERMS.items():
        if callable(getattr(stated_costs(model), name)):
            raise TypeError(
                f"{known_as} is a function, and the rows of a scan are read in parts; name a column"
            )
    unfit = getattr(model, "unfit_for_parts", None)
    if unfit is not None:
        raise ValueError(
            f"{unfit} needs all rows in memory, and those of a scan are read in parts; leave it out, or give "
            "fit the table that the scan's .to_arrow() makes"
        )


def _is_by_row(value: Any) -> bool:
    """Whether an argument of ``fit`` has an entry for each row."""
    if isinstance(value, Costs):
        return any(_is_by_row(getattr(value, name)) for name in ("fp", "fn", "tp_benefit", "tn_benefit"))
    return value is not None and not isinstance(value, str) and np.ndim(value) > 0


def _refuse_whole(model: Any, n_rows: int) -> None:
    """Refuse by name what needs all rows in memory."""
    instead_of = {
        "max_iter": "'auto' or a number",
        "calibrate": "None",
        "ccp_alpha": "a number",
        "splits": "'histogram'",
        "oob_score": "False",
    }
    for name, instead in instead_of.items():
        value = getattr(model, name, None)
        if value is True or (isinstance(value, str) and value not in ("auto", "histogram")):
            why = (
                "learns from folds, for which"
                if name in ("max_iter", "calibrate", "ccp_alpha")
                else "means that"
            )
            raise ValueError(
                f"{name}={value!r} {why} all rows must be in memory, and the scan has {n_rows:,}, more than "
                f"{FEW:,}; give {instead}, or fit the table that its .to_arrow() makes"
            )


def asked_of(model: ProperClassifier) -> dict[str, Any]:
    """What decides how much memory and time a fit takes: parameters of boosting, or the model itself."""
    if hasattr(model, "_row_bytes"):
        return {"row_of": model._row_bytes, "in_parts": model.capabilities.in_turns}
    return {
        "rounds": rounds_of(model),
        "threads": model.n_jobs,
        "early_stopping": stops_early(model),
        "subsample": isinstance(model.subsample, float) and model.subsample < 1.0,
        "max_leaf_nodes": leaves_of(model),
    }


def _n_classes(scan: Scan) -> int:
    """The classes of the first rows: enough to know what memory a fit will take."""
    assert scan.target is not None
    labels = next(iter(scan.batches([scan.target])))
    return len(labels.column(0).unique())


def _check_disk(planned: Plan) -> None:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if planned.on_disk > free:
        raise OSError(
            f"the fit needs {memory.in_words(planned.on_disk)} of the folder for temporary files, "
            f"{tempfile.gettempdir()}, which has {memory.in_words(free)}; set TMPDIR to one that has more, "
            "or give the scan more memory"
        )


# --- telling ------------------------------------------------------------------------------------------


class _Watch:
    """Tells how many rows have been read, and which round it is."""

    def __init__(self, bar: ProgressBar, pieces: list[Scan], n_rows: int, step: str) -> None:
        self._bar, self._pieces, self._n_rows, self._step = bar, pieces, n_rows, step

    def read(self, piece: Scan) -> Scan:
        """The piece, which will tell how much of it has been read."""
        piece.report = self._rows
        return piece

    def _rows(self) -> None:
        done = sum(piece.read for piece in self._pieces)
        self._bar.draw("rows read", done, max(done, _PASSES * self._n_rows))

    def rounds(self, done: int, of: int, score: float | None) -> None:
        """Take note of a round."""
        self._bar.draw(self._step, done, of, score)
