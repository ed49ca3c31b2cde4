"""``propriety fit`` over many files, or over a table that does not fit in memory.

Kinds of columns are worked out from a sample of the rows; then every batch is read by them as ``predict``
would. Evaluation are taken at random, by their number, and have no weight in the fit.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from propriety import memory
from propriety.cli.loading import parts_of, show_table
from propriety.cli.options import Asking, Meaning, Opening, Showing, option, prevalence_of
from propriety.cli.output import Output, UsageError
from propriety.cli.training import TrainingTable
from propriety.distributed import out_of_core
from propriety.distributed.scan import Scan
from propriety.distributed.sources import Files, source_of
from propriety.distributed.sources import Source as Rows
from propriety.model.catalogue import ESTIMATORS
from propriety.study import Study
from propriety.study.candidates import Candidate
from propriety.study.models import FitRequest, Fitted, ModelSpec
from propriety.study.splitting import Split
from propriety.study.streamed import chosen, share_of
from propriety.tables import Findings, Source, TableCosts, TableError, infer
from propriety.tables.errors import no_such_column
from propriety.tables.roles import weights_of

_SAMPLE, _PLACES = 100_000, 20  # rows that the columns are worked out from, and the places they are read at
_CONNECT = 20  # seconds to find a scheduler
_LABEL, _WEIGHT = "\0label", "\0weight"  # columns that no file has


@dataclass
class Encoded(Rows):
    """The rows of files as the model sees them: features, the number of the class, and the weight."""

    files: Files
    findings: Findings
    weights: str | None
    seed: int
    share: float  # of the rows that judge
    unknown: Counter[str] = field(default_factory=Counter)
    unlabelled: int = 0

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the files."""
        return self.files.name

    @property
    def schema(self) -> Any:
        """Features, label and weight."""
        none = pa.table({f.name: pa.array([], f.type) for f in self.files.schema})
        return self._encode(none, 0, list(self.columns)).schema

    @property
    def columns(self) -> list[str]:
        """All of its columns."""
        return [*self.findings.columns.features, _LABEL, _WEIGHT]

    @property
    def n_rows(self) -> int:
        """Number of rows, those included that judge."""
        return self.files.n_rows

    @property
    def n_bytes(self) -> int | None:
        """Of the files."""
        return self.files.n_bytes

    def batches(self, columns: list[str], start: int, size: int) -> tuple[int, Iterator[Any]]:
        """Batches of the columns asked for."""
        first, raw = self.files.batches(self._raw_names(columns), start, size)
        return first, self._encoded(raw, first, columns)

    def _encoded(self, raw: Iterator[Any], first: int, columns: list[str]) -> Iterator[Any]:
        for batch in raw:
            yield from self._encode(pa.table(batch), first, columns).to_batches()
            first += batch.num_rows

    def _raw_names(self, columns: list[str]) -> list[str]:
        """The columns of the files that those of the model are made from."""
        used = [c.name for c in self.findings.columns.columns if set(c.features) & set(columns)]
        weights = [self.weights] if self.weights is not None and _WEIGHT in columns else []
        # A row without a label has no weight.
        return list(dict.fromkeys([*used, *weights, self.findings.target.name]))

    def _encode(self, table: Any, first: int, columns: list[str]) -> Any:
        known_columns = self.findings.columns
        wanted = tuple(c for c in known_columns.columns if set(c.features) & set(columns))
        features, unknown = replace(known_columns, columns=wanted).encode(table, first + 1)
        self.unknown.update(unknown)
        arrays = {name: features.column(name) for name in features.column_names}
        codes, known = labels_of(table, self.findings)
        arrays[_LABEL] = pa.array(codes.astype(np.int64))
        if _WEIGHT in columns:
            self.unlabelled += int(np.sum(~known))
            weight = np.ones(len(codes))
            if self.weights is not None:
                weight = (
                    weights_of(table, self.weights, first + np.arange(len(codes))) if len(codes) else weight
                )
            arrays[_WEIGHT] = pa.array(np.where(known & ~self.judges(first, len(codes)), weight, 0.0))
        return pa.table(arrays).select(columns)

    def judges(self, first: int, n: int) -> NDArray[np.bool_]:
        """Which of the rows from ``first`` on judge."""
        return chosen(np.arange(first, first + n, dtype=np.uint64), self.share, self.seed)

    def judging_rows(self, more: list[str]) -> Any:
        """The rows that judge, as they are in the files."""
        names = list(dict.fromkeys([*self._raw_names(self.columns), *more]))
        first, raw = self.files.batches(names, 0, 100_000)
        kept = []
        for batch in raw:
            chosen = np.flatnonzero(self.judges(first, batch.num_rows))
            kept.append(pa.table(batch.take(pa.array(chosen))))
            first += batch.num_rows
        memory.trim()
        return pa.concat_tables(kept)


def labels_of(table: pa.Table, findings: Findings) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The class of each row, and whether it has one that is known."""
    target = findings.target
    codes, known = target.codes(table.column(target.name), findings.columns.missing)
    return codes, known


def fit_streamed(
    out: Output,
    path: str,
    target: str,
    asking: Asking,
    opening: Opening,
    meaning: Meaning,
    showing: Showing,
    request: FitRequest,
    spec: ModelSpec,
    memory_asked: str | None,
    scheduler: str | None = None,
) -> tuple[TrainingTable, Study, dict[str, Any]]:
    """Fit a model to files that are read in batches, and judge it on rows that were kept from it.

    Returns the test rows, the study, and what the model file says of all rows.
    """
    check(asking, opening, request, spec)
    if memory_asked is not None and scheduler is not None:
        raise UsageError("give --memory or --scheduler, not both: the workers have their own memory")
    try:
        budget = None if memory_asked is None else memory.in_bytes(memory_asked, "--memory")
    except ValueError as error:
        raise UsageError(str(error)) from None
    files = _open(path)
    if target not in files.schema.names:
        raise no_such_column(target, files.schema.names)
    showing.check(files.schema.names)
    stated = TableCosts.read(asking.terms, files.schema.names)
    by = showing.subgroup or []
    apart = [] if asking.weights is None else [asking.weights]
    sample = _sample(files)
    several = not stated.by_side and asking.positive is None
    findings = infer(
        sample, target, positive=asking.positive, overrides=meaning.overrides, apart=apart, several=several
    )
    share = share_of(asking.holdout, files.n_rows)
    rows = Encoded(files, findings, asking.weights, request.seed, share)
    show_table(
        out,
        _training(rows, sample, stated, path if sample.num_rows == files.n_rows else f"a sample of {path}"),
    )
    judging = _training(rows, rows.judging_rows([*stated.columns, *by]), stated, path, by)
    judging = replace(judging, shares=prevalence_of(asking.prevalence, judging.classes))
    memory.trim()
    fitted = _fit(out, rows, stated, request, spec, budget, scheduler)
    if judging.shares is not None:
        fitted = fitted.adapted(judging.shares, judging.shares, judging.classes)
    dates = [c.name for c in findings.columns.columns if c.kind == "date"]
    for name in rows.unknown:
        what = "values that are not dates" if name in dates else "categories that are not in the sample"
        out.warn(f"column {name!r} has {what}: they are taken as missing")
    facts = {"rows": files.n_rows, "rows_fitted": files.n_rows - len(judging.y)}
    return judging, _study(judging, rows, request, fitted, showing), facts


def check(asking: Asking, opening: Opening, request: FitRequest, spec: ModelSpec) -> None:
    """Refuse what a table that is read in batches does not allow, before it is read."""
    asking.check()
    given = {
        option(name): getattr(asking, name)
        for name in ("folds", "groups", "time", "offset", "score_scale", "cost_matrix", "budget")
    }
    given |= {"--search": request.search or None, "--sheet": opening.sheet, "--encoding": opening.encoding}
    given |= {"--delimiter": opening.delimiter, "--no-header": opening.no_header or None}
    given |= {"--format": opening.format_}
    unfit = [name for name, value in given.items() if value is not None]
    if unfit:
        raise UsageError(f"{unfit[0]} is not available for a table that is read in batches; leave it out")
    able = [entry.key for entry in ESTIMATORS if entry.type.capabilities.scans]
    if spec.name not in able:
        raise UsageError(
            f"a table that is read in batches can be fitted by --model {', '.join(able)}, got {spec.name!r}"
        )


def _open(path: str) -> Files:
    try:
        source = source_of(path)
    except (OSError, ValueError, TypeError) as error:
        raise TableError(str(error)) from None
    assert isinstance(source, Files)
    if not source.n_rows:
        raise TableError(f"{source.name} has no rows")
    return source


def _sample(files: Files) -> Any:
    """Some rows from several places of the files."""
    n, names, places = files.n_rows, files.schema.names, 1 if files.n_rows <= _SAMPLE else _PLACES
    scan = Scan(files, names, None, None, None)
    parts_ = [scan.part(n * k // places, min(n, n * k // places + _SAMPLE // places)) for k in range(places)]
    tables = [_copied(t) for part in parts_ for t in part.batches(names)]
    memory.trim()
    return pa.concat_tables(tables).unify_dictionaries()


def _copied(table: Any) -> Any:
    """The same rows in memory of their own: a few rows of a batch keep all of it."""
    return table.take(pa.array(np.arange(table.num_rows)))


def _training(
    rows: Encoded, table: Any, stated: TableCosts, name: str, by: Sequence[str] = ()
) -> TrainingTable:
    """Rows of the files as those of a table."""
    codes, known = labels_of(table, rows.findings)
    places = np.flatnonzero(known)
    table = table if len(places) == len(codes) else table.take(pa.array(places))
    findings = replace(rows.findings, codes=codes[places], rows=places)
    source = Source(name, "in batches", table.column_names, iter(()), [], None, ExitStack())
    weight = None if rows.weights is None else weights_of(table, rows.weights, places)
    of_rows = stated.of_rows(table, findings.columns, rows=places)
    frame = findings.columns.encode(table)[0]
    subgroups = {name: parts_of(table.column(name), findings) for name in by}
    return TrainingTable(source, findings, frame, codes[places], weight, stated, of_rows, by=subgroups)


def _fit(
    out: Output,
    rows: Encoded,
    stated: TableCosts,
    request: FitRequest,
    spec: ModelSpec,
    budget: int | None,
    scheduler: str | None,
) -> Fitted:
    costs = {} if stated.by_row else stated.parameters(rows.findings.target.classes)
    estimator = spec.make(request, costs, rows.n_rows)
    try:
        estimator.set_params(**request.settings)
    except ValueError as error:
        raise UsageError(f"--set: {error}") from None
    scan = Scan(rows, rows.findings.columns.features, _LABEL, _WEIGHT, budget)
    if scheduler is not None:
        return _fit_on_workers(out, estimator, scan, spec, scheduler)
    bar = int(out.shows and sys.stderr.isatty())
    try:
        with out.collected_warnings():
            _say(out, scan, rows, _drawing(estimator, bar))
            estimator.fit(scan)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{spec.title} cannot be fitted: {error}") from None
    return Fitted(_drawing(estimator, 0), spec, None, estimator.classes_)


def _drawing(estimator: Any, bar: int) -> Any:
    """The estimator, which will draw a bar or not, if it has rounds to draw."""
    return estimator.set_params(verbose=bar) if hasattr(estimator, "verbose") else estimator


def _say(out: Output, scan: Scan, rows: Encoded, estimator: Any) -> None:
    """How much there is, and what that will take."""
    if rows.n_rows <= out_of_core.FEW:
        out.say(f"{rows.n_rows:,} rows of {len(scan.features)} columns: few enough to be read into memory")
    elif not getattr(estimator, "verbose", 0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit warns
            classes = len(rows.findings.target.classes)
            out.say(out_of_core.plan(scan, classes, **out_of_core.asked_of(estimator)).words)


def _fit_on_workers(out: Output, estimator: Any, scan: Scan, spec: ModelSpec, scheduler: str) -> Fitted:
    """Fit on the workers of a scheduler, or on those started here."""
    try:
        from distributed import Client

        from propriety import dask
        from propriety.distributed.dask import fit_scan
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'propriety[dask]'") from None
    try:
        client = dask.local() if scheduler == "local" else Client(scheduler, timeout=_CONNECT)
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler: there is no Dask scheduler at {scheduler!r}: {error}") from None
    bar = int(out.shows)
    try:
        with client, out.collected_warnings():
            fit_scan(_drawing(estimator, bar), scan, client)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{spec.title} cannot be fitted: {error}") from None
    finally:
        if scheduler == "local":
            client.cluster.close()
    return Fitted(_drawing(estimator, 0), spec, None, estimator.classes_)


def _study(
    judging: TrainingTable, rows: Encoded, request: FitRequest, fitted: Fitted, showing: Showing
) -> Study:
    """What is known of the model, as of any other."""
    split = Split(
        [(np.empty(0, dtype=np.intp), np.arange(len(judging.y)))],
        f"{len(judging.y):,} of {rows.n_rows:,} rows held out",
    )
    first = Candidate(fitted.spec.title, fitted=fitted, request=request)
    told = judging.facts, showing.scale, showing.capacity, showing.actionable
    return Study.of(judging.question(), [first], split, *told)
